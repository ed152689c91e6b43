// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultSystem

/// The reason why a store did not do its task.
package enum RecordStoreError: Error, Equatable, Sendable {
    /// The path of a missing folder, or the reason why a server does not answer: exit 30.
    case unreachable(String)
    case inputOutput(Errno, String)
    /// A record breaks a bound: too long, too short, or a number out of range.
    case invalid(String)
    /// A server, or its client library, rejects the request; with a hint for a person: exit 30.
    case refused(String, hint: String?)
    /// The server does not permit this device the operation: exit 30. A removal is postponed.
    case denied(String)
    /// The reader stopped before the end.
    case stopped
}

extension RecordStoreError {
    /// Whether the device lacks a right and nothing is wrong: a device may append without the right to remove.
    var isRefusal: Bool {
        switch self {
        case .denied: true
        case .inputOutput(let errno, _): errno == .notPermitted || errno == .permissionDenied
        default: false
        }
    }

    /// A clause for a person, without control characters of its own; it may quote a server.
    package var phrase: String {
        switch self {
        case .unreachable(let place) where place.hasPrefix("/"):
            "the remote cannot be reached: there is no '\(place)'"
        case .unreachable(let why): "the remote cannot be reached: \(why)"
        case .inputOutput(let errno, let place): "cannot use the remote: \(errno.text) ('\(place)')"
        case .invalid(let what): "the remote takes no such record: \(what)"
        case .refused(let what, hint: _): "cannot use the remote: \(what)"
        case .denied(let what): "the remote does not let this device do that: \(what)"
        case .stopped: "the remote was not read to its end"
        }
    }

    /// The first line of a text from a server or a library.
    ///
    /// - Returns: at most 200 characters, none of which moves a cursor or turns text around.
    package static func shown(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\n" || result.count == 200 { break }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: result.append(" ")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
