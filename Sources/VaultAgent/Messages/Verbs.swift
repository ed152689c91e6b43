// SPDX-License-Identifier: Apache-2.0
public import Vault
public import VaultCrypto

package struct AddRequest: AgentRequest, ValueMessage {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 6
    package let value: Item

    package init(_ value: Item) { self.value = value }
}

/// Adds an item, or updates the item with the same primary key.
package struct SetRequest: AgentRequest, ValueMessage {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 7
    package let value: Item

    package init(_ value: Item) { self.value = value }
}

/// Adds an item, or changes the one that a program stores again.
package struct ReplaceRequest: AgentRequest {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 56
    package let item: Item
    /// The attributes that the program has given; `nil` for a new item.
    package let attributes: [String: String]?

    package init(_ item: Item, sameAs attributes: [String: String]?) {
        self.item = item
        self.attributes = attributes
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(item)
        writer.put(attributes != nil)
        if let attributes { writer.put(names: attributes) }
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        item = try reader.read()
        attributes = try reader.read() ? try reader.names() : nil
    }
}

package struct CopyMatchingRequest: AgentRequest, ValueMessage {
    package typealias Reply = ItemsReply
    package static let kind: UInt8 = 8
    package static let onlyReads = true
    package let value: Query

    package init(_ value: Query) { self.value = value }
}

package struct UpdateRequest: AgentRequest {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 9
    package let query: Query
    package let changes: ItemChanges

    package init(_ query: Query, _ changes: ItemChanges) {
        self.query = query
        self.changes = changes
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(query)
        writer.put(changes)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        query = try reader.read()
        changes = try reader.read()
    }
}

package struct DeleteRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 10
    package let value: Query

    package init(_ value: Query) { self.value = value }
}

/// A part of a store in one transaction, which begins after the last part. Only the last part has a reply.
package struct StoreRequest: AgentRequest {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 11
    package let items: [Item]
    package let replacing: Bool
    /// The queries of items to delete in the same transaction; each part may bring some.
    package let deleted: [Query]
    package let isLast: Bool

    package init(_ items: [Item], replacing: Bool, deleting queries: [Query] = [], isLast: Bool) {
        self.items = items
        self.replacing = replacing
        deleted = queries
        self.isLast = isLast
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(items)
        writer.put(replacing)
        writer.put(deleted)
        writer.put(isLast)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        items = try reader.read()
        replacing = try reader.read()
        deleted = try reader.read()
        isLast = try reader.read()
    }

    /// Returns an item's size in a frame. Its secret counts for less, since a frame has more room for secrets.
    private static func size(of item: Item) -> Int {
        var writer = MessageWriter()
        writer.put(item)
        return writer.body.count + writer.secretsLength / 128
    }

    /// Splits the items into as many parts as necessary.
    static func parts(of items: [Item], replacing: Bool, deleting queries: [Query]) -> [StoreRequest] {
        let items = FrameParts.of(items, size: size).map { StoreRequest($0, replacing: replacing, isLast: false) }
        let deleted = FrameParts.of(queries, size: size).map {
            StoreRequest([], replacing: replacing, deleting: $0, isLast: false)
        }
        let parts = queries.isEmpty ? items : deleted + items
        return parts.enumerated().map { index, part in
            StoreRequest(
                part.items, replacing: replacing, deleting: part.deleted, isLast: index == parts.count - 1)
        }
    }

    private static func size(of query: Query) -> Int {
        var writer = MessageWriter()
        writer.put(query)
        return writer.body.count
    }
}

/// Requests the secret of a found item, or one of its fields.
package struct SecretRequest: AgentRequest {
    package typealias Reply = SecretReply
    package static let kind: UInt8 = 12
    package static let onlyReads = true
    package let item: StoredItem.Key
    /// `nil` for the secret itself.
    package let field: String?

    package init(_ item: StoredItem.Key, field: String?) {
        self.item = item
        self.field = field
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(item)
        writer.put(field)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        item = try reader.read()
        field = try reader.read()
    }
}

/// Requests the number of matching items that a locked vault leaves out.
package struct LockedCountRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 22
    package static let onlyReads = true
    package let value: Query

    package init(_ value: Query) { self.value = value }
}

extension AgentClient {
    /// Adds an item.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem`; `.agent(.gone)` if the outcome is unknown.
    @discardableResult
    public func add(_ item: Item) throws(VaultError) -> Item { try self.item(AddRequest(item)) }

    /// Adds an item, or gives these attributes and this secret to the item with the same primary key.
    ///
    /// - Throws: `.presenceRequired` if that item is protected and nobody can be asked.
    @discardableResult
    public func set(_ item: Item) throws(VaultError) -> Item {
        try withPresence { client throws(VaultError) in try client.item(SetRequest(item)) }
    }

    /// Adds an item, or changes the last changed one of its group that a program stores again, in one step.
    ///
    /// - Parameter attributes: those that the program has given; `nil` for a new item, whose account gets a number if
    ///   its key is taken.
    package func replace(_ item: Item, sameAs attributes: [String: String]?) throws(VaultError) -> Item {
        try self.item(ReplaceRequest(item, sameAs: attributes))
    }

    /// Finds items, in the order of their creation.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func copyMatching(_ query: Query) throws(VaultError) -> [Item] {
        let request = CopyMatchingRequest(meant(query))
        return try withPresence(query.presence) { client throws(VaultError) in try client.items(request) }
    }

    /// Changes all matching items or none.
    ///
    /// - Returns: the number of changed items: an item that was so already does not count, unless
    ///   ``ItemChanges/ifUnchanged`` says otherwise.
    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try withPresence(query.presence) { client throws(VaultError) in
            try client.count(UpdateRequest(query, changes))
        }
    }

    /// Deletes all matching items.
    ///
    /// - Returns: the number of deleted items, 1 or more.
    @discardableResult
    public func delete(matching query: Query) throws(VaultError) -> Int { try count(DeleteRequest(query)) }

    /// Deletes all matching items, if any, and adds or sets all of the items, in one transaction: all or nothing.
    public func store(_ items: [Item], replacing: Bool, deleting queries: [Query]) throws(VaultError) {
        let parts = StoreRequest.parts(of: items, replacing: replacing, deleting: queries)
        _ = try withPresence { client throws(VaultError) in try client.exchange(parts) }
    }

    /// Opens the secret of an item that was found, or a field of it, asking a person if that requires user presence.
    ///
    /// - Returns: `nil` if the item has no secret or no such field.
    /// - Throws: `.itemChanged` if the secret was replaced since, `.itemNotFound` if the item was deleted, `.locked`.
    public func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret? {
        try secret(of: record, field: field, presence: .asked(reason: nil))
    }

    /// The number of matching items that are unreadable because the vault is locked. With a query that leaves out items
    /// requiring user presence, such items count as well.
    public func lockedCount(matching query: Query) throws(VaultError) -> Int { try count(LockedCountRequest(query)) }
}
