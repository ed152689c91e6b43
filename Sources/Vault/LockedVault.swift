// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
internal import VaultFormat
public import VaultStorage

/// A vault whose file was found and checked as far as possible without a key.
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

    /// The absolute form of the given path.
    package var givenPath: FilePath { store.givenPath }

    /// The vault's permanent identifier, 16 bytes, from the header, which cannot be authenticated without a key.
    package var vaultID: [UInt8] { store.header.vaultID }

    /// The number of rewrites of the file, according to the header.
    package var generation: UInt64 { store.header.generation }

    /// Whether the vault belongs to a fleet, or did when it was copied, according to the header.
    package var isReplicated: Bool { store.header.isReplicated }

    /// Derives the key, which takes most of a second, and reads the vault.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`, and the errors of reading a damaged file.
    public func unlock(with passphrase: Passphrase, accessGroups: AccessGroups = .ofProcess) throws(VaultError) -> Vault
    {
        try unlock(with: .passphrase(passphrase), accessGroups: accessGroups)
    }

    /// As ``unlock(with:accessGroups:)-(Passphrase,_)``, with a secret for any slot. Only a passphrase takes long.
    ///
    /// A passphrase slot whose derivation cost is below the minimum for new slots is replaced by one at the default
    /// cost.
    public func unlock(
        with secret: UnlockingSecret, accessGroups: AccessGroups = .ofProcess
    ) throws(VaultError) -> Vault {
        try unlock(with: secret, accessGroups: accessGroups, acceptsOlderCopy: false)
    }

    /// - Parameter acceptsOlderCopy: accepts the file as the newest state, whatever state this device has seen before.
    public func unlock(
        with secret: UnlockingSecret, accessGroups: AccessGroups = .ofProcess, acceptsOlderCopy: Bool
    ) throws(VaultError) -> Vault {
        let opened = try stored(store.open(with: store.unlock(with: secret), acceptsOlderCopy: acceptsOlderCopy))
        if acceptsOlderCopy { try stored(opened.acceptAsNewest()) }
        // A slot that cannot be strengthened now is tried again at the next unlock.
        try? opened.strengthenSlot(for: secret)
        return Vault(opened, accessGroups)
    }
}
