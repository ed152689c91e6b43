// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultCrypto
package import VaultFormat
internal import VaultSystem

/// The keys of a vault, from a slot.
package struct UnlockedKeys: ~Copyable {
    let keys: VaultKeys
    /// The 16-byte identifier of the slot that opened.
    package let slotID: [UInt8]
}

/// A vault file whose header was read and checked as far as possible without a key.
package struct LockedStore: Sendable {
    let location: VaultLocation
    package let environment: VaultEnvironment
    package let header: Header
    let page: HeaderPage

    /// - Throws: `.noVault`, `.refused`, `.damaged`, `.unsupported` or `.inputOutput`.
    ///
    /// - Parameter isDamaged: requires only a readable header, for ``salvage(with:to:report:)``.
    package init(_ path: FilePath, environment: VaultEnvironment, isDamaged: Bool = false) throws(StorageError) {
        location = try VaultLocation(path, on: environment.fileSystem)
        page = try HeaderPage(of: try location.open(writable: false), isDamaged: isDamaged)
        header = page.header
        self.environment = environment
    }

    /// The path with all links resolved.
    package var path: FilePath { location.path }

    /// The absolute path with links unresolved.
    package var givenPath: FilePath { location.given }

    /// The file's size in bytes.
    package func fileSize() throws(StorageError) -> Int {
        let status = try attempt(.open, location.directory.status(of: location.name))
        guard let status else { throw .noVault }
        return status.size
    }

    /// The network file system that contains the vault, whose locks and renames are weaker than the format requires;
    /// else `nil`.
    package var weakFileSystem: String? { location.directory.weakFileSystem }

    /// MemAvailable, and the maximum memory of a slot's key derivation, in bytes.
    package var availableMemory: UInt64? { environment.fileSystem.availableMemory }

    package var memoryNeeded: UInt64? {
        header.slots.compactMap { slot in
            if case .argon2id(_, let memoryBytes) = slot.stretching { memoryBytes } else { nil }
        }.max()
    }

    /// Derives the master key of each slot of the secret's kind in turn until one opens. Holds no lock meanwhile.
    ///
    /// - Throws: `.wrongPassphrase`, `.noMatchingSlot`, `.resourceUnavailable`, `.damaged(.keySlot)`.
    package func unlock(with secret: UnlockingSecret) throws(StorageError) -> UnlockedKeys {
        let opened = try header.open(with: secret, environment)
        let slotID = opened.slot.slotID
        do throws(CryptoError) {
            return UnlockedKeys(keys: try VaultKeys(vaultKey: opened.vaultKey, vaultID: header.vaultID), slotID: slotID)
        } catch { throw StorageError(error) }
    }

    /// The secret that this machine keeps for the vault: that of the first external slot that it can unseal.
    ///
    /// The slots of security keys are passed over: they need a person.
    ///
    /// - Returns: `nil` if the machine keeps no slot's secret.
    /// - Throws: `.machineSecret`, with the error of the last slot.
    package func machineSecret(with credential: SystemCredential) throws(StorageError) -> UnlockingSecret? {
        var failure: StorageError?
        for slot in header.slots {
            guard let provider = slot.provider, !provider.needsPerson else { continue }
            do throws(StorageError) {
                return .external(try credential.unseal(header.blob(of: slot), for: provider, vaultID: header.vaultID))
            } catch { failure = error }
        }
        if let failure { throw failure }
        return nil
    }

    /// The credentials of the slots that security keys open, as far as this version knows them.
    ///
    /// - Throws: `.damaged(.header)` or `.unsupported`, with the error of the last slot, if it knows none.
    package func securityKeyCredentials() throws(StorageError) -> [SecurityKeyCredential] {
        var credentials: [SecurityKeyCredential] = []
        var failure: StorageError?
        for slot in header.slots where slot.provider == .fido2 {
            do throws(FormatError) {
                credentials.append(try SecurityKeyCredential(parsing: header.blob(of: slot).span))
            } catch {
                if case .unsupported(let field) = error {
                    failure = .unsupported(field)
                } else {
                    failure = .damaged(.header(error))
                }
            }
        }
        if let failure, credentials.isEmpty { throw failure }
        return credentials
    }

    package func unlock(with passphrase: Passphrase) throws(StorageError) -> UnlockedKeys {
        try unlock(with: .passphrase(passphrase))
    }

    /// Reads the whole log.
    ///
    /// - Parameter acceptsOlderCopy: accepts any state, whatever this device has seen of the vault;
    ///   ``VaultStore/acceptAsNewest()`` then makes it the newest.
    package func open(with keys: consuming UnlockedKeys, acceptsOlderCopy: Bool = false) throws(StorageError)
        -> VaultStore
    {
        let slotID = keys.slotID
        let store = try VaultStore(
            location, page: page, keys: keys.keys, environment: environment, acceptsOlderCopy: acceptsOlderCopy)
        store.openedBy = slotID
        return store
    }
}

extension VaultEnvironment {
    /// - Throws: `.resourceUnavailable` if a key derivation would take more than half of the available memory.
    func checkMemory(for bytes: UInt64) throws(StorageError) {
        guard forcesMemory || bytes <= (fileSystem.availableMemory ?? .max) / 2 else { throw .resourceUnavailable }
    }
}

extension LockedStore {
    /// Opens a copy that is not in use: this device keeps no record of it.
    package func openAsBackup(with secret: UnlockingSecret) throws(StorageError) -> VaultStore {
        let keys = try unlock(with: secret)
        var environment = environment
        environment.remembersStates = false
        return try VaultStore(location, page: page, keys: keys.keys, environment: environment)
    }
}

struct OpenedSlot: ~Copyable {
    let vaultKey: SecretBytes
    let slot: KeySlot
}

extension Header {
    /// The maximum cost that a reader accepts for all slots of one kind, in bytes of memory times passes.
    static let mostDerivationCost: UInt64 = 32 << 30

    static func derivationCost(of slots: [KeySlot]) -> UInt64 {
        slots.reduce(0) { cost, slot in
            if case .argon2id(let passes, let memoryBytes) = slot.stretching {
                cost + UInt64(passes) * memoryBytes
            } else {
                cost
            }
        }
    }

    /// Tries the slots of the secret's kind in turn until one gives the vault key.
    ///
    /// - Throws: `.wrongPassphrase`, `.noMatchingSlot`, `.resourceUnavailable`, `.damaged(.keySlot)`.
    func open(with secret: UnlockingSecret, _ environment: VaultEnvironment) throws(StorageError) -> OpenedSlot {
        let slots = slots.filter { $0.kind == secret.kind }
        guard !slots.isEmpty else { throw .noMatchingSlot }
        // The header cannot be authenticated without a key: a hostile file could demand hours of derivation, so it is
        // refused before any.
        guard Header.derivationCost(of: slots) <= Header.mostDerivationCost else {
            throw .damaged(.header(.outOfBounds(.slotPasses)))
        }
        let bytes = try secured(secret.secret())
        for slot in slots {
            if case .argon2id(_, let memoryBytes) = slot.stretching { try environment.checkMemory(for: memoryBytes) }
            if let vaultKey = try slot.open(bytes.bytes, vaultID: vaultID) {
                return OpenedSlot(vaultKey: vaultKey, slot: slot)
            }
        }
        throw .wrongPassphrase
    }
}
