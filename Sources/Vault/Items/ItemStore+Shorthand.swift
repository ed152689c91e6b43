// SPDX-License-Identifier: Apache-2.0

// Shorthand for the most common uses of the verbs.

extension ItemStore {
    /// The first matching item in the order of creation; `nil` if none matches.
    public func first(_ query: Query) throws(VaultError) -> Item? {
        var query = query
        query.limit = .one
        return try allMatching(query).first
    }

    /// The item with this key; `nil` if there is none.
    public func first(_ key: ItemKey) throws(VaultError) -> Item? { try first(Query(key)) }

    /// Whether an item matches.
    public func contains(_ query: Query) throws(VaultError) -> Bool { try first(query) != nil }

    /// Whether there is an item with this key.
    public func contains(_ key: ItemKey) throws(VaultError) -> Bool { try contains(Query(key)) }

    /// The matching items, possibly none.
    public func allMatching(_ query: Query) throws(VaultError) -> [Item] {
        do throws(VaultError) { return try copyMatching(query) } catch {
            guard error == .itemNotFound else { throw error }
            return []
        }
    }

    /// Deletes all matching items, if any.
    ///
    /// - Returns: the number of deleted items, 0 or more.
    @discardableResult
    public func deleteAll(_ query: Query) throws(VaultError) -> Int {
        do throws(VaultError) { return try delete(matching: query) } catch {
            guard error == .itemNotFound else { throw error }
            return 0
        }
    }

    /// Runs a body that finds items and then reads or changes them, and runs it again if another process has come
    /// between.
    package func undisturbed<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        for _ in 1..<16 {
            do throws(E) { return try body() } catch {
                guard let flaw = error as? VaultError,
                    [.itemChanged, .itemNotFound, .duplicateItem].contains(flaw)
                else { throw error }
            }
        }
        return try body()
    }

    /// Changes the item of a record, if it still has the record's version.
    ///
    /// - Throws: `.versionMismatch` if it was changed since, `.itemNotFound` if it was deleted.
    public func update(_ record: ItemRecord, with changes: ItemChanges) throws(VaultError) {
        var changes = changes
        changes.version = record.version
        try update(matching: Query(persistentReference: record.persistentReference), with: changes)
    }

    /// Writes back an item that was found and changed in memory: its attributes, and the secrets that it contains.
    ///
    /// - Throws: `.versionMismatch` if the stored item was changed since it was found, `.itemNotFound` if it was
    ///   deleted or never stored.
    public func update(_ item: Item) throws(VaultError) {
        guard let record = item.record else { throw .itemNotFound }
        var changes = ItemChanges(attributes: item.attributes, secret: item.secret)
        // The access control is derived again from the protection class.
        changes.attributes[.accessControl] = nil
        for name in record.attributes.user.keys { changes.userAttributes.updateValue(nil, forKey: name) }
        for (name, value) in item.userAttributes { changes.userAttributes[name] = .some(value) }
        for (name, field) in item.fields { changes.fields[name] = .some(field) }
        try update(record, with: changes)
    }

    /// Deletes the item of a record.
    ///
    /// - Throws: `.itemNotFound` if it was deleted already.
    public func delete(_ record: ItemRecord) throws(VaultError) {
        try delete(matching: Query(persistentReference: record.persistentReference))
    }

    /// Deletes an item that was found.
    ///
    /// - Throws: `.itemNotFound` if it was deleted already or never stored.
    public func delete(_ item: Item) throws(VaultError) {
        guard let record = item.record else { throw .itemNotFound }
        try delete(record)
    }
}

extension Item {
    /// The service of a generic password, as text.
    public var service: String? { self[.service]?.text }

    /// The server of an internet password, as text.
    public var server: String? { self[.server]?.text }

    /// The account of a password, as text.
    public var account: String? { self[.account]?.text }

    /// The label, as text.
    public var label: String? { self[.label]?.text }
}
