// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto

/// The origin of a record, which opens the item's secret on demand.
public protocol SecretSource: AnyObject, Sendable {
    /// Opens the secret of an item that was found, or a field of it.
    ///
    /// - Parameter field: the field's name; `nil` for the secret itself.
    /// - Returns: `nil` if the item has no secret or no such field.
    /// - Throws: `.itemChanged` if the secret was replaced since the item was found, `.itemNotFound` if the item was
    ///   deleted, `.locked`, `.storage(.damaged)`.
    func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret?
}

extension SecretSource {
    /// Opens the secret itself.
    public func secret(of record: ItemRecord) throws(VaultError) -> Secret? { try secret(of: record, field: nil) }
}

/// The four verbs. Both a ``Vault`` in this process and the client of an agent conform; code that takes an `ItemStore`
/// works with either.
public protocol ItemStore: SecretSource {
    /// Adds an item. An item that does not say whether it is synchronizable matches an existing item of its key,
    /// synchronizable or not. Given creation and modification dates are kept unless they are in the future.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem` if an item with the same primary key exists; nothing changes.
    @discardableResult
    func add(_ item: Item) throws(VaultError) -> Item

    /// Adds an item, or gives these attributes and this secret to the item with the same primary key.
    @discardableResult
    func set(_ item: Item) throws(VaultError) -> Item

    /// Finds items, in the order of their creation.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    func copyMatching(_ query: Query) throws(VaultError) -> [Item]

    /// Changes all matching items or none.
    ///
    /// - Returns: the number of changed items: an item that was so already does not count, unless
    ///   ``ItemChanges/ifUnchanged`` says otherwise.
    @discardableResult
    func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int

    /// Deletes all matching items.
    ///
    /// - Returns: the number of deleted items, 1 or more.
    @discardableResult
    func delete(matching query: Query) throws(VaultError) -> Int

    /// Deletes all matching items, if any, and adds or sets all of the items, in one transaction: all or nothing.
    func store(_ items: [Item], replacing: Bool, deleting queries: [Query]) throws(VaultError)

    /// The changes of matching items by this and all other processes, from now on or since a commit.
    ///
    /// - Parameters:
    ///   - query: `nil` or a query without a class stands for every class. Its limit is ignored.
    ///   - sequence: a commit whose state the caller has read; later changes are reported, at least as `many`.
    /// - Returns: a sequence; an error in the query is reported by the sequence itself.
    func changes(matching query: Query?, from sequence: UInt64?) -> ChangeSequence

    /// The number of the newest commit: whatever is read afterwards is at least as new.
    var sequence: UInt64 { get throws(VaultError) }

    /// Opens the secret of an item that was found, or a field of it, even if that requires user presence.
    ///
    /// - Parameters:
    ///   - field: the field's name; `nil` for the secret itself.
    ///   - presence: how to handle required presence. A store that cannot ask a person throws `.presenceRequired`.
    /// - Throws: as ``SecretSource/secret(of:field:)``; `.presenceRequired`.
    func secret(of record: ItemRecord, field: String?, presence: Query.Presence) throws(VaultError) -> Secret?

    /// Runs a body that only reads. If that requires user presence and the user grants it, the body runs once more, on
    /// a store with permission for all that the body reads.
    func withPermission<R>(
        _ presence: Query.Presence, _ body: (any ItemStore) throws(VaultError) -> R
    ) throws(VaultError) -> R
}

extension ItemStore {
    /// The form of a store that asks nobody: opens the secret, or throws `.presenceRequired`.
    public func secret(of record: ItemRecord, field: String?, presence: Query.Presence) throws(VaultError) -> Secret? {
        try record.secret(field: field)
    }

    /// The form of a store that asks nobody: runs the body once.
    public func withPermission<R>(
        _ presence: Query.Presence, _ body: (any ItemStore) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        try body(self)
    }
}

extension ItemStore {
    /// Adds or sets all of the items in one transaction, or none.
    public func store(_ items: [Item], replacing: Bool) throws(VaultError) {
        try store(items, replacing: replacing, deleting: [])
    }
}
