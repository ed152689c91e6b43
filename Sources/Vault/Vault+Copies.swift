// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultFormat
public import VaultStorage

// Copies of a vault: backups, and what is saved of a damaged file.

extension Vault {
    /// Writes what the vault holds now as another vault: whole or not at all, without what was deleted or replaced.
    ///
    /// - Parameters:
    ///   - entries: who may open the copy; nil for all who may open this one.
    ///   - replacing: whether a file at the path may be replaced.
    /// - Returns: how many items it holds.
    /// - Throws: `.storage(.alreadyExists)`, with what is there untouched.
    @discardableResult
    public func backUp(to path: FilePath, entries: [SlotEntry]? = nil, replacing: Bool = false) throws(VaultError)
        -> Int
    {
        try core.manage { store throws(StorageError) in
            try store.backUp(to: path, entries: entries, replacing: replacing)
        }
    }
}

extension LockedVault {
    /// The ways to unlock it.
    public var slots: [KeySlot] { store.header.slots }

    /// What this machine keeps for the vault, which a slot of it opens with: in a chip, with systemd, or as
    /// ``Vault/Vault/defaultKeyFile``. Nil: nothing of it.
    ///
    /// - Throws: `.storage(.machineSecret)` when the machine does not give it: the other slots work all the same.
    public func machineSecret(with credential: SystemCredential = SystemCredential()) throws(VaultError)
        -> UnlockingSecret?
    {
        if let secret = try stored(store.machineSecret(with: credential)) { return secret }
        guard Vault.hasDefaultKeyFile, slots.contains(where: { $0.kind == .keyFile }),
            let keyFile = try UnlockingSecret.defaultKeyFile()
        else { return nil }
        // It may be that of a vault that was here before.
        do throws(StorageError) { _ = try store.unlock(with: .keyFile(keyFile)) } catch {
            guard error == .wrongPassphrase else { throw VaultError(error) }
            return nil
        }
        return .keyFile(keyFile)
    }

    /// Puts this backup into the place of a vault, or where there is none: it is opened, and every value of it, before
    /// anything is replaced.
    ///
    /// - Parameters:
    ///   - secret: opens the backup, and then the vault.
    ///   - path: of the vault. Its directory is made, mode 0700, when it does not exist.
    ///   - replacing: whether a file at the path may be replaced.
    ///   - accepts: asked when the backup has not all that this device has seen of the vault at the path.
    ///   - report: hears how much is done, from 0 to 1.
    /// - Returns: how many items it holds.
    /// - Throws: `.storage(.alreadyExists)`, `.storage(.rolledBack)`, `.storage(.damaged)`, with what was there in
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

    /// - Throws: `.storage(.damaged)` when not even the header makes sense.
    public init(at path: FilePath, environment: VaultEnvironment = .system) throws(VaultError) {
        do throws(StorageError) { store = try LockedStore(path, environment: environment, isDamaged: true) } catch {
            throw VaultError(error)
        }
    }

    public var slots: [KeySlot] { store.header.slots }

    /// As ``LockedVault/machineSecret(with:)``.
    public func machineSecret(with credential: SystemCredential = SystemCredential()) throws(VaultError)
        -> UnlockingSecret?
    {
        try stored(store.machineSecret(with: credential))
    }

    /// What came of it, and the items that are not whole.
    public struct Result: Sendable {
        public let salvage: Salvage
        /// Items without their newest value, with what became of it.
        public let damaged: [(item: Item, loss: Salvage.Loss)]
    }

    /// Writes what can be authenticated to a new vault.
    ///
    /// - Parameter accepts: asked when what is left has not all that this device has seen of the vault.
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

/// Of the items of a report, which lie nowhere that could be asked.
private final class NoSecrets: SecretSource {
    func secret(of record: ItemRecord, field: String?) throws(VaultError) -> Secret? { throw .unimplemented }
}
