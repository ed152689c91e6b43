// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// Changes of items, and what the member knows after them: durable together, or not at all.
package struct ReplicaChange {
    /// States that entries told, each with the entry's stamp.
    package var told: [(state: ItemState<Secret>, stamp: UInt64)] = []
    /// Deleted items whose values go, each with its greatest own stamp when that was decided, and the greatest stamp of
    /// a head. An item that was written to since stays as it is.
    package var erased: [(id: ItemID, own: UInt64, stamp: UInt64)] = []
    /// Deleted items that are forgotten, likewise.
    package var purged: [(id: ItemID, own: UInt64)] = []
    /// Items that an entry of this device's own told.
    package var published: [(id: ItemID, stamp: UInt64)] = []
    /// What must hold for the change to be made.
    package var watermark: Watermark?

    package init() {}

    var isEmpty: Bool {
        told.isEmpty && erased.isEmpty && purged.isEmpty && published.isEmpty && watermark == nil
    }
}

/// How far own writes are told once a change is made.
///
/// Verbs go on in other processes while a sync runs. A write that they commit after the look at what is pending has a
/// higher stamp than the newest of that look, though a lower one than the entries that follow: only the newest stamp
/// of the look says how far everything is told.
package struct Watermark {
    /// Above this nothing was told before.
    let after: UInt64
    /// The newest own stamp of the look.
    let through: UInt64
    /// The items that the entries tell.
    let items: Set<ItemID>
    /// The items' version at the look.
    let version: UInt64
    /// Whether the entries state a sum, which holds for that version alone.
    let statesSum: Bool

    /// Whether the items, as they are now, keep the change from being made: some own write up to the watermark is in no
    /// entry, or the sum is another one.
    func isOvertaken(version: UInt64, pending: () -> [PendingItem]) -> Bool {
        guard version != self.version else { return false }
        return statesSum || pending().contains { $0.own <= through && !items.contains($0.id) }
    }
}

/// An item, with the greatest stamp that a write of this device has given it.
package struct PendingItem {
    package let id: ItemID
    package let own: UInt64

    package init(id: ItemID, own: UInt64) { (self.id, self.own) = (id, own) }
}

/// Which items an entry is to tell.
package struct ItemSelection {
    /// Those that this device has changed after the stamp.
    package var changedAfter: UInt64
    /// Those whose context names one of these logs.
    package var touching: Set<LogID> = []
    package var all = false
    package var also: Set<ItemID> = []

    package init(changedAfter: UInt64) { self.changedAfter = changedAfter }
}

/// The items at one moment.
package struct ItemLook {
    package let selected: [PendingItem]
    /// The greatest stamp that a write of this device has.
    package let newest: UInt64
    /// Another one after every change of an item.
    package let version: UInt64

    package init(selected: [PendingItem], newest: UInt64, version: UInt64) {
        (self.selected, self.newest, self.version) = (selected, newest, version)
    }
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

/// The items of one device, as a ``Replica`` needs them. Other processes change them between any two calls.
package protocol ReplicaItems: AnyObject {
    /// The greatest stamp that a write of this device has, and the items' version.
    func moment() throws(SyncError) -> (newest: UInt64, version: UInt64)

    /// One look at the items that are to be told.
    func look(for selection: ItemSelection) throws(SyncError) -> ItemLook

    /// Makes a change, all of it or nothing.
    ///
    /// - Throws: `.overtaken` when the items are not any more as the watermark has them.
    func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError)

    func deleted() throws(SyncError) -> [DeletedItem]

    /// Lends the states of items as they are now, those that are not there left out.
    func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError)

    /// Over live items: which values are live, and which items are shadowed; with the version that this is true of.
    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64)

    /// Goes on under a new log: every item meets its fate, and the fleet's other items come in, in one transaction.
    func begin(_ newLog: inout NewLog) throws(SyncError)

    /// An identifier for an item that goes on as another one.
    func makeItemID() -> ItemID
}

extension ReplicaItems {
    /// Items that this device has changed after a stamp.
    package func pending(after stamp: UInt64) throws(SyncError) -> [PendingItem] {
        try look(for: ItemSelection(changedAfter: stamp)).selected
    }

    package func all() throws(SyncError) -> [PendingItem] {
        var selection = ItemSelection(changedAfter: .max)
        selection.all = true
        return try look(for: selection).selected
    }
}
