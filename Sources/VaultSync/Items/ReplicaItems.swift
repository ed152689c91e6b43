// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// What is to become of items, and what is known after it: durable together, or not at all.
package struct ReplicaChange {
    /// States that entries told, each with the entry's stamp.
    package var told: [(state: ItemState<Secret>, stamp: UInt64)] = []
    /// Deleted items whose values go, and the greatest stamp of a head.
    package var erased: [(id: ItemID, stamp: UInt64)] = []
    package var purged: [ItemID] = []
    /// Items that an entry of this device's own told.
    package var published: [(id: ItemID, stamp: UInt64)] = []
}

/// A deleted item.
package struct DeletedItem {
    package let id: ItemID
    /// The greatest own stamp.
    package let own: UInt64
    package let told: UInt64
    /// 0: its values are there.
    package let erased: UInt64

    package init(id: ItemID, own: UInt64, told: UInt64, erased: UInt64) {
        (self.id, self.own, self.told, self.erased) = (id, own, told, erased)
    }
}

/// The items of one device, as a ``Replica`` needs them.
package protocol ReplicaItems: AnyObject {
    /// The stamp of this moment.
    var wallStamp: UInt64 { get }
    /// The greatest stamp that a write of this device has.
    var newestStamp: UInt64 { get }

    /// Another one after every change of an item.
    var version: UInt64 { get }

    func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError)

    /// Items that this device has changed since, each with its greatest own stamp.
    func pending(after stamp: UInt64) throws(SyncError) -> [(id: ItemID, own: UInt64)]
    /// Items whose context names one of the logs.
    func touching(_ logs: Set<LogID>) throws(SyncError) -> [(id: ItemID, own: UInt64)]
    func all() throws(SyncError) -> [(id: ItemID, own: UInt64)]
    func deleted() throws(SyncError) -> [DeletedItem]
    /// Lends the states of items, those that are not there left out.
    func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError)
    /// Over live items: which values are live, and which items are shadowed.
    func sum() throws(SyncError) -> UInt64

    /// Puts what a fleet knows in the place of everything, with what this device alone knows.
    ///
    /// - Parameter states: each with the greatest stamp of an entry that told of it, and when it was erased.
    func rebuild(
        _ states: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)], _ state: ReplicaState
    ) throws(SyncError)
    /// An identifier for an item that goes on as another one.
    func makeItemID() -> ItemID
}
