// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto
public import VaultStorage

// Async forms of the verbs. The same call with `await` runs on one of the vault's own threads, so that it blocks no
// task of the process. A task that was cancelled before its call began gets `.cancelled` and nothing happens; a call
// that has begun completes.

extension ItemStore {
    /// As the synchronous ``add(_:)``, without blocking the task's thread.
    @discardableResult
    public func add(_ item: Item) async throws(VaultError) -> Item {
        try await VaultExecutor.run { () throws(VaultError) in try self.add(item) }
    }

    /// As the synchronous ``set(_:)``, without blocking the task's thread.
    @discardableResult
    public func set(_ item: Item) async throws(VaultError) -> Item {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(item) }
    }

    /// As the synchronous ``copyMatching(_:)``, without blocking the task's thread.
    public func copyMatching(_ query: Query) async throws(VaultError) -> [Item] {
        try await VaultExecutor.run { () throws(VaultError) in try self.copyMatching(query) }
    }

    /// As the synchronous ``update(matching:with:)``, without blocking the task's thread.
    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(matching: query, with: changes) }
    }

    /// As the synchronous ``delete(matching:)``, without blocking the task's thread.
    @discardableResult
    public func delete(matching query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(matching: query) }
    }

    /// As the synchronous ``store(_:replacing:deleting:)``, without blocking the task's thread.
    public func store(_ items: [Item], replacing: Bool, deleting queries: [Query] = []) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in
            try self.store(items, replacing: replacing, deleting: queries)
        }
    }

    /// As the synchronous ``secret(of:field:)``, without blocking the task's thread.
    public func secret(of record: ItemRecord, field: String? = nil) async throws(VaultError) -> Secret? {
        try await VaultExecutor.run { () throws(VaultError) in try self.secret(of: record, field: field) }
    }

    // MARK: Shorthand

    /// The first matching item in the order of creation; `nil` if none matches.
    public func first(_ query: Query) async throws(VaultError) -> Item? {
        try await VaultExecutor.run { () throws(VaultError) in try self.first(query) }
    }

    /// The item with this key; `nil` if there is none.
    public func first(_ key: ItemKey) async throws(VaultError) -> Item? { try await first(Query(key)) }

    /// Whether an item matches.
    public func contains(_ query: Query) async throws(VaultError) -> Bool { try await first(query) != nil }

    /// Whether there is an item with this key.
    public func contains(_ key: ItemKey) async throws(VaultError) -> Bool { try await contains(Query(key)) }

    /// The matching items, possibly none.
    public func allMatching(_ query: Query) async throws(VaultError) -> [Item] {
        try await VaultExecutor.run { () throws(VaultError) in try self.allMatching(query) }
    }

    /// Deletes all matching items, if any.
    ///
    /// - Returns: the number of deleted items, 0 or more.
    @discardableResult
    public func deleteAll(_ query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.deleteAll(query) }
    }

    /// Changes the item of a record, if it still has the record's version.
    ///
    /// - Throws: `.versionMismatch` if it was changed since, `.itemNotFound` if it was deleted.
    public func update(_ record: ItemRecord, with changes: ItemChanges) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(record, with: changes) }
    }

    /// Writes back an item that was found and changed in memory: its attributes, and the secrets that it contains.
    ///
    /// - Throws: `.versionMismatch` if the stored item was changed since it was found, `.itemNotFound` if it was
    ///   deleted or never stored.
    public func update(_ item: Item) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(item) }
    }

    /// Deletes the item of a record.
    ///
    /// - Throws: `.itemNotFound` if it was deleted already.
    public func delete(_ record: ItemRecord) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(record) }
    }

    /// Deletes an item that was found.
    ///
    /// - Throws: `.itemNotFound` if it was deleted already or never stored.
    public func delete(_ item: Item) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(item) }
    }

    // MARK: Values

    /// As the synchronous ``set(_:for:encoding:)``, without blocking the task's thread.
    public func set(
        _ value: some Encodable & Sendable, for key: ItemKey, encoding: ValueEncoding = .propertyList
    ) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(value, for: key, encoding: encoding) }
    }

    /// As the synchronous ``set(_:for:encoding:)``, without blocking the task's thread.
    public func set(
        _ value: some Encodable & Sendable, for name: String, encoding: ValueEncoding = .propertyList
    ) async throws(VaultError) {
        try await set(value, for: .value(name), encoding: encoding)
    }

    /// As the synchronous ``value(of:for:migrating:)``, without blocking the task's thread.
    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for key: ItemKey, migrating older: ValueMigration<Value>...
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: key, older) }
    }

    /// As the synchronous ``value(of:for:migrating:)``, without blocking the task's thread.
    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for name: String, migrating older: ValueMigration<Value>...
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: .value(name), older) }
    }

    /// Removes a value. Returns `false` if there was none.
    @discardableResult
    public func removeValue(for key: ItemKey) async throws(VaultError) -> Bool {
        try await VaultExecutor.run { () throws(VaultError) in try self.removeValue(for: key) }
    }

    /// Removes a value. Returns `false` if there was none.
    @discardableResult
    public func removeValue(for name: String) async throws(VaultError) -> Bool {
        try await removeValue(for: .value(name))
    }
}

extension OpenVault {
    /// As the synchronous ``lockedCount(matching:)``, without blocking the task's thread.
    public func lockedCount(matching query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.lockedCount(matching: query) }
    }

    /// As the synchronous ``compact()``, without blocking the task's thread.
    public func compact() async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.compact() }
    }

    /// As the synchronous ``verify(deep:)``, without blocking the task's thread.
    public func verify(deep: Bool) async throws(VaultError) -> Verification {
        try await VaultExecutor.run { () throws(VaultError) in try self.verify(deep: deep) }
    }

    /// As the synchronous ``deviceIdentifier(for:thisDeviceOnly:)``, without blocking the task's thread.
    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) async throws(VaultError) -> UUID {
        try await VaultExecutor.run { () throws(VaultError) in
            try self.deviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
        }
    }
}
