// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
internal import VaultFormat
public import VaultStorage

/// An unlocked vault, in this process or in an agent: the verbs, item history, and operations on the whole file.
public protocol OpenVault: ItemStore, ItemHistory, DeviceIdentifying {
    /// The number of matching items that are unreadable because the vault is locked. With a query that leaves out items
    /// requiring user presence, such items count as well.
    func lockedCount(matching query: Query) throws(VaultError) -> Int

    /// Whether items that are readable only while unlocked are unavailable.
    var isLocked: Bool { get throws(VaultError) }

    /// The number of older versions kept per item.
    var historyLimit: Int { get throws(VaultError) }

    /// Sets the number of older versions kept per item: 0 to 1,000. Versions beyond the limit are removed.
    ///
    /// - Throws: `.parameter(.limit)`.
    func setHistoryLimit(_ limit: Int) throws(VaultError)

    /// How long deleted items are kept, in days; `nil` for as long as the history keeps versions.
    var deletedItemsLimit: Int? { get throws(VaultError) }

    /// Sets how many days deleted items are kept: 1 to 36,500; `nil` for as long as the history keeps versions.
    ///
    /// - Throws: `.parameter(.limit)`.
    func setDeletedItemsLimit(_ days: Int?) throws(VaultError)

    /// Removes the older versions of the matching items from the file, and matching deleted items.
    ///
    /// - Parameter onlyDeleted: leaves existing items alone.
    /// - Returns: the number of items whose versions were removed.
    func purgeHistory(matching queries: [Query], onlyDeleted: Bool) throws(VaultError) -> Int

    /// Rewrites the file without deleted or replaced data that no history keeps.
    func compact() throws(VaultError)

    /// Checks every byte of the file, and if `deep` opens every value.
    func verify(deep: Bool) throws(VaultError) -> Verification
}

/// An unlocked vault: the items of one file, usable from any number of threads.
///
/// Concurrent changes of several threads share one sync. Other processes may use the same file; every call sees their
/// earlier changes.
///
/// Size: the verbs are one line each over the engine, in a file for each topic.
public final class Vault: OpenVault {
    let core: VaultCore
    let viewer: Viewer
    var accessGroups: AccessGroups { viewer.groups }

    init(_ store: sending VaultStore, _ accessGroups: AccessGroups) {
        core = VaultCore(store)
        viewer = Viewer(accessGroups)
    }

    private init(_ core: VaultCore, _ viewer: Viewer) {
        self.core = core
        self.viewer = viewer
    }

    /// Creates a vault.
    ///
    /// - Parameters:
    ///   - path: of the new file. A missing directory is created with mode 0700.
    ///   - recoveryCode: opens the vault as well; see `RecoveryCode`.
    ///   - accessGroups: of the caller; by default the program's own.
    /// - Throws: `.storage(.alreadyExists)`, with the existing file untouched.
    public static func create(
        at path: FilePath, passphrase: Passphrase, cost: KeyDerivationCost = .moderate,
        recoveryCode: RecoveryCode? = nil,
        environment: VaultEnvironment = .system, accessGroups: AccessGroups = .ofProcess
    ) throws(VaultError) -> Vault {
        let also = recoveryCode.map { [SlotEntry(.recoveryCode($0), name: "recovery code")] } ?? []
        return try create(
            at: path, unlockedBy: .passphrase(passphrase), cost: cost, also: also, environment: environment,
            accessGroups: accessGroups)
    }

    /// Creates a vault that a key file opens, for machines where no person types a passphrase.
    ///
    /// - Parameter path: of the new file. A missing directory is created with mode 0700.
    /// - Throws: `.storage(.alreadyExists)`, with the existing file untouched.
    public static func create(
        at path: FilePath, keyFile: KeyFile, environment: VaultEnvironment = .system,
        accessGroups: AccessGroups = .ofProcess
    ) throws(VaultError) -> Vault {
        try create(
            at: path, unlockedBy: .keyFile(keyFile), cost: .moderate, environment: environment,
            accessGroups: accessGroups)
    }

    private static func create(
        at path: FilePath, unlockedBy secret: UnlockingSecret, cost: KeyDerivationCost, also entries: [SlotEntry] = [],
        environment: VaultEnvironment, accessGroups: AccessGroups
    ) throws(VaultError) -> Vault {
        do throws(StorageError) {
            return Vault(
                try VaultStore.create(
                    at: path, unlockedBy: secret, cost: cost, environment: environment, also: entries), accessGroups)
        } catch { throw VaultError(error) }
    }

