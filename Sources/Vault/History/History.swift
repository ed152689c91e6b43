// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A version of an item: the current one, or one that was kept when it was changed or deleted.
public struct ItemVersion: Sendable {
    /// With its secret if the query asked for it.
    public let item: Item
    public let isCurrent: Bool

    package init(item: Item, isCurrent: Bool) {
        self.item = item
        self.isCurrent = isCurrent
    }
}

/// Older versions of items, and what was deleted.
public protocol ItemHistory: AnyObject {
    /// The versions of each item that matches, the newest first.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func versions(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// The last version of each deleted item that matches.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// Makes an older version of an item the current one. What was current is kept in its turn, so that a second call
    /// takes the first one back.
    ///
    /// - Parameter version: nil: the one before.
    /// - Throws: `.itemNotFound` when there is no such item or version; `.duplicateItem` when another item has the key
    ///   that this one had.
    @discardableResult
    func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item

    /// Adds a deleted item again as it was, under its old identifier.
    ///
    /// - Throws: `.itemNotFound`; `.duplicateItem` when another item has its key by now.
    @discardableResult
    func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item

    /// Takes everything out of the file that is in an access group, or was when it was deleted: what an application
    /// leaves behind. The device identifiers of the group's name go with it.
    ///
    /// - Returns: how many items went; those that had been deleted before do not count.
    /// - Throws: `.accessGroupDenied` for a group that is not the caller's.
    func forget(accessGroup group: String) throws(VaultError) -> Int
}

extension ItemHistory {
    /// As ``undo(_:to:)``, to the version before.
    @discardableResult
    public func undo(_ record: ItemRecord) throws(VaultError) -> Item { try undo(record, to: nil) }
}

extension Vault {
    /// How many older versions of an item are kept; 0 for none, with which a replaced or deleted secret is gone at the
    /// next compaction.
    public var historyLimit: Int { get throws(VaultError) { try core.read { $0.records.historyLimit } } }

    /// How long deleted items are kept, in days; nil: as long as the history keeps versions.
    public var deletedItemsLimit: Int? { get throws(VaultError) { try core.read { $0.deletedDays } } }

    /// Keeps so many older versions of each item from now on: 0 to 1,000. What was kept beyond that goes.
    ///
    /// - Throws: `.parameter(.limit)`.
    public func setHistoryLimit(_ limit: Int) throws(VaultError) {
        guard VaultSettings.historyLimits.contains(limit) else { throw .parameter(.limit) }
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.setHistoryLimit(limit, deletedDays: engine.deletedDays, in: &session)
        }
    }

    /// Sets both limits in one commit.
    package func setHistoryLimits(versions: Int, deletedDays: Int) throws(VaultError) {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.setHistoryLimit(versions, deletedDays: deletedDays, in: &session)
        }
    }

    /// Keeps deleted items for so many days from now on: 1 to 36,500; nil: as long as the history keeps versions. An
    /// item that was deleted earlier than that goes when a handle that has changed something closes or locks the vault.
    ///
    /// - Throws: `.parameter(.limit)`.
    public func setDeletedItemsLimit(_ days: Int?) throws(VaultError) {
        guard days.map(VaultSettings.deletedLimits.contains) ?? true else { throw .parameter(.limit) }
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.setHistoryLimit(engine.records.historyLimit, deletedDays: days, in: &session)
        }
    }

    public func versions(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try core.read { engine throws(VaultError) in try engine.versions(matching: query, self.viewer, for: self)
        }
    }

    public func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try core.read { engine throws(VaultError) in try engine.deleted(matching: query, self.viewer, for: self) }
    }

    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        try undo(StoredItem.Key(record), to: version)
    }

    package func undo(_ key: StoredItem.Key, to version: UInt64?) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.undo(ItemID(key.id.span), to: version, self.viewer, for: self, in: &session)
        }
    }

    @discardableResult
    public func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item {
        try restoreItem(StoredItem.Key(record))
    }

    package func restoreItem(_ key: StoredItem.Key) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.restore(ItemID(key.id.span), self.viewer, for: self, in: &session)
        }
    }

    /// Takes the older versions of the items that match out of the file, and with them those that were deleted.
    ///
    /// - Parameter onlyDeleted: leaves the items that are there alone.
    /// - Returns: of how many items.
    public func purgeHistory(matching queries: [Query], onlyDeleted: Bool = false) throws(VaultError) -> Int {
        try core.purge { engine throws(VaultError) in
            var owners: Set<ItemID> = []
            for query in queries {
                owners.formUnion(try engine.historyOwners(matching: query, onlyDeleted: onlyDeleted, self.accessGroups))
            }
            return VaultStore.Purge(histories: owners.filter { !engine.records.versions(of: $0).isEmpty })
        }.histories.count
    }

    public func forget(accessGroup group: String) throws(VaultError) -> Int {
        guard accessGroups.allowsWriting(group) else { throw .accessGroupDenied }
        // Other devices must hear of it: what they know is deleted, and goes when all of them have heard.
        let buried = try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.bury(engine.items(ofGroup: group).current, in: &session)
        }
        return try buried
            + core.purge { engine throws(VaultError) in
                let items = engine.items(ofGroup: group)
                return VaultStore.Purge(
                    items: items.current.filter { !engine.isShared($0) }, histories: items.current.union(items.past))
            }.items.count
    }
}

extension VaultCore {
    /// Takes the deleted items out of the file that have been kept for their time. A handle that only read leaves
    /// them.
    func removeExpired() {
        guard (try? read { $0.records.hasWritten && !$0.expiredItems.isEmpty }) == true else { return }
        _ = try? purge { VaultStore.Purge(histories: $0.expiredItems) }
    }
}
