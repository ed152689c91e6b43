// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Why a store did not do what it was asked to.
package enum RecordStoreError: Error, Equatable, Sendable {
    /// There is no such folder, or no such server answers: exit 30.
    case unreachable(String)
    case inputOutput(Errno, String)
    /// What is asked for breaks a bound: a record that is too long or too short, the number 0.
    case invalid(String)
    /// A reader takes no more records.
    case stopped
}
