// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
public import VaultFormat

// Changes of the key slots. Values are not opened; only the header changes.

extension VaultStore {
    /// Adds a way to unlock.
    ///
    /// - Parameters:
    ///   - name: 1 to 32 bytes, unique among the slots; `nil` for a descriptive default.
    ///   - cost: of a guess at a passphrase.
    ///   - blob: the data of an external slot: as sealed by ``SystemCredential``, or a
    ///     ``VaultFormat/SecurityKeyCredential``.
    /// - Returns: the slot.
    /// - Throws: `.slot`, `.locked`.
    @discardableResult
    package func addSlot(
        for secret: UnlockingSecret, name: String? = nil, cost: KeyDerivationCost = .moderate,
        provider: KeySlot.Provider? = nil,
        blob: [UInt8] = []
    ) throws(StorageError) -> KeySlot {
        try checkWritable()
        try checkRoom(for: name)
        // The derivation takes long, and the lock is never held during one.
        var slot = try makeSlot(for: secret, cost: cost, name: name ?? "")
        slot.provider = provider
        return try withWriterLock { () throws(StorageError) in
            try checkRoom(for: name)
            // The box is not bound to the name.
            slot.name = name ?? freeName(provider?.label ?? secret.kind.label)
            try rewrite(slots: header.heldSlots + [HeldSlot(slot, blob: blob)])
            return slot
        }
    }

    /// Adds a slot whose secret only this machine can recover.
    package func addMachineSlot(
        _ provider: KeySlot.Provider, with credential: SystemCredential, name: String? = nil
    ) throws(StorageError) -> KeySlot {
        try checkRoom(for: name)
        let secret = try secured(Secret(try environment.random.secret(32)))
        let blob = try credential.seal(secret.bytes, for: provider, vaultID: header.vaultID)
        // A secret that cannot be unsealed now will not be later.
        let opened = try credential.unseal(blob, for: provider, vaultID: header.vaultID)
        guard opened.withBytes({ a in secret.withBytes { b in isEqualInConstantTime(a, b) } }) else {
            throw .machineSecret(.failed)
        }
        return try addSlot(for: .external(secret), name: name, provider: provider, blob: blob)
    }

    /// Removes a way to unlock.
    ///
    /// Removing the last passphrase slot also removes the items that require a passphrase to be set.
    ///
    /// - Parameter slotID: 16 bytes.
    /// - Returns: the number of removed items.
    /// - Throws: `.slot(.lastForPeople)` if no person could open the vault any more; `.slot(.noSuchSlot)`.
    @discardableResult
    package func removeSlot(_ slotID: [UInt8]) throws(StorageError) -> Int {
        try withWriterLock { () throws(StorageError) in
            guard let removed = header.slots.first(where: { $0.slotID == slotID }) else { throw .slot(.noSuchSlot) }
            let rest = header.heldSlots.filter { $0.slot.slotID != slotID }
            let isForOthers = !removed.kind.isForPeople && !rest.isEmpty
            guard isForOthers || rest.contains(where: { $0.slot.kind.isForPeople }) else { throw .slot(.lastForPeople) }
            let losesPassphrase = header.hasPassphrase && !rest.contains { $0.slot.kind.takesPassphrase }
            let lost =
                losesPassphrase
                ? records.sortedPlaces.count { records[$0.place]?.protection == .whenPasscodeSetThisDeviceOnly } : 0
            try rewrite(slots: rest)
            return lost
        }
    }

    /// Replaces the secret of a slot by another of the same kind, under the same name.
    ///
    /// - Parameters:
    ///   - slotID: 16 bytes.
    ///   - cost: `nil` keeps the slot's own, or ``KeyDerivationCost/moderate`` if that is below the minimum for new
    ///     vaults.
    /// - Returns: the new slot.
    @discardableResult
    package func replaceSlot(
        _ slotID: [UInt8], with secret: UnlockingSecret, cost: KeyDerivationCost? = nil
    ) throws(StorageError) -> KeySlot {
        try checkWritable()
        guard let before = header.slots.first(where: { $0.slotID == slotID && $0.kind == secret.kind }) else {
            throw .slot(.noSuchSlot)
        }
        let cost = cost ?? before.cost ?? .moderate
        let fresh = try makeSlot(for: secret, cost: cost, name: before.name)
        return try withWriterLock { () throws(StorageError) in
            // Another process may have changed the slots meanwhile, and the slot's secret is then another.
            guard let index = header.slots.firstIndex(of: before) else { throw .wrongPassphrase }
            var slots = header.heldSlots
            slots[index] = HeldSlot(fresh)
            try rewrite(slots: slots)
            return fresh
        }
    }

