// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat
public import VaultStorage

// Ways to unlock, and the file as a whole.

extension Vault {
    // MARK: Key slots

    /// The ways to unlock the vault, as the file has them now.
    public func slots() throws(VaultError) -> [KeySlot] { try core.read { $0.store.header.slots } }

    /// The slot that opened the vault. Nil for one that was just made, or whose slot is gone.
    public func openedSlot() throws(VaultError) -> KeySlot? {
        try core.read { engine in engine.store.header.slots.first { $0.slotID == engine.store.openedBy } }
    }

    /// Adds a way to unlock. Every slot opens the whole vault.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 bytes that no other slot has; nil for one that says what it is.
    ///   - cost: of a guess at a passphrase.
    /// - Throws: `.storage(.slot)` when there are eight already, or the name is taken; `.locked`.
    @discardableResult
    public func addSlot(
        for secret: UnlockingSecret, name: String? = nil, cost: KeyDerivationCost = .moderate
    ) throws(VaultError) -> KeySlot {
        try core.manage { store throws(StorageError) in try store.addSlot(for: secret, name: name, cost: cost) }
    }

    /// Makes a recovery code and adds a slot for it. The code is not stored anywhere: show it now, or never.
    public func addRecoveryCode(name: String? = nil) throws(VaultError) -> RecoveryCode {
        let code: RecoveryCode
        do throws(CryptoError) { code = try RecoveryCode(SystemRandom()) } catch { throw .storage(StorageError(error)) }
        try addSlot(for: .recoveryCode(code), name: name)
        return code
    }

    /// Adds a slot that this machine opens by itself, with a secret that its TPM2 chip or systemd keeps.
    ///
    /// - Throws: `.storage(.machineSecret)`.
    @discardableResult
    public func addMachineSlot(
        _ provider: KeySlot.Provider, with credential: SystemCredential = SystemCredential(), name: String? = nil
    ) throws(VaultError) -> KeySlot {
        try core.manage { store throws(StorageError) in try store.addMachineSlot(provider, with: credential, name: name)
        }
    }

    /// Takes a way to unlock away. With the last slot for a passphrase go the items that are bound to there being one.
    ///
    /// - Parameter slotID: the 16 bytes of ``KeySlot/slotID``.
    /// - Returns: how many items went.
    /// - Throws: `.storage(.slot(.lastForPeople))` when no person could open the vault any more.
    @discardableResult
    public func removeSlot(_ slotID: [UInt8]) throws(VaultError) -> Int {
        try core.manage { store throws(StorageError) in try store.removeSlot(slotID) }
    }

    /// Puts another secret of the same kind into the place of a slot's own.
    ///
    /// - Parameter cost: nil keeps what a guess costs, or raises it to the least that a new vault may have.
    public func replaceSlot(
        _ slotID: [UInt8], with secret: UnlockingSecret, cost: KeyDerivationCost? = nil
    ) throws(VaultError) {
        try core.manage { store throws(StorageError) in _ = try store.replaceSlot(slotID, with: secret, cost: cost) }
    }

    /// Replaces the passphrase. No value is opened, and the items stay sealed as they are.
    ///
    /// A copy of the file that was made before still opens with the old passphrase.
    ///
    /// - Parameter cost: nil keeps what a guess costs, or raises it to the least that a new vault may have.
    public func changePassphrase(
        from current: Passphrase, to new: Passphrase, cost: KeyDerivationCost? = nil
    ) throws(VaultError) {
        try changeSecret(from: .passphrase(current), to: .passphrase(new), cost: cost)
    }

    /// As ``changePassphrase(from:to:cost:)``, for any secret and another of its kind.
    public func changeSecret(
        from current: UnlockingSecret, to new: UnlockingSecret, cost: KeyDerivationCost? = nil
    ) throws(VaultError) {
        try core.manage { store throws(StorageError) in try store.changeSecret(from: current, to: new, cost: cost) }
    }

    /// Draws a new vault key and seals everything anew under it: what to do when a secret or a copy of the vault may
    /// have leaked.
    ///
    /// Copies from before still open with the old secrets, and show what was in them.
    ///
    /// - Parameters:
    ///   - entries: who may open the vault from now on; every other slot goes.
    ///   - report: hears how much is done, from 0 to 1.
    /// - Throws: `.storage(.slot(.lastForPeople))`; `.storage(.damaged)` for a value that does not open, with nothing
    ///   changed.
    @discardableResult
    public func rekey(_ entries: [SlotEntry], report: (Double) -> Void = { _ in }) throws(VaultError)
        -> VaultStore.Rekeyed
    {
        try core.manage { store throws(StorageError) in try store.rekey(entries, report: report) }
    }

    // MARK: Copies

    /// Writes what the vault holds now as another vault: whole or not at all, without what was deleted or replaced.
    ///
    /// - Parameters:
    ///   - entries: who may open the copy; nil for whoever may open this one.
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

    /// What this machine keeps for the vault, which a slot of it opens with. Nil: it has no such slot.
    ///
    /// - Throws: `.storage(.machineSecret)` when the machine does not give it: the other slots work all the same.
    public func machineSecret(with credential: SystemCredential = SystemCredential()) throws(VaultError)
        -> UnlockingSecret?
    {
        try stored { () throws(StorageError) in try store.machineSecret(with: credential) }
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
        try stored { () throws(StorageError) in
            let backup = try store.openAsBackup(with: secret)
            return try VaultStore.restore(
                backup, to: path, replacing: replacing, environment: store.environment, accepts: accepts, report: report
            )
        }
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
        try stored { () throws(StorageError) in try store.machineSecret(with: credential) }
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
        let salvage = try stored { () throws(StorageError) in
            try store.salvage(with: try store.unlock(with: secret), to: path, accepts: accepts, report: report)
        }
        let source = NoSecrets()
        return Result(salvage: salvage, damaged: salvage.damaged.map { (Item($0.operation, source), $0.loss) })
    }
}

/// Of the items of a report, which lie nowhere that could be asked.
private final class NoSecrets: SecretSource {
    func secret(of record: ItemRecord) throws(VaultError) -> Secret? { throw .unimplemented }
}
