// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import Vault

/// Requests older versions of items, or deleted items.
package struct VersionsRequest: ItemsRequest, Formed, OnlyReads {
    package static let kind: UInt8 = 17
    package static let form = MessageForm(Self.init) { ($0.query, $0.deleted) }
    package let query: Query
    package let deleted: Bool
}

/// Makes an older version of an item the current one.
package struct UndoRequest: ItemsRequest, Formed {
    package static let kind: UInt8 = 18
    package static let form = MessageForm(Self.init) { ($0.key, $0.version) }
    package let key: StoredItem.Key
    /// `nil` for the previous version.
    package let version: UInt64?
}

/// Adds a deleted item again.
package struct RestoreRequest: ValueRequest, ItemsRequest {
    package static let kind: UInt8 = 19
    package let value: StoredItem.Key
}

/// Removes everything that is or was in an access group from the file.
package struct ForgetRequest: ValueRequest, CountRequest {
    package static let kind: UInt8 = 20
    package let value: String
}

extension AgentClient {
    /// The versions of each matching item, newest first.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func versions(matching query: Query) throws(VaultError) -> [ItemVersion] {
        var seen: Set<UUID> = []
        // The current version of each item comes first.
        return try versions(matching: query, deleted: false).map { item in
            ItemVersion(item: item, isCurrent: item.record.map { seen.insert($0.id).inserted } ?? false)
        }
    }

    /// The last version of each matching deleted item.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try versions(matching: query, deleted: true).map { ItemVersion(item: $0, isCurrent: false) }
    }

    private func versions(matching query: Query, deleted: Bool) throws(VaultError) -> [Item] {
        let request = VersionsRequest(query: meant(query), deleted: deleted)
        return try withPresence(query.presence) { client throws(VaultError) in try client.items(request) }
    }

    /// Makes an older version of an item the current one; `nil` stands for the previous version.
    ///
    /// - Throws: `.itemNotFound` if there is no such item or version; `.duplicateItem` if another item has the primary
    ///   key of that version.
    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        let request = UndoRequest(key: StoredItem.Key(record), version: version)
        return try withPresence { client throws(VaultError) in try client.item(request) }
    }

    /// Adds a deleted item again as it was, under its old identifier.
    ///
    /// - Throws: `.itemNotFound`; `.duplicateItem` if another item has its primary key by now.
    @discardableResult
    public func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item {
        let request = RestoreRequest(StoredItem.Key(record))
        return try withPresence { client throws(VaultError) in try client.item(request) }
    }

    /// Removes every item from the file that is in an access group, or was when it was deleted.
    ///
    /// - Returns: the number of removed items, without those that had been deleted before.
    /// - Throws: `.accessGroupDenied` for a group that is not the caller's.
    public func forget(accessGroup group: String) throws(VaultError) -> Int { try count(ForgetRequest(group)) }
}

/// The number of older versions that the vault keeps of every item. A value changes it.
package struct HistoryLimitRequest: ValueRequest, CountRequest {
    package static let kind: UInt8 = 33
    /// `nil` leaves the limit unchanged.
    package let value: UInt32?
}

/// The number of days for which the vault keeps deleted items; 0 keeps them as long as versions. A value changes it.
package struct DeletedItemsLimitRequest: ValueRequest, CountRequest {
    package static let kind: UInt8 = 37
    /// `nil` leaves the limit unchanged.
    package let value: UInt32?
}

/// Removes older versions of the matching items from the file.
package struct PurgeHistoryRequest: CountRequest, Formed {
    package static let kind: UInt8 = 34
    package static let form = MessageForm(Self.init) { ($0.queries, $0.onlyDeleted) }
    package let queries: [Query]
    /// Whether existing items are left alone.
    package let onlyDeleted: Bool
}

extension AgentClient {
    /// The number of older versions kept per item: 0 to 1,000.
    public var historyLimit: Int { get throws(VaultError) { try count(HistoryLimitRequest(nil)) } }

    /// Sets the number of older versions kept per item: 0 to 1,000. Versions beyond the limit are removed.
    ///
    /// - Throws: `.parameter(.limit)`.
    public func setHistoryLimit(_ limit: Int) throws(VaultError) {
        guard let number = UInt32(exactly: limit) else { throw .parameter(.limit) }
        _ = try ask(HistoryLimitRequest(number))
    }

    /// How long deleted items are kept, in days; `nil` for as long as the history keeps versions.
    public var deletedItemsLimit: Int? {
        get throws(VaultError) {
            let days = try count(DeletedItemsLimitRequest(nil))
            return days == 0 ? nil : days
        }
    }

    /// Sets how many days deleted items are kept: 1 to 36,500; `nil` for as long as the history keeps versions.
    ///
    /// - Throws: `.parameter(.limit)`.
    public func setDeletedItemsLimit(_ days: Int?) throws(VaultError) {
        guard days != 0, let number = UInt32(exactly: days ?? 0) else { throw .parameter(.limit) }
        _ = try ask(DeletedItemsLimitRequest(number))
    }

    /// Removes the older versions of the matching items from the file, and matching deleted items.
    ///
    /// - Parameter onlyDeleted: leaves existing items alone.
    /// - Returns: the number of items whose versions were removed.
    public func purgeHistory(matching queries: [Query], onlyDeleted: Bool) throws(VaultError) -> Int {
        try count(PurgeHistoryRequest(queries: queries.map(meant), onlyDeleted: onlyDeleted))
    }
}
