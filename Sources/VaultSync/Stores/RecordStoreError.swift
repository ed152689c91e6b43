// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Why a store did not do what it was asked to.
package enum RecordStoreError: Error, Equatable, Sendable {
    /// There is no such folder, whose path it is; or why a server does not answer: exit 30.
    case unreachable(String)
    case inputOutput(Errno, String)
    /// A record breaks a bound: it is too long or too short, or has the number 0.
    case invalid(String)
    /// A server, or the library that speaks to it, does not do what it was asked to, and what a person can do about
    /// that: exit 30.
    case refused(String, hint: String?)
    /// The server does not let this device do that: exit 30. A removal waits.
    case denied(String)
    /// A reader takes no more records.
    case stopped
}

extension RecordStoreError {
    /// Whether this device may not do that there, and nothing is wrong: a device may append without being let remove.
    var isRefusal: Bool {
        switch self {
        case .denied: true
        case .inputOutput(let errno, _): errno == .notPermitted || errno == .permissionDenied
        default: false
        }
    }

    /// A clause for a person, without control characters of its own; what a server said may be in it.
    package var phrase: String {
        switch self {
        case .unreachable(let place) where place.hasPrefix("/"):
            "the remote cannot be reached: there is no '\(place)'"
        case .unreachable(let why): "the remote cannot be reached: \(why)"
        case .inputOutput(let errno, let place): "cannot use the remote: \(errno.description.lowercased()) ('\(place)')"
        case .invalid(let what): "the remote takes no such record: \(what)"
        case .refused(let what, hint: _): "cannot use the remote: \(what)"
        case .denied(let what): "the remote does not let this device do that: \(what)"
        case .stopped: "the remote was not read to its end"
        }
    }

    /// The first line of what a server, or a library, says.
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
