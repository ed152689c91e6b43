// SPDX-License-Identifier: Apache-2.0
public import VaultFormat

/// Hears of every change of the table, in order, to keep an index.
public protocol RecordObserver: AnyObject {
    /// Whether there is anything to keep; if not, changes are not told.
    var isIndexing: Bool { get }
    /// - Parameter place: the record's place in the table, which stays the same for the life of the item in this
    ///   handle.
    func record(at place: Int, changedFrom old: Operation?, to new: Operation?)
    /// Everything is forgotten; what follows starts from an empty table.
    func recordsWereReset()
}
