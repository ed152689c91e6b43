// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import Vault

/// Older versions of items, or deleted ones.
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
    /// Nil: the one before.
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

/// Takes all that is in an access group, or was, out of the file.
package struct ForgetRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 20
    package let value: String

    package init(_ value: String) { self.value = value }
}

extension AgentClient {
    public func versions(matching query: Query) throws(VaultError) -> [ItemVersion] {
        var seen: Set<UUID> = []
        // The current one of each item comes first.
        return try versions(matching: query, deleted: false).map { item in
            ItemVersion(item: item, isCurrent: item.record.map { seen.insert($0.id).inserted } ?? false)
        }
    }

    public func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try versions(matching: query, deleted: true).map { ItemVersion(item: $0, isCurrent: false) }
    }

    private func versions(matching query: Query, deleted: Bool) throws(VaultError) -> [Item] {
        let request = VersionsRequest(meant(query), deleted: deleted)
        return try withPresence(query.presence) { client throws(VaultError) in try client.items(request) }
    }

    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        let request = UndoRequest(StoredItem.Key(record), to: version)
        return try withPresence { client throws(VaultError) in try client.item(request) }
    }

    @discardableResult
    public func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item {
        let request = RestoreRequest(StoredItem.Key(record))
        return try withPresence { client throws(VaultError) in try client.item(request) }
    }

    public func forget(accessGroup group: String) throws(VaultError) -> Int {
        try count(ForgetRequest(group))
    }
}
