// SPDX-License-Identifier: Apache-2.0
public import Vault
public import VaultCrypto

package struct AddRequest: ValueRequest, ItemsRequest {
    package static let kind: UInt8 = 6
    package let value: Item
}

/// Adds an item, or updates the item with the same primary key.
package struct SetRequest: ValueRequest, ItemsRequest {
    package static let kind: UInt8 = 7
    package let value: Item
}

/// Adds an item, or changes the one that a program stores again.
package struct ReplaceRequest: ItemsRequest, Formed {
    package static let kind: UInt8 = 56
    package static let form = MessageForm(Self.init) { ($0.item, $0.attributes) }
    package let item: Item
    /// The attributes that the program has given; `nil` for a new item.
    package let attributes: [String: String]?
}

package struct CopyMatchingRequest: ValueRequest, ItemsRequest, OnlyReads {
    package static let kind: UInt8 = 8
    package let value: Query
}

package struct UpdateRequest: CountRequest, Formed {
    package static let kind: UInt8 = 9
    package static let form = MessageForm(Self.init) { ($0.query, $0.changes) }
    package let query: Query
    package let changes: ItemChanges
}

package struct DeleteRequest: ValueRequest, CountRequest {
    package static let kind: UInt8 = 10
    package let value: Query
}

/// A part of a store in one transaction, which begins after the last part. Only the last part has a reply.
package struct StoreRequest: DoneRequest, Formed {
    package static let kind: UInt8 = 11
    package static let form = MessageForm(Self.init) { ($0.items, $0.replacing, $0.deleted, $0.isLast) }
    package let items: [Item]
    package let replacing: Bool
    /// The queries of items to delete in the same transaction; each part may bring some.
    package let deleted: [Query]
    package let isLast: Bool

    package init(_ items: [Item], replacing: Bool, deleting queries: [Query] = [], isLast: Bool) {
        (self.items, self.replacing, deleted, self.isLast) = (items, replacing, queries, isLast)
    }

    /// Returns the size of an item or a query in a frame. Secrets count for less, since a frame has more room for them.
    private static func size(of value: some MessageValue) -> Int {
        var writer = MessageWriter()
        writer.put(value)
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
}

/// Requests the secret of a found item, or one of its fields.
package struct SecretRequest: AgentRequest, Formed, OnlyReads {
    package typealias Reply = SecretReply
    package static let kind: UInt8 = 12
    package static let form = MessageForm(Self.init) { ($0.item, $0.field) }
    package let item: StoredItem.Key
    /// `nil` for the secret itself.
    package let field: String?
}

/// Requests the number of matching items that a locked vault leaves out.
package struct LockedCountRequest: ValueRequest, CountRequest, OnlyReads {
    package static let kind: UInt8 = 22
    package let value: Query
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
        try self.item(ReplaceRequest(item: item, attributes: attributes))
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
            try client.count(UpdateRequest(query: query, changes: changes))
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
