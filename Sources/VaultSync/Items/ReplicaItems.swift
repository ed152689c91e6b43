// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// Changes of items, and the member's state after them. All of them become durable together, or none does.
package struct ReplicaChange {
    /// The states from entries, each with the entry's stamp.
    package var told: [(state: ItemState<Secret>, stamp: UInt64)] = []
    /// Deleted items whose values are erased, each with its greatest own stamp at the decision, and the greatest stamp
    /// of a head. An item that was written to since stays unchanged.
    package var erased: [(id: ItemID, own: UInt64, stamp: UInt64)] = []
    /// Deleted items that are forgotten, each with its greatest own stamp at the decision.
    package var purged: [(id: ItemID, own: UInt64)] = []
    /// The items in an entry of this device.
    package var published: [(id: ItemID, stamp: UInt64)] = []
    /// The condition of the change.
    package var watermark: Watermark?

    package init() {}

    var isEmpty: Bool { told.isEmpty && erased.isEmpty && purged.isEmpty && published.isEmpty && watermark == nil }
}

/// The position up to which own writes are published once a change is made.
///
/// Other processes go on writing while a sync runs. A write that they commit after the look at pending items has a
/// higher stamp than the newest of that look, but a lower one than the entries that follow. Therefore everything is
/// published only up to the newest stamp of the look.
package struct Watermark {
    /// Nothing above this stamp was published before.
    let after: UInt64
    /// The newest own stamp of the look.
    let through: UInt64
    /// The items in the entries.
    let items: Set<ItemID>
    /// The items' version at the look.
    let version: UInt64
    /// Whether the entries state a sum, which holds for that version alone.
    let statesSum: Bool

    /// Whether the current items prevent the change: an own write up to the watermark is in no entry, or the stated sum
    /// has changed.
    func isOvertaken(version: UInt64, pending: () -> [PendingItem]) -> Bool {
        guard version != self.version else { return false }
        return statesSum || pending().contains { $0.own <= through && !items.contains($0.id) }
    }
}

/// An item with the greatest stamp of a write by this device.
package struct PendingItem {
    package let id: ItemID
    package let own: UInt64

    package init(id: ItemID, own: UInt64) { (self.id, self.own) = (id, own) }
}

/// The selection of items for an entry.
package struct ItemSelection {
    /// Selects items that this device has changed after the stamp.
    package var changedAfter: UInt64
    /// Selects items whose context names one of these logs.
    package var touching: Set<LogID> = []
    package var all = false
    package var also: Set<ItemID> = []

    package init(changedAfter: UInt64) { self.changedAfter = changedAfter }
}

/// The items at one moment.
package struct ItemLook {
    package let selected: [PendingItem]
    /// The greatest stamp of a write by this device.
    package let newest: UInt64
    /// A number that differs after every change of an item.
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
    /// 0 while the item still has its values.
    package let erased: UInt64

    package init(id: ItemID, own: UInt64, told: UInt64, erased: UInt64) {
        (self.id, self.own, self.told, self.erased) = (id, own, told, erased)
    }
}

/// The items of one device, for a ``Replica``. Other processes may change them between any two calls.
package protocol ReplicaItems: AnyObject {
    /// Returns the greatest stamp of a write by this device, and the items' version.
    func moment() throws(SyncError) -> (newest: UInt64, version: UInt64)

    /// Returns a consistent view of the selected items.
    func look(for selection: ItemSelection) throws(SyncError) -> ItemLook

    /// Makes a change, all of it or nothing.
    ///
    /// - Throws: `.overtaken` if the items no longer fit the watermark.
    func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError)

    func deleted() throws(SyncError) -> [DeletedItem]

    /// Lends the current states of items. Missing items are left out.
    func forEachState(of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void) throws(SyncError)

    /// Returns a sum over the live values of live items and over shadowed items, with the version that it belongs to.
    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64)

    /// Continues under a new log: decides the fate of every item, and adds the fleet's other items, in one transaction.
    func begin(_ newLog: inout NewLog) throws(SyncError)

    /// Makes an identifier for an item that continues as another one.
    func makeItemID() -> ItemID
}

extension ReplicaItems {
    /// Returns the items that this device has changed after a stamp.
    package func pending(after stamp: UInt64) throws(SyncError) -> [PendingItem] {
        try look(for: ItemSelection(changedAfter: stamp)).selected
    }

    package func all() throws(SyncError) -> [PendingItem] {
        var selection = ItemSelection(changedAfter: .max)
        selection.all = true
        return try look(for: selection).selected
    }
}
