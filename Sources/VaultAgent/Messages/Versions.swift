// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import Vault

/// Requests older versions of items, or deleted items.
package struct VersionsRequest: AgentRequest {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 17
    package static let onlyReads = true
    package let query: Query
    package let deleted: Bool

    package init(_ query: Query, deleted: Bool) {
        self.query = query
        self.deleted = deleted
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(query)
        writer.put(deleted)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        query = try reader.read()
        deleted = try reader.read()
    }
}

/// Makes an older version of an item the current one.
package struct UndoRequest: AgentRequest {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 18
    package let key: StoredItem.Key
    /// `nil` for the previous version.
    package let version: UInt64?

    package init(_ key: StoredItem.Key, to version: UInt64?) {
        self.key = key
        self.version = version
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(key)
        writer.put(version)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        key = try reader.read()
        version = try reader.read()
    }
}

/// Adds a deleted item again.
package struct RestoreRequest: AgentRequest, ValueMessage {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 19
    package let value: StoredItem.Key

    package init(_ value: StoredItem.Key) { self.value = value }
}

/// Removes everything that is or was in an access group from the file.
package struct ForgetRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 20
    package let value: String

    package init(_ value: String) { self.value = value }
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
        let request = VersionsRequest(meant(query), deleted: deleted)
        return try withPresence(query.presence) { client throws(VaultError) in try client.items(request) }
    }

    /// Makes an older version of an item the current one; `nil` stands for the previous version.
    ///
    /// - Throws: `.itemNotFound` if there is no such item or version; `.duplicateItem` if another item has the primary
    ///   key of that version.
    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        let request = UndoRequest(StoredItem.Key(record), to: version)
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
    public func forget(accessGroup group: String) throws(VaultError) -> Int {
        try count(ForgetRequest(group))
    }
}

/// The number of older versions that the vault keeps of every item. A value changes it.
package struct HistoryLimitRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 33
    /// `nil` leaves the limit unchanged.
    package let value: UInt32?

    package init(_ value: UInt32?) { self.value = value }
}

/// The number of days for which the vault keeps deleted items; 0 keeps them as long as versions. A value changes it.
package struct DeletedItemsLimitRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 37
    /// `nil` leaves the limit unchanged.
    package let value: UInt32?

    package init(_ value: UInt32?) { self.value = value }
}

/// Removes older versions of the matching items from the file.
package struct PurgeHistoryRequest: AgentRequest {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 34
    package let queries: [Query]
    /// Whether existing items are left alone.
    package let onlyDeleted: Bool

    package init(_ queries: [Query], onlyDeleted: Bool) {
        self.queries = queries
        self.onlyDeleted = onlyDeleted
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(queries)
        writer.put(onlyDeleted)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        queries = try reader.read()
        onlyDeleted = try reader.read()
    }
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
        try count(PurgeHistoryRequest(queries.map(meant), onlyDeleted: onlyDeleted))
    }
}
