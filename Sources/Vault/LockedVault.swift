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
        do throws(StorageError) { store = try LockedStore(path, environment: environment) } catch { throw VaultError(error) }
    }

    /// The path of the file, without symbolic links.
    public var path: FilePath { store.path }

    /// 16 bytes that are the vault's for ever, from the header, which is not authenticated before there is a key.
    package var vaultID: [UInt8] { store.header.vaultID }

    /// Derives the key, which takes most of a second, and reads the vault.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`, and what reading a damaged file throws.
    public func unlock(with passphrase: Passphrase, accessGroups: AccessGroups = .standard) throws(VaultError) -> Vault {
        try unlock(with: .passphrase(passphrase), accessGroups: accessGroups)
    }

    /// As ``unlock(with:accessGroups:)-(Passphrase,_)``, with what the vault has a slot for. Only a passphrase takes long.
    public func unlock(with secret: UnlockingSecret, accessGroups: AccessGroups = .standard) throws(VaultError) -> Vault {
        do throws(StorageError) {
            return Vault(try store.open(with: try store.unlock(with: secret)), accessGroups)
        } catch {
            throw VaultError(error)
        }
    }
}
