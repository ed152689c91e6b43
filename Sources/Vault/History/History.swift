// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A version of an item: the current one, or one that was kept when it was changed or deleted.
public struct ItemVersion: Sendable {
    /// Includes the secret if the query asked for it.
    public let item: Item
    /// Whether this is the version that the verbs find.
    public let isCurrent: Bool

    package init(item: Item, isCurrent: Bool) {
        self.item = item
        self.isCurrent = isCurrent
    }
}

/// Older versions of items, and deleted items.
public protocol ItemHistory: AnyObject {
    /// The versions of each matching item, newest first.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    func versions(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// The last version of each matching deleted item.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// Makes an older version of an item the current one. The replaced version is kept in its turn, so that a second
    /// call undoes the first.
    ///
    /// - Parameter version: `nil` for the previous version.
    /// - Throws: `.itemNotFound` if there is no such item or version; `.duplicateItem` if another item has the primary
    ///   key of that version.
    @discardableResult
    func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item

    /// Adds a deleted item again as it was, under its old identifier.
    ///
    /// - Throws: `.itemNotFound`; `.duplicateItem` if another item has its primary key by now.
    @discardableResult
    func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item

    /// Removes every item from the file that is in an access group, or was when it was deleted: the remains of an
    /// application. The device identifiers under the group's name are removed too.
    ///
    /// - Returns: the number of removed items, without those that had been deleted before.
    /// - Throws: `.accessGroupDenied` for a group that is not the caller's.
    func forget(accessGroup group: String) throws(VaultError) -> Int
}

extension ItemHistory {
    /// As ``undo(_:to:)``, to the previous version.
    @discardableResult
    public func undo(_ record: ItemRecord) throws(VaultError) -> Item { try undo(record, to: nil) }
}

extension Vault {
    /// The number of older versions kept per item. With 0, a replaced or deleted secret is removed at the next
    /// compaction.
    public var historyLimit: Int { get throws(VaultError) { try core.read { $0.records.historyLimit } } }

    /// How long deleted items are kept, in days; `nil` for as long as the history keeps versions.
    public var deletedItemsLimit: Int? { get throws(VaultError) { try core.read { $0.deletedDays } } }

    /// Sets the number of older versions kept per item: 0 to 1,000. Versions beyond the limit are removed.
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

    /// Sets how many days deleted items are kept: 1 to 36,500; `nil` for as long as the history keeps versions. An item
    /// deleted longer ago is removed when a handle that has made changes closes or locks the vault.
    ///
    /// - Throws: `.parameter(.limit)`.
    public func setDeletedItemsLimit(_ days: Int?) throws(VaultError) {
        guard days.map(VaultSettings.deletedLimits.contains) ?? true else { throw .parameter(.limit) }
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.setHistoryLimit(engine.records.historyLimit, deletedDays: days, in: &session)
        }
    }

    /// The versions of each matching item, newest first.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func versions(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try core.read { engine throws(VaultError) in try engine.versions(matching: query, self.viewer, for: self)
        }
    }

    /// The last version of each matching deleted item.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try core.read { engine throws(VaultError) in try engine.deleted(matching: query, self.viewer, for: self) }
    }

    /// Makes an older version of an item the current one; `nil` stands for the previous version.
    ///
    /// - Throws: `.itemNotFound` if there is no such item or version; `.duplicateItem` if another item has the primary
    ///   key of that version.
    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        try undo(StoredItem.Key(record), to: version)
    }

    package func undo(_ key: StoredItem.Key, to version: UInt64?) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.undo(ItemID(key.id.span), to: version, self.viewer, for: self, in: &session)
        }
    }

    /// Adds a deleted item again as it was, under its old identifier.
    ///
    /// - Throws: `.itemNotFound`; `.duplicateItem` if another item has its primary key by now.
    @discardableResult
    public func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item { try restoreItem(StoredItem.Key(record)) }

    package func restoreItem(_ key: StoredItem.Key) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.restore(ItemID(key.id.span), self.viewer, for: self, in: &session)
        }
    }

    /// Removes the older versions of the matching items from the file, and matching deleted items.
    ///
    /// - Parameter onlyDeleted: leaves existing items alone.
    /// - Returns: the number of items whose versions were removed.
    public func purgeHistory(matching queries: [Query], onlyDeleted: Bool = false) throws(VaultError) -> Int {
        try core.purge { engine throws(VaultError) in
            var owners: Set<ItemID> = []
            for query in queries {
                owners.formUnion(try engine.historyOwners(matching: query, onlyDeleted: onlyDeleted, self.accessGroups))
            }
            return VaultStore.Purge(histories: owners.filter { !engine.records.versions(of: $0).isEmpty })
        }.histories.count
    }

    /// Removes every item from the file that is in an access group, or was when it was deleted.
    ///
    /// - Returns: the number of removed items, without those that had been deleted before.
    /// - Throws: `.accessGroupDenied` for a group that is not the caller's.
    public func forget(accessGroup group: String) throws(VaultError) -> Int {
        guard accessGroups.allowsWriting(group) else { throw .accessGroupDenied }
        // Other devices must learn of the removal: items that they know are deleted, and removed once all devices know.
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
    /// Removes the deleted items whose retention period has ended from the file. A handle that only read leaves them.
    func removeExpired() {
        guard (try? read { $0.records.hasWritten && !$0.expiredItems.isEmpty }) == true else { return }
        _ = try? purge { VaultStore.Purge(histories: $0.expiredItems) }
    }
}