    /// Creates an empty, unlocked vault in memory, released with its last reference: for the tests of applications.
    ///
    /// The engine is the same, on private files in memory. The passphrase is random and not disclosed.
    public static func inMemory(accessGroups: AccessGroups = .ofProcess) throws(VaultError) -> Vault {
        let state: FilePath = "/state"
        let environment = VaultEnvironment(
            fileSystem: MemoryFileSystem(), clock: SystemClock(), random: SystemRandom(), stateDirectory: state)
        let digits = environment.random.bytes(32).flatMap { [0x41 + $0 >> 4, 0x41 + $0 & 15] }
        let passphrase: Passphrase
        do throws(CryptoError) { passphrase = try Passphrase(SecretBytes(copying: digits.span)) } catch {
            throw .storage(StorageError(error))
        }
        return try create(
            at: "/vault", passphrase: passphrase, cost: .weakest, environment: environment, accessGroups: accessGroups)
    }

    /// Opens a vault.
    ///
    /// - Parameter accessGroups: of the caller; by default the program's own, as with `openDefault` and agents. Items
    ///   of the command are in `default`.
    public static func open(
        at path: FilePath, unlockingWith passphrase: Passphrase, environment: VaultEnvironment = .system,
        accessGroups: AccessGroups = .ofProcess
    ) throws(VaultError) -> Vault {
        try LockedVault(at: path, environment: environment).unlock(with: passphrase, accessGroups: accessGroups)
    }

    /// The same vault for a caller with these access groups.
    public func withAccessGroups(_ groups: AccessGroups) -> Vault {
        withViewer(Viewer(groups, isAttended: viewer.isAttended))
    }

    func withViewer(_ viewer: Viewer) -> Vault { Vault(core, viewer) }

    // MARK: The verbs

