// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat
public import VaultStorage

// Ways to unlock a vault.

extension Vault {
    /// The ways to unlock the vault, as the file has them now.
    public func slots() throws(VaultError) -> [KeySlot] { try core.read { $0.records.header.slots } }

    /// The slot that opened the vault. Nil for one that was just made, or whose slot is gone.
    public func openedSlot() throws(VaultError) -> KeySlot? {
        try core.read { engine in engine.records.header.slots.first { $0.slotID == engine.records.openedBy } }
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
    /// - Parameter slotID: the 16 bytes of `KeySlot.slotID`.
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
}
