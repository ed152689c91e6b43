// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// What a store says unasked. Hints alone: one may be missing, come late, come twice, or be a lie.
package enum RecordHint: Equatable, Sendable {
    case appended(RecordStream, UInt64)
    /// There may be something new.
    case changed
    /// The watch has ended by itself: no hint comes any more.
    case lost(RecordStoreError)
}

/// A store's hints, as long as they are wanted.
package protocol RecordWatch: AnyObject, Sendable {
    /// Returns when no hint comes any more.
    func end()
}
