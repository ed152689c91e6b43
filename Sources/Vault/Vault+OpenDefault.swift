// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import SystemPackage
internal import VaultCrypto
internal import VaultStorage

extension Vault {
    /// The kind of vault that `openDefault` creates if there is none.
    public enum Creation: Sendable {
        /// Creates none.
        case no
        /// Creates a vault with a key file slot: for the file named by `$VAULT_KEY_FILE`, else ``defaultKeyFile``,
        /// which is created if missing. A process that can read both files can open the vault.
        case withKeyFile
        /// Creates a vault with a passphrase slot.
        case withPassphrase(Passphrase)
    }

    /// `$XDG_CONFIG_HOME/vault/default.key`, which opens a vault that has a key file slot if no other secret is named.
    /// `nil` if neither that variable nor `$HOME` is set.
    public static var defaultKeyFile: FilePath? { configurationDirectory?.appending("default.key") }

    package static var hasDefaultKeyFile: Bool {
        defaultKeyFile.map { FileManager.default.fileExists(atPath: $0.string) } ?? false
    }

    /// Opens the vault at ``defaultPath`` with the secret given to this process, as for a service at boot: the
    /// passphrase file or systemd's credential, a key file, or the secret that this machine keeps for the vault.
    ///
    /// - Parameters:
    ///   - creation: the kind of vault to create if there is none. Concurrent processes create only one.
    ///   - accessGroups: `nil` for `AccessGroups.ofProcess`.
    /// - Throws: `.locked` if there is no secret to unlock it with; `.storage(.noVault)`; `.storage(.wrongPassphrase)`.
    public static func openDefault(
        creating creation: Creation = .no, accessGroups: AccessGroups? = nil, environment: VaultEnvironment = .system
    ) throws(VaultError) -> Vault {
        guard let path = defaultPath else { throw .storage(.noVault) }
        let groups = accessGroups ?? .ofProcess
        do throws(VaultError) { return try open(at: path, creation, groups, environment) } catch {
            guard error == .storage(.noVault) else { throw error }
        }
        do throws(VaultError) {
            switch creation {
            case .no: throw .storage(.noVault)
            case .withPassphrase(let passphrase):
                return try create(at: path, passphrase: passphrase, environment: environment, accessGroups: groups)
            case .withKeyFile:
                return try create(
                    at: path, keyFile: try keyFile(environment), environment: environment, accessGroups: groups)
            }
        } catch {
            // Another process created it first.
            guard error == .storage(.alreadyExists) else { throw error }
            return try open(at: path, creation, groups, environment)
        }
    }

    private static func open(
        at path: FilePath, _ creation: Creation, _ groups: AccessGroups, _ environment: VaultEnvironment
    ) throws(VaultError) -> Vault {
        let locked = try LockedVault(at: path, environment: environment)
        var secret = try UnlockingSecret.ofProcess(for: locked)
        if secret == nil, case .withPassphrase(let passphrase) = creation { secret = .passphrase(passphrase) }
        guard let secret else { throw .locked }
        return try locked.unlock(with: secret, accessGroups: groups)
    }

    /// The key file of this process, created now if there is none.
    private static func keyFile(_ environment: VaultEnvironment) throws(VaultError) -> KeyFile {
        if let named = try UnlockingSecret.keyFileOfProcess() { return named }
        guard let path = defaultKeyFile else { throw .storage(.inputOutput(.noSuchFileOrDirectory, .write)) }
        do throws(VaultError) { try makeKeyFile(at: path, environment) } catch {
            guard error == .storage(.inputOutput(.fileExists, .write)) else { throw error }
        }
        guard let made = try UnlockingSecret.defaultKeyFile() else { throw .locked }
        return made
    }

    private static func makeKeyFile(at path: FilePath, _ environment: VaultEnvironment) throws(VaultError) {
        // The bytes pass briefly through ordinary memory, as those of the device secret do.
        var bytes = environment.random.bytes(64)
        defer { wipe(&bytes) }
        do throws(Errno) {
            try environment.fileSystem.createDirectories(path.removingLastComponent())
            try DurableFile.write(
                bytes.span, to: path.lastComponent?.string ?? "",
                in: environment.fileSystem.openDirectory(
                    path.removingLastComponent()), replacing: false, environment.random)
        } catch { throw .storage(.inputOutput(error, .write)) }
    }
}
