// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// Receives every change of the table, in order, to maintain an index. Does not call the store, which is in the middle
/// of the change.
package protocol RecordObserver: AnyObject {
    /// Whether there is an index to maintain; if not, changes are not reported.
    var isIndexing: Bool { get }
    /// - Parameter place: the record's place in the table, which does not change during the life of the item in this
    ///   handle.
    func record(at place: Int, changedFrom old: Operation?, to new: Operation?)
    /// Resets the index; later changes start from an empty table.
    func recordsWereReset()
}
