// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
public import SystemPackage
public import VaultCrypto
internal import VaultFormat
public import VaultStorage

// Async verbs of a vault beyond those of every store. Changes of many tasks share one sync, and no task blocks a
// thread.

extension Vault {
    /// Adds an item. Concurrent changes of many tasks share one sync of the disk.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem` if an item with the same primary key exists; `.cancelled`. Nothing changes.
    @discardableResult
    public func add(_ item: Item) async throws(VaultError) -> Item {
        try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.add(item, self.accessGroups, for: self, in: &session)
        }
    }

    /// Adds an item, or gives these attributes and this secret to the item with the same primary key.
    ///
    /// - Throws: `.cancelled` before anything was written.
    @discardableResult
    public func set(_ item: Item) async throws(VaultError) -> Item {
        try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.set(item, self.viewer, for: self, in: &session)
        }
    }

    /// Changes all matching items or none.
    ///
    /// - Returns: as ``ItemStore/update(matching:with:)``.
    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) async throws(VaultError) -> Int {
        try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.update(matching: query, with: changes, self.viewer, in: &session)
        }
    }

    /// Deletes all matching items.
    ///
    /// - Returns: the number of deleted items, 1 or more.
    @discardableResult
    public func delete(matching query: Query) async throws(VaultError) -> Int {
        try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.delete(matching: query, self.accessGroups, in: &session)
        }
    }

    /// Runs several changes as one, on one of the vault's own threads; see ``transaction(_:)-(_)``.
    @discardableResult
    public func transaction<R: Sendable>(
        _ body: @escaping @Sendable (inout Transaction) throws(VaultError) -> R
    ) async throws(VaultError) -> R {
        try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try self.transact(engine, &session, body)
        }
    }

    /// As the other `transaction`, for a body that throws errors of the caller's own type.
    @discardableResult
    public func transaction<R: Sendable, E: TransactionError>(
        _ body: @escaping @Sendable (inout Transaction) throws(E) -> R
    ) async throws(E) -> R {
        let own = Mutex<E?>(nil)
        do throws(VaultError) {
            return try await core.change { (engine, session: inout WriteSession) throws(VaultError) in
                try self.transact(engine, &session) { (transaction: inout Transaction) throws(VaultError) in
                    do throws(E) { return try body(&transaction) } catch {
                        own.withLock { $0 = error }
                        throw .itemChanged
                    }
                }
            }
        } catch { throw error == .itemChanged ? own.withLock { $0 } ?? E(error) : E(error) }
    }

    /// As the other `transaction`, for a body that throws errors of any type.
    @_disfavoredOverload
    @discardableResult
    public func transaction<R: Sendable>(
        _ body: @escaping @Sendable (inout Transaction) throws -> R
    ) async throws -> R {
        do throws(AnyTransactionError) {
            return try await transaction { (transaction: inout Transaction) throws(AnyTransactionError) in
                do { return try body(&transaction) } catch { throw AnyTransactionError(own: error) }
            }
        } catch { throw error.own }
    }

    /// As the synchronous ``backUp(to:entries:replacing:withHistory:)``, without blocking the task's thread.
    public func backUp(
        to path: FilePath, entries: [SlotEntry]? = nil, replacing: Bool = false, withHistory: Bool = true
    ) async throws(VaultError) -> Int {
        try await VaultExecutor.run { () throws(VaultError) in
            try self.backUp(to: path, entries: entries, replacing: replacing, withHistory: withHistory)
        }
    }

    /// Locks the vault. The keys are wiped on return.
    public func lock() async throws(VaultError) {
        try await VaultExecutor.run { () throws(VaultError) in try self.lock() }
    }

    /// Unlocks the vault again. At most two derivations of passphrases run at once in a process, each with the memory
    /// of its slot.
    public func unlock(with secret: UnlockingSecret) async throws(VaultError) {
        try await VaultExecutor.run(on: .derivations) { () throws(VaultError) in try self.unlock(with: secret) }
    }

    /// Opens a vault; see ``LockedVault`` for the errors.
    public static func open(
        at path: FilePath, unlockingWith passphrase: Passphrase, environment: VaultEnvironment = .system,
        accessGroups: AccessGroups = .ofProcess
    ) async throws(VaultError) -> Vault {
        try await VaultExecutor.run(on: .derivations) { () throws(VaultError) in
            try open(at: path, unlockingWith: passphrase, environment: environment, accessGroups: accessGroups)
        }
    }

    /// Creates an empty, unlocked vault.
    ///
    /// - Throws: `.storage(.alreadyExists)`.
    public static func create(
        at path: FilePath, passphrase: Passphrase, cost: KeyDerivationCost = .moderate,
        recoveryCode: RecoveryCode? = nil,
        environment: VaultEnvironment = .system, accessGroups: AccessGroups = .ofProcess
    ) async throws(VaultError) -> Vault {
        try await VaultExecutor.run(on: .derivations) { () throws(VaultError) in
            try create(
                at: path, passphrase: passphrase, cost: cost, recoveryCode: recoveryCode, environment: environment,
                accessGroups: accessGroups)
        }
    }

    /// Opens the vault at ``defaultPath`` with the secret given to this process.
    ///
    /// - Throws: `.locked` if there is no secret to unlock it with; `.storage(.noVault)`; `.storage(.wrongPassphrase)`.
    public static func openDefault(
        creating creation: Creation = .no, accessGroups: AccessGroups? = nil, environment: VaultEnvironment = .system
    ) async throws(VaultError) -> Vault {
        try await VaultExecutor.run(on: .derivations) { () throws(VaultError) in
            try openDefault(creating: creation, accessGroups: accessGroups, environment: environment)
        }
    }
}

extension LockedVault {
    /// Unlocks the vault. At most two derivations of passphrases run at once in a process.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`; `.cancelled`.
    public func unlock(
        with secret: UnlockingSecret, accessGroups: AccessGroups = .ofProcess
    ) async throws(VaultError) -> Vault {
        try await VaultExecutor.run(on: .derivations) { () throws(VaultError) in
            try self.unlock(with: secret, accessGroups: accessGroups)
        }
    }
}
