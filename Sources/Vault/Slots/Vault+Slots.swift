// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat
public import VaultStorage

// Ways to unlock a vault.

extension Vault {
    /// The vault's key slots, as currently in the file.
    public func slots() throws(VaultError) -> [KeySlot] { try core.read { $0.records.header.slots } }

    /// The slot that opened the vault; `nil` for a vault that was just created, or if the slot was removed.
    public func openedSlot() throws(VaultError) -> KeySlot? { try openedHeldSlot()?.slot }

    /// As ``openedSlot()``, with the slot's blob.
    package func openedHeldSlot() throws(VaultError) -> HeldSlot? {
        try core.read { engine in
            engine.records.header.heldSlots.first { $0.slot.slotID == engine.records.openedBy }
        }
    }

    /// Adds a way to unlock. Every slot opens the whole vault.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 bytes, unique among the slots; `nil` for a descriptive default.
    ///   - cost: of a guess at a passphrase.
    /// - Throws: `.storage(.slot)` if there are eight slots already or the name is taken; `.locked`.
    @discardableResult
    public func addSlot(
        for secret: UnlockingSecret, name: String? = nil, cost: KeyDerivationCost = .moderate
    ) throws(VaultError) -> KeySlot {
        try core.manage { store throws(StorageError) in try store.addSlot(for: secret, name: name, cost: cost) }
    }

    /// Makes a recovery code and adds a slot for it. The code is not stored anywhere and can be shown only now.
    public func addRecoveryCode(name: String? = nil) throws(VaultError) -> RecoveryCode {
        let code: RecoveryCode
        do throws(CryptoError) { code = try RecoveryCode(SystemRandom()) } catch { throw .storage(StorageError(error)) }
        try addSlot(for: .recoveryCode(code), name: name)
        return code
    }

    /// Adds a slot that this machine opens by itself, with a secret kept by its TPM2 chip or by systemd.
    ///
    /// - Throws: `.storage(.machineSecret)`.
    @discardableResult
    public func addMachineSlot(
        _ provider: KeySlot.Provider, with credential: SystemCredential = SystemCredential(), name: String? = nil
    ) throws(VaultError) -> KeySlot {
        try core.manage { store throws(StorageError) in try store.addMachineSlot(provider, with: credential, name: name)
        }
    }

    /// Checks that a slot can be added, before a person is asked for its secret.
    ///
    /// - Parameters:
    ///   - name: as in ``addSlot(for:name:cost:)``.
    ///   - blobBytes: the least length of what the header keeps for the slot.
    /// - Throws: `.storage(.slot)`.
    package func checkRoom(forSlot name: String?, blobBytes: Int) throws(VaultError) {
        try core.manage { store throws(StorageError) in try store.checkRoom(for: name, blobBytes: blobBytes) }
    }

    /// Adds a slot that a FIDO2 security key opens.
    ///
    /// - Parameter secret: the 32 bytes that the key computes for the credential.
    /// - Throws: `.storage(.slot)`; `.locked`.
    package func addSecurityKeySlot(
        for secret: Secret, keptBy credential: SecurityKeyCredential, name: String? = nil
    ) throws(VaultError) {
        try core.manage { store throws(StorageError) in
            _ = try store.addSlot(for: .external(secret), name: name, provider: .fido2, blob: credential.encoded)
        }
    }

    /// Removes a way to unlock. Removing the last passphrase slot also removes the items that require a passphrase to
    /// be set.
    ///
    /// - Parameter slotID: the 16 bytes of `KeySlot.slotID`.
    /// - Returns: the number of removed items.
    /// - Throws: `.storage(.slot(.lastForPeople))` if no person could open the vault any more.
    @discardableResult
    public func removeSlot(_ slotID: [UInt8]) throws(VaultError) -> Int {
        try core.manage { store throws(StorageError) in try store.removeSlot(slotID) }
    }

    /// Replaces the secret of a slot by another of the same kind.
    ///
    /// - Parameter cost: `nil` keeps the cost of a guess, but raises it to the minimum for new vaults.
    public func replaceSlot(
        _ slotID: [UInt8], with secret: UnlockingSecret, cost: KeyDerivationCost? = nil
    ) throws(VaultError) {
        try core.manage { store throws(StorageError) in _ = try store.replaceSlot(slotID, with: secret, cost: cost) }
    }

    /// Replaces the passphrase. Values are not opened, and the items stay sealed as they are.
    ///
    /// An earlier copy of the file still opens with the old passphrase.
    ///
    /// - Parameter cost: `nil` keeps the cost of a guess, but raises it to the minimum for new vaults.
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

    /// Generates a new vault key and seals everything again under it: the remedy if a secret or a copy of the vault may
    /// have leaked.
    ///
    /// Earlier copies still open with the old secrets and show their contents.
    ///
    /// - Parameters:
    ///   - entries: the new key slots; all others are removed.
    ///   - report: called with the progress, from 0 to 1.
    /// - Throws: `.storage(.slot(.lastForPeople))`; `.storage(.damaged)` for a value that does not open, with nothing
    ///   changed.
    @discardableResult
    public func rekey(_ entries: [SlotEntry], report: (Double) -> Void = { _ in }) throws(VaultError)
        -> Rekeyed
    {
        try core.manage { store throws(StorageError) in try store.rekey(entries, report: report) }
    }
}
