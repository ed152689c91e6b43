// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A notice from a store that something changed. A hint may be missing, late, repeated or false.
package enum RecordHint: Equatable, Sendable {
    case appended(RecordStream, UInt64)
    /// Something may be new.
    case changed
    /// The watch has ended by itself and sends no more hints.
    case lost(RecordStoreError)
}

/// A subscription to a store's hints.
package protocol RecordWatch: AnyObject, Sendable {
    /// Ends the hints. None is under way on return.
    func end()
}
