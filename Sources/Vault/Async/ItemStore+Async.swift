// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto
public import VaultStorage

// Async forms of the verbs. The same call with `await` runs on one of the vault's own threads, so that it blocks no
// task of the process. A task that was cancelled before its call began gets `.cancelled` and nothing happens; a call
// that has begun completes.

extension ItemStore {
    @discardableResult
    public func add(_ item: Item) async throws(VaultError) -> Item {
        try await VaultExecutor.run { () throws(VaultError) in try self.add(item) }
    }

    @discardableResult
    public func set(_ item: Item) async throws(VaultError) -> Item {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(item) }
    }

    public func copyMatching(_ query: Query) async throws(VaultError) -> [Item] {
        try await VaultExecutor.run { () throws(VaultError) in try self.copyMatching(query) }
    }

    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(matching: query, with: changes) }
    }

    @discardableResult
    public func delete(matching query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(matching: query) }
    }

    public func store(
        _ items: [Item], replacing: Bool, deleting queries: [Query] = []
    ) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in
            try self.store(items, replacing: replacing, deleting: queries)
        }
    }

    public func secret(of record: ItemRecord, field: String? = nil) async throws(VaultError) -> Secret? {
        try await VaultExecutor.run { () throws(VaultError) in try self.secret(of: record, field: field) }
    }

    // MARK: Shorthand

    public func first(_ query: Query) async throws(VaultError) -> Item? {
        try await VaultExecutor.run { () throws(VaultError) in try self.first(query) }
    }

    public func first(_ key: ItemKey) async throws(VaultError) -> Item? { try await first(Query(key)) }

    public func contains(_ query: Query) async throws(VaultError) -> Bool { try await first(query) != nil }

    public func contains(_ key: ItemKey) async throws(VaultError) -> Bool { try await contains(Query(key)) }

    public func allMatching(_ query: Query) async throws(VaultError) -> [Item] {
        try await VaultExecutor.run { () throws(VaultError) in try self.allMatching(query) }
    }

    @discardableResult
    public func deleteAll(_ query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.deleteAll(query) }
    }

    public func update(_ record: ItemRecord, with changes: ItemChanges) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(record, with: changes) }
    }

    public func update(_ item: Item) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.update(item) }
    }

    public func delete(_ record: ItemRecord) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(record) }
    }

    public func delete(_ item: Item) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.delete(item) }
    }

    // MARK: Values

    public func set(
        _ value: some Encodable & Sendable, for key: ItemKey, encoding: ValueEncoding = .propertyList
    ) async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.set(value, for: key, encoding: encoding) }
    }

    public func set(
        _ value: some Encodable & Sendable, for name: String, encoding: ValueEncoding = .propertyList
    ) async throws(VaultError) {
        try await set(value, for: .value(name), encoding: encoding)
    }

    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for key: ItemKey, migrating older: ValueMigration<Value>...
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: key, older) }
    }

    public func value<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, for name: String, migrating older: ValueMigration<Value>...
    ) async throws(VaultError) -> Value? {
        try await VaultExecutor.run { () throws(VaultError) in try self.value(for: .value(name), older) }
    }

    @discardableResult
    public func removeValue(for key: ItemKey) async throws(VaultError) -> Bool {
        try await VaultExecutor.run { () throws(VaultError) in try self.removeValue(for: key) }
    }

    @discardableResult
    public func removeValue(for name: String) async throws(VaultError) -> Bool {
        try await removeValue(for: .value(name))
    }
}

extension OpenVault {
    public func lockedCount(matching query: Query) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in try self.lockedCount(matching: query) }
    }

    public func compact() async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.compact() }
    }

    public func verify(deep: Bool) async throws(VaultError) -> VaultStore.Verification {
        try await VaultExecutor.run { () throws(VaultError) in try self.verify(deep: deep) }
    }

    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) async throws(VaultError) -> UUID {
        try await VaultExecutor.run { () throws(VaultError) in
            try self.deviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
        }
    }
}
