// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials

/// The verbs inside a transaction: each sees what those before it did. Once the transaction has ended they throw `.outsideTransaction`.
public struct Transaction {
    private let groups: AccessGroups
    private let scope: TransactionScope

    init(_ scope: TransactionScope, _ groups: AccessGroups) {
        self.groups = groups
        self.scope = scope
    }

    @discardableResult
    public func add(_ item: Item) throws(VaultError) -> Item {
        try step { engine throws(VaultError) in try engine.add(item, groups, for: scope) }
    }

    @discardableResult
    public func set(_ item: Item) throws(VaultError) -> Item {
        try step { engine throws(VaultError) in try engine.set(item, groups, for: scope) }
    }

    /// Finds items, those that this transaction added among them.
    public func copyMatching(_ query: Query) throws(VaultError) -> [Item] {
        try scope.current().copyMatching(query, groups, for: scope)
    }

    /// Which items match, readable or not.
    package func identifiers(matching query: Query) throws(VaultError) -> [UUID] {
        try scope.current().identifiers(matching: query, groups)
    }

    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try step { engine throws(VaultError) in try engine.update(matching: query, with: changes, groups) }
    }

    @discardableResult
    public func delete(matching query: Query) throws(VaultError) -> Int {
        try step { engine throws(VaultError) in try engine.delete(matching: query, groups) }
    }

    private func step<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        let engine = try scope.current()
        return try engine.store.step { () throws(VaultError) in try body(engine) }
    }
}

/// The store of items that were found inside a transaction: while it runs, their secrets are read without taking the mutex a second time.
final class TransactionScope: ItemStore, @unchecked Sendable {
    private let vault: Vault
    /// Nil once the transaction has ended. Set by the thread that runs the transaction, which is the one that reads it meanwhile.
    private var engine: ItemEngine?

    init(_ engine: ItemEngine, _ vault: Vault) {
        self.engine = engine
        self.vault = vault
    }

    func end() { engine = nil }

    func current() throws(VaultError) -> ItemEngine {
        guard let engine else { throw .outsideTransaction }
        return engine
    }

    func secret(of record: ItemRecord) throws(VaultError) -> Secret? {
        guard let engine else { return try vault.secret(of: record) }
        return try engine.secret(of: record.itemID, valueVersion: record.valueVersion)
    }

    func add(_ item: Item) throws(VaultError) -> Item { try vault.add(item) }

    func set(_ item: Item) throws(VaultError) -> Item { try vault.set(item) }

    func copyMatching(_ query: Query) throws(VaultError) -> [Item] { try vault.copyMatching(query) }

    func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try vault.update(matching: query, with: changes)
    }

    func delete(matching query: Query) throws(VaultError) -> Int { try vault.delete(matching: query) }

    func store(_ items: [Item], replacing: Bool) throws(VaultError) { try vault.store(items, replacing: replacing) }
}
