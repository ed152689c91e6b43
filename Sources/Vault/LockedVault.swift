// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
internal import VaultFormat
public import VaultStorage

/// A vault whose file was found and checked as far as that goes without a key.
public struct LockedVault: Sendable {
    let store: LockedStore

    /// - Throws: `.storage` with `.noVault`, `.refused`, `.damaged`, `.unsupported` or `.inputOutput`.
    public init(at path: FilePath, environment: VaultEnvironment = .system) throws(VaultError) {
        do throws(StorageError) { store = try LockedStore(path, environment: environment) } catch {
            throw VaultError(error)
        }
    }

    /// The path of the file, without symbolic links.
    public var path: FilePath { store.path }

    /// The path as it was given, from the root.
    package var givenPath: FilePath { store.givenPath }

    /// 16 bytes that are the vault's for ever, from the header, which is not authenticated before there is a key.
    package var vaultID: [UInt8] { store.header.vaultID }

    /// How often the file was written anew, as the header says it.
    package var generation: UInt64 { store.header.generation }

    /// Whether the vault belongs to a fleet, or did when it was copied, as the header says it.
    package var isReplicated: Bool { store.header.isReplicated }

    /// Derives the key, which takes most of a second, and reads the vault.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`, and what reading a damaged file throws.
    public func unlock(with passphrase: Passphrase, accessGroups: AccessGroups = .ofProcess) throws(VaultError) -> Vault
    {
        try unlock(with: .passphrase(passphrase), accessGroups: accessGroups)
    }

    /// As ``unlock(with:accessGroups:)-(Passphrase,_)``, with what the vault has a slot for. Only a passphrase takes
    /// long.
    ///
    /// A passphrase slot that a guess costs less than a new one may have is made anew, at the default cost.
    public func unlock(
        with secret: UnlockingSecret, accessGroups: AccessGroups = .ofProcess
    ) throws(VaultError) -> Vault {
        try unlock(with: secret, accessGroups: accessGroups, acceptsOlderCopy: false)
    }

    /// - Parameter acceptsOlderCopy: makes the file the state to go on from, whatever this device has seen of the
    ///   vault.
    public func unlock(
        with secret: UnlockingSecret, accessGroups: AccessGroups = .ofProcess, acceptsOlderCopy: Bool
    ) throws(VaultError) -> Vault {
        let opened = try stored(store.open(with: store.unlock(with: secret), acceptsOlderCopy: acceptsOlderCopy))
        if acceptsOlderCopy { try stored(opened.acceptAsNewest()) }
        // What cannot be made dearer now is tried again at the next unlock.
        try? opened.strengthenSlot(for: secret)
        return Vault(opened, accessGroups)
    }
}