    /// Adds an item, durable on return.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem` if an item with the same primary key exists; nothing changes.
    @discardableResult
    public func add(_ item: Item) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.add(item, self.accessGroups, for: self, in: &session)
        }
    }

    /// Adds an item, or gives these attributes and this secret to the item with the same primary key.
    @discardableResult
    public func set(_ item: Item) throws(VaultError) -> Item {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.set(item, self.viewer, for: self, in: &session)
        }
    }

    /// Adds an item, or changes the one that a program stores again, in one step.
    ///
    /// - Parameter attributes: those that the program has given; `nil` for a new item.
    package func replace(_ item: Item, sameAs attributes: [String: String]?) throws(VaultError) -> ReplacedItem {
        try transaction { (transaction: inout Transaction) throws(VaultError) in
            try transaction.replace(item, sameAs: attributes.map { ProgramAttributes(given: $0) })
        }
    }

    /// Finds items, in the order of their creation.
    ///
    /// - Throws: `.itemNotFound` rather than returning an empty array.
    public func copyMatching(_ query: Query) throws(VaultError) -> [Item] {
        try core.read { engine throws(VaultError) in try engine.copyMatching(query, self.viewer, for: self) }
    }

    /// Changes all matching items or none.
    ///
    /// - Returns: the number of changed items: an item that was so already does not count, unless
    ///   ``ItemChanges/ifUnchanged`` says otherwise.
    /// - Throws: `.itemNotFound`; `.duplicateItem` if two items would have one primary key.
    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.update(matching: query, with: changes, self.viewer, in: &session)
        }
    }

    /// Deletes all matching items. The history keeps their last versions: see ``historyLimit``.
    ///
    /// - Returns: the number of deleted items, 1 or more.
    /// - Throws: `.itemNotFound`.
    @discardableResult
    public func delete(matching query: Query) throws(VaultError) -> Int {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.delete(matching: query, self.accessGroups, in: &session)
        }
    }

    /// Deletes all matching items, if any, and adds or sets all of the items, in one transaction: all or nothing.
    ///
    /// - Throws: `.duplicateItem` for an item that exists, unless `replacing`.
    public func store(_ items: [Item], replacing: Bool, deleting queries: [Query]) throws(VaultError) {
        try transaction { (transaction: inout Transaction) throws(VaultError) in
            for query in queries { try transaction.deleteAll(query) }
            for item in items { _ = replacing ? try transaction.set(item) : try transaction.add(item) }
        }
    }

    /// The number of matching items that are unreadable because the vault is locked. With a query that leaves out items
    /// requiring user presence, such items count as well.
    public func lockedCount(matching query: Query) throws(VaultError) -> Int {
        try core.read { engine throws(VaultError) in try engine.lockedCount(matching: query, self.viewer) }
    }

    /// Opens the secret of an item that was found, or a field of it.
    ///
    /// - Returns: `nil` if the item has no secret or no such field.
    /// - Throws: `.itemChanged` if the secret was replaced since, `.itemNotFound` if the item was deleted, `.locked`,
    ///   `.presenceRequired`, `.storage(.damaged)`.
    public func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret? {
        try core.lookAt { engine throws(VaultError) in
            try engine.secret(
                of: record.itemID, valueVersion: record.valueVersion, field: field, for: self.viewer)
        }
    }

    func secret(ofVisible id: ItemID, valueVersion: UInt64, field: String?) throws(VaultError) -> Secret? {
        try core.read { engine throws(VaultError) in
            guard engine.isVisible(id, to: self.accessGroups) else { throw .itemNotFound }
            return try engine.secret(of: id, valueVersion: valueVersion, field: field, for: self.viewer)
        }
    }

    /// Runs several changes as one: all of them are durable when this returns, or none remains if it throws.
    @discardableResult
    public func transaction<R>(_ body: (inout Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try self.transact(engine, &session, body)
        }
    }

    /// As ``transaction(_:)-(_)``, for a body that throws errors of the caller's own type, which can also hold a
    /// `VaultError`. Any error rolls everything back.
    @discardableResult
    public func transaction<R, E: TransactionError>(_ body: (inout Transaction) throws(E) -> R) throws(E) -> R {
        var own: E?
        do throws(VaultError) {
            return try core.change { (engine, session: inout WriteSession) throws(VaultError) in
                try self.transact(engine, &session) { (transaction: inout Transaction) throws(VaultError) in
                    do throws(E) { return try body(&transaction) } catch {
                        own = error
                        throw .itemChanged
                    }
                }
            }
        } catch {
            // A failed commit takes precedence: the state that the body saw may have been rolled back with it.
            throw error == .itemChanged ? own ?? E(error) : E(error)
        }
    }

    /// As ``transaction(_:)-(_)``, for a body that throws errors of any type.
    @_disfavoredOverload
    @discardableResult
    public func transaction<R>(_ body: (inout Transaction) throws -> R) throws -> R {
        do throws(AnyTransactionError) {
            return try transaction { (transaction: inout Transaction) throws(AnyTransactionError) in
                do { return try body(&transaction) } catch { throw AnyTransactionError(own: error) }
            }
        } catch { throw error.own }
    }

    func transact<R>(
        _ engine: ItemEngine, _ session: inout WriteSession,
        _ body: (inout Transaction) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        var transaction = Transaction(engine, viewer, self, session)
        do throws(VaultError) {
            let result = try body(&transaction)
            session = transaction.end(of: engine)
            return result
        } catch {
            session = transaction.end(of: engine)
            throw error
        }
    }

    /// As ``copyMatching(_:)``, but returns `nil` instead of waiting for another thread.
    package func copyMatchingAtOnce(_ query: Query) throws(VaultError) -> [Item]? {
        try core.readAtOnce { engine throws(VaultError) in try engine.copyMatching(query, self.viewer, for: self)
        }
    }

    // MARK: The file

    /// Rewrites the file without deleted or replaced data that no history keeps, while other threads continue to read
    /// and write.
    public func compact() throws(VaultError) { try core.compact() }

    /// Checks every byte of the file, and if `deep` opens every value.
    public func verify(deep: Bool) throws(VaultError) -> Verification {
        try core.manage { store throws(StorageError) in try store.verify(deep: deep) }
    }

    /// The vault's permanent identifier, 16 bytes.
    package var vaultID: [UInt8] { core.vaultID }

    /// The key that seals the lines of an audit log of this vault.
    package func auditSeal() throws(VaultError) -> AuditSeal {
        try core.manage { store throws(StorageError) in try store.auditSeal() }
    }

    /// The number of bytes after the last commit that this vault has cut off: an unfinished commit of a process that
    /// ended.
    public var discardedBytes: Int { core.discardedBytes }

    /// Wipes the vault key, which makes items that are readable only while unlocked unavailable.
    public func lock() throws(VaultError) { try core.lock() }

    /// Derives the keys again that `lock()` wiped. Other threads continue meanwhile.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`; `.storage(.rekeyed)` if the vault has a new vault key: open it again.
    public func unlock(with secret: UnlockingSecret) throws(VaultError) { try core.unlock(with: secret) { true } }

    /// - Parameter isWanted: called once the keys are derived, while the vault is held; must not lock or unlock it.
    package func unlock(with secret: UnlockingSecret, if isWanted: () -> Bool) throws(VaultError) {
        try core.unlock(with: secret, if: isWanted)
    }

    /// Whether the vault key was wiped.
    public var isLocked: Bool { core.isLocked }

    /// Names the last commit in both marks, and removes replaced secrets from the file. Call this when the vault is no
    /// longer needed; releasing the last reference does the same. A failure here does not affect acknowledged changes.
    /// Later calls throw `.closed`, including those of ``withAccessGroups(_:)``.
    public func close() { core.close() }

    func closeAtOnce() { core.closeAtOnce() }
}
