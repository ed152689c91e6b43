// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto

/// What a record keeps of where it was found: it opens the item's secret when a caller wants it.
public protocol SecretSource: AnyObject, Sendable {
    /// Opens the secret of an item that was found, or a field of it.
    ///
    /// - Parameter field: its name; nil: the secret itself.
    /// - Returns: nil when the item has no secret, or no such field.
    /// - Throws: `.itemChanged` when it got another since it was found, `.itemNotFound` when it is gone, `.locked`,
    ///   `.storage(.damaged)`.
    func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret?
}

extension SecretSource {
    /// Opens the secret itself.
    public func secret(of record: ItemRecord) throws(VaultError) -> Secret? { try secret(of: record, field: nil) }
}

/// The four verbs. A ``Vault`` in this process is one, and so is the client of an agent; code that takes an `ItemStore`
/// cannot tell which it has.
public protocol ItemStore: SecretSource {
    /// Adds an item. One that does not say whether it is synchronizable is the one of its key that is there, either
    /// way. A creation date and a modification date that it has are kept, unless they lie ahead.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem` when one with the same primary key exists; nothing changes.
    @discardableResult
    func add(_ item: Item) throws(VaultError) -> Item

    /// Adds an item, or gives the one with the same primary key these attributes and this secret.
    @discardableResult
    func set(_ item: Item) throws(VaultError) -> Item

    /// Finds items, in the order of their creation.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func copyMatching(_ query: Query) throws(VaultError) -> [Item]

    /// Changes every item that matches, or none.
    ///
    /// - Returns: how many, 1 or more.
    @discardableResult
    func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int

    /// Deletes every item that matches.
    ///
    /// - Returns: how many, 1 or more.
    @discardableResult
    func delete(matching query: Query) throws(VaultError) -> Int

    /// Deletes what matches, if anything does, and adds or sets all of the items, in one transaction, or nothing of it.
    func store(_ items: [Item], replacing: Bool, deleting queries: [Query]) throws(VaultError)

    /// The changes of what matches, from now on or from a commit on: those of this process and of all others.
    ///
    /// - Parameters:
    ///   - query: nil, or one without a class: of every class. Its limit means nothing here.
    ///   - sequence: a commit that the caller knew when it looked; what came since is told, at least as `many`.
    /// - Returns: a sequence that says itself what is wrong with the query.
    func changes(matching query: Query?, from sequence: UInt64?) -> ChangeSequence

    /// The number of the newest commit: what was found after it was read is no older.
    var sequence: UInt64 { get throws(VaultError) }

    /// Opens the secret of an item that was found, or a field of it, also where a person has to allow that.
    ///
    /// - Parameters:
    ///   - field: its name; nil: the secret itself.
    ///   - presence: what to do then. A store that cannot have a person asked throws `.presenceRequired`.
    /// - Throws: as ``SecretSource/secret(of:field:)``; `.presenceRequired`.
    func secret(of record: ItemRecord, field: String?, presence: Query.Presence) throws(VaultError) -> Secret?

    /// Runs a body that only reads. When a person has to allow that, and does, it runs once more: on a store to which
    /// they have allowed all that the body reads.
    func withPermission<R>(
        _ presence: Query.Presence, _ body: (any ItemStore) throws(VaultError) -> R
    ) throws(VaultError) -> R
}

extension ItemStore {
    public func secret(of record: ItemRecord, field: String?, presence: Query.Presence) throws(VaultError) -> Secret? {
        try record.secret(field: field)
    }

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
