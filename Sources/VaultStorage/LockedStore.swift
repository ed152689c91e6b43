// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat

/// The keys of a vault, as a slot gave them.
public struct UnlockedKeys: ~Copyable {
    let keys: VaultKeys
}

/// A vault file whose header was read and checked as far as that goes without a key.
public struct LockedStore: Sendable {
    let location: VaultLocation
    let environment: VaultEnvironment
    public let header: Header
    private let page: HeaderPage

    /// - Throws: `.noVault`, `.refused`, `.damaged`, `.unsupported` or `.inputOutput`.
    public init(_ path: FilePath, environment: VaultEnvironment) throws(StorageError) {
        location = try VaultLocation(path, on: environment.fileSystem)
        page = try HeaderPage(of: try location.open(writable: false))
        header = page.header
        self.environment = environment
    }

    public var path: FilePath { location.path }

    /// The file's size in bytes.
    public func fileSize() throws(StorageError) -> Int {
        let status = try attempt(.open) { [location] () throws(Errno) in try location.directory.status(of: location.name) }
        guard let status else { throw .noVault }
        return status.size
    }

    /// The network file system that the vault is on, where locks and renames are weaker than the format wants.
    public var weakFileSystem: String? { location.directory.weakFileSystem }

    /// MemAvailable, and the most that a slot's key derivation takes, in bytes.
    public var availableMemory: UInt64? { environment.fileSystem.availableMemory }

    public var memoryNeeded: UInt64? {
        header.slots.compactMap { slot in
            if case .argon2id(_, let memoryBytes) = slot.stretching { memoryBytes } else { nil }
        }.max()
    }

    /// Derives the master key of each slot of the secret's kind in turn until one opens. No lock is held meanwhile.
    ///
    /// - Throws: `.wrongPassphrase`, `.noMatchingSlot`, `.resourceUnavailable`, `.damaged(.keySlot)`.
    public func unlock(with secret: UnlockingSecret) throws(StorageError) -> UnlockedKeys {
        let slots = header.slots.filter { $0.kind == secret.kind }
        guard !slots.isEmpty else { throw .noMatchingSlot }
        var spent: UInt64 = 0
        for slot in slots {
            if case .argon2id(let passes, let memoryBytes) = slot.stretching {
                spent += UInt64(passes) * memoryBytes
                // The header is not authenticated until a key exists: a hostile file could ask for hours.
                guard spent <= 32 << 30 else { throw .damaged(.header(.outOfBounds(.slotPasses))) }
                try environment.checkMemory(for: memoryBytes)
            }
            guard let vaultKey = try slot.open(secret.secret.bytes, vaultID: header.vaultID) else { continue }
            do throws(CryptoError) {
                return UnlockedKeys(keys: try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID))
            } catch {
                throw StorageError(error)
            }
        }
        throw .wrongPassphrase
    }

    public func unlock(with passphrase: Passphrase) throws(StorageError) -> UnlockedKeys {
        try unlock(with: .passphrase(passphrase))
    }

    /// Reads the whole log.
    public func open(with keys: consuming UnlockedKeys) throws(StorageError) -> VaultStore {
        try VaultStore(location, page: page, keys: keys.keys, environment: environment)
    }
}

extension VaultEnvironment {
    /// - Throws: `.resourceUnavailable` when a key derivation would take more than half of the available memory.
    func checkMemory(for bytes: UInt64) throws(StorageError) {
        guard forcesMemory || bytes <= (fileSystem.availableMemory ?? .max) / 2 else { throw .resourceUnavailable }
    }
}
