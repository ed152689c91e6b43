// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Why a store did not do what it was asked to.
package enum RecordStoreError: Error, Equatable, Sendable {
    /// There is no such folder, whose path it is; or why a server does not answer: exit 30.
    case unreachable(String)
    case inputOutput(Errno, String)
    /// What is asked for breaks a bound: a record that is too long or too short, the number 0.
    case invalid(String)
    /// A reader takes no more records.
    case stopped
}

extension RecordStoreError {
    /// Whether this device may not do that there, and nothing is wrong: who may append need not be let remove.
    var isRefusal: Bool {
        guard case .inputOutput(let errno, _) = self else { return false }
        return errno == .notPermitted || errno == .permissionDenied
    }
}
