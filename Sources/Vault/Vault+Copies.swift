// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultFormat
public import VaultStorage

// Copies of a vault: backups, and salvage of a damaged file.

extension Vault {
    /// Writes the current contents as another vault: whole or not at all.
    ///
    /// The copy has what the history keeps, too: older versions of items, and deleted items, with their secrets. The
    /// secrets of the copy, as of the vault, open all of it.
    ///
    /// - Parameters:
    ///   - entries: the key slots of the copy; `nil` for those of this vault.
    ///   - replacing: whether a file at the path may be replaced.
    ///   - withHistory: `false` leaves out everything deleted or replaced, for a copy that goes to another person.
    ///     Unresolved conflicts stay.
    /// - Returns: the number of items in the copy.
    /// - Throws: `.storage(.alreadyExists)`, with the existing file untouched.
    @discardableResult
    public func backUp(
        to path: FilePath, entries: [SlotEntry]? = nil, replacing: Bool = false, withHistory: Bool = true
    ) throws(VaultError) -> Int {
        try core.manage { store throws(StorageError) in
            try store.backUp(to: path, entries: entries, replacing: replacing, withHistory: withHistory)
        }
    }
}

extension LockedVault {
    /// The vault's key slots.
    public var slots: [KeySlot] { store.header.slots }

    /// The secret that this machine keeps for a slot of the vault: in a chip, with systemd, or as
    /// ``Vault/Vault/defaultKeyFile``; `nil` if there is none. A security key is not asked, since it needs a person.
    ///
    /// - Throws: `.storage(.machineSecret)` if the machine cannot provide it: the other slots still work.
    public func machineSecret(with credential: SystemCredential = SystemCredential()) throws(VaultError)
        -> UnlockingSecret?
    {
        if let secret = try stored(store.machineSecret(with: credential)) { return secret }
        guard Vault.hasDefaultKeyFile, slots.contains(where: { $0.kind == .keyFile }),
            let keyFile = try UnlockingSecret.defaultKeyFile()
        else { return nil }
        // The key file may belong to a vault that was here before.
        do throws(StorageError) { _ = try store.unlock(with: .keyFile(keyFile)) } catch {
            guard error == .wrongPassphrase else { throw VaultError(error) }
            return nil
        }
        return .keyFile(keyFile)
    }

    /// The credentials with which a security key computes the secrets of slots.
    ///
    /// - Throws: `.storage(.damaged(.header))`, `.storage(.unsupported)`.
    package func securityKeyCredentials() throws(VaultError) -> [SecurityKeyCredential] {
        try stored(store.securityKeyCredentials())
    }

    /// Restores this backup to a path, replacing a vault that is there: the backup and every value of it are opened
    /// before anything is replaced.
    ///
    /// - Parameters:
    ///   - secret: opens the backup, and then the vault.
    ///   - path: of the vault. A missing directory is created with mode 0700.
    ///   - replacing: whether a file at the path may be replaced.
    ///   - accepts: called if the backup lacks some of the state that this device has seen of the vault at the path.
    ///   - report: called with the progress, from 0 to 1.
    /// - Returns: the number of items in the backup.
    /// - Throws: `.storage(.alreadyExists)`, `.storage(.rolledBack)`, `.storage(.damaged)`, with the existing file in
    ///   place.
    @discardableResult
    public func restore(
        with secret: UnlockingSecret, to path: FilePath, replacing: Bool = false,
        accepts: (MissingState) -> Bool = { _ in false },
        report: (Double) -> Void = { _ in }
    ) throws(VaultError) -> Int {
        let backup = try stored(store.openAsBackup(with: secret))
        return try stored(
            VaultStore.restore(
                backup, to: path, replacing: replacing, environment: store.environment, accepts: accepts,
                report: report))
    }
}

/// A vault that cannot be opened as it is.
public struct DamagedVault: Sendable {
    private let store: LockedStore

    /// - Throws: `.storage(.damaged)` if not even the header is readable.
    public init(at path: FilePath, environment: VaultEnvironment = .system) throws(VaultError) {
        do throws(StorageError) { store = try LockedStore(path, environment: environment, isDamaged: true) } catch {
            throw VaultError(error)
        }
    }

    /// The key slots of the file, in its order: read without a key, hence not authenticated.
    public var slots: [KeySlot] { store.header.slots }

    /// As ``LockedVault/machineSecret(with:)``.
    public func machineSecret(with credential: SystemCredential = SystemCredential()) throws(VaultError)
        -> UnlockingSecret?
    {
        try stored(store.machineSecret(with: credential))
    }

    /// As ``LockedVault/securityKeyCredentials()``.
    package func securityKeyCredentials() throws(VaultError) -> [SecurityKeyCredential] {
        try stored(store.securityKeyCredentials())
    }

    /// The result of a salvage, with the items that are incomplete.
    public struct Result: Sendable {
        /// The numbers of read and lost records, and which records are damaged.
        public let salvage: Salvage
        /// Items without their newest value, with the loss of each.
        public let damaged: [(item: Item, loss: Salvage.Loss)]
    }

    /// Writes all data that can be authenticated to a new vault.
    ///
    /// - Parameter accepts: called if the rest lacks some of the state that this device has seen of the vault.
    /// - Throws: `.storage(.alreadyExists)`, `.storage(.wrongPassphrase)`, `.storage(.rolledBack)`.
    public func salvage(
        with secret: UnlockingSecret, to path: FilePath, accepts: (MissingState) -> Bool = { _ in false },
        report: (Double) -> Void = { _ in }
    ) throws(VaultError) -> Result {
        let salvage = try stored(
            store.salvage(with: try store.unlock(with: secret), to: path, accepts: accepts, report: report))
        let source = NoSecrets()
        return Result(salvage: salvage, damaged: salvage.damaged.map { (Item($0.operation, source), $0.loss) })
    }
}

/// The source of the items of a report, which have no store to open secrets.
private final class NoSecrets: SecretSource {
    func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret? { throw .unimplemented }
}
