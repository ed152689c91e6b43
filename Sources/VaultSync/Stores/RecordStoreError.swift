// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Why a store did not do what it was asked to.
package enum RecordStoreError: Error, Equatable, Sendable {
    /// There is no such folder, whose path it is; or why a server does not answer: exit 30.
    case unreachable(String)
    case inputOutput(Errno, String)
    /// What is asked for breaks a bound: a record that is too long or too short, the number 0.
    case invalid(String)
    /// A server, or what speaks to it, does not do what it was asked to; with what a person can do about that: exit 30.
    case refused(String, hint: String?)
    /// The server does not let this device do that: exit 30. A removal waits.
    case denied(String)
    /// A reader takes no more records.
    case stopped
}

extension RecordStoreError {
    /// Whether this device may not do that there, and nothing is wrong: who may append need not be let remove.
    var isRefusal: Bool {
        switch self {
        case .denied: true
        case .inputOutput(let errno, _): errno == .notPermitted || errno == .permissionDenied
        default: false
        }
    }
}