    /// Replaces the slot that a secret opens by one for another secret of the same kind; values are not opened.
    ///
    /// - Parameter cost: as in ``replaceSlot(_:with:cost:)``.
    package func changeSecret(
        from current: UnlockingSecret, to new: UnlockingSecret, cost: KeyDerivationCost?
    ) throws(StorageError) {
        try checkWritable()
        if let cost { try environment.checkMemory(for: cost.memoryBytes) }
        try replaceSlot(try header.open(with: current, environment).slot.slotID, with: new, cost: cost)
    }

    /// Raises the cost of the slot that a passphrase has just opened to that of a new one, if it is lower.
    package func strengthenSlot(for secret: UnlockingSecret) throws(StorageError) {
        guard environment.strengthensSlots, let slotID = openedBy,
            header.slots.contains(where: { $0.slotID == slotID && $0.isWeak })
        else { return }
        openedBy = try replaceSlot(slotID, with: secret).slotID
    }

    private func makeSlot(for secret: UnlockingSecret, cost: KeyDerivationCost, name: String) throws(StorageError)
        -> KeySlot
    {
        try makeSlots([SlotEntry(secret, name: name, cost: cost)])[0].slot
    }

    /// Derives a key for each entry.
    ///
    /// - Throws: `.locked`.
    func makeSlots(_ entries: [SlotEntry]) throws(StorageError) -> [HeldSlot] {
        switch keys.vaultKey {
        case .none: throw .locked
        case .some(let vaultKey): return try environment.makeSlots(entries, vaultKey, header.vaultID)
        }
    }

    /// - Parameter blobBytes: the length of the slot's blob, at least.
    /// - Throws: `.slot(.full)`, `.slot(.annexFull)`, `.slot(.name)` if a slot under the name could not be added.
    public func checkRoom(for name: String?, blobBytes: Int = 0) throws(StorageError) {
        guard header.slots.count < Layout.slotLimit else { throw .slot(.full) }
        let taken = header.slots.reduce(0) { $0 + Int($1.annexLength) }
        guard blobBytes <= Header.annexLength - taken else { throw .slot(.annexFull) }
        guard let name else { return }
        guard (1...32).contains(name.utf8.count), !header.slots.contains(where: { $0.name == name }) else {
            throw .slot(.name)
        }
    }

    private func freeName(_ name: String) -> String {
        let taken = Set(header.slots.map(\.name))
        return taken.contains(name)
            ? (2...Layout.slotLimit).lazy.map { "\(name) \($0)" }.first { !taken.contains($0) } ?? name : name
    }
}

/// A new slot.
public struct SlotEntry: Sendable {
    /// The secret that opens the slot.
    public var secret: UnlockingSecret
    /// 1 to 32 bytes of UTF-8, shown to people.
    public var name: String
    /// The cost of the derivation from a passphrase; without effect on other secrets.
    public var cost: KeyDerivationCost
    /// The keeper of an external secret; `nil` for other kinds of slots.
    public var provider: KeySlot.Provider?
    /// The provider's bytes from which it gets the secret back, kept in the header.
    public var blob: [UInt8]

    /// - Parameters:
    ///   - name: 1 to 32 bytes of UTF-8, unique in the vault.
    ///   - cost: of the derivation from a passphrase.
    ///   - provider: the keeper of an external secret.
    ///   - blob: the provider's bytes; empty for other kinds of slots.
    public init(
        _ secret: UnlockingSecret, name: String, cost: KeyDerivationCost = .moderate, provider: KeySlot.Provider? = nil,
        blob: [UInt8] = []
    ) {
        self.secret = secret
        self.name = name
        self.cost = cost
        self.provider = provider
        self.blob = blob
    }
}

extension VaultEnvironment {
    /// Derives a key for each entry and seals the vault key with it.
    func makeSlots(_ entries: [SlotEntry], _ vaultKey: borrowing SecretBytes, _ vaultID: [UInt8]) throws(StorageError)
        -> [HeldSlot]
    {
        var slots: [HeldSlot] = []
        for entry in entries {
            if entry.secret.kind.takesPassphrase { try checkMemory(for: entry.cost.memoryBytes) }
            var slot: KeySlot
            do throws(CryptoError) {
                slot = try KeySlot.sealing(
                    vaultKey, for: entry.secret, cost: entry.cost, vaultID: vaultID, name: entry.name, random: random)
            } catch { throw StorageError(error) }
            slot.provider = entry.provider
            slots.append(HeldSlot(slot, blob: entry.blob))
        }
        return slots
    }
}

extension Header {
    /// - Throws: `.slot(.annexFull)`, `.slot(.full)`, `.slot(.cost)`.
    mutating func set(_ slots: [HeldSlot]) throws(StorageError) {
        // No reader would accept such slots.
        for kind in Set(slots.map(\.slot.kind)) {
            let alike = slots.map(\.slot).filter { $0.kind == kind }
            guard Header.derivationCost(of: alike) <= Header.mostDerivationCost else { throw .slot(.cost) }
        }
        do throws(FormatError) { try replaceSlots(with: slots) } catch {
            throw .slot(error == .outOfBounds(.annex) ? .annexFull : .full)
        }
    }
}
