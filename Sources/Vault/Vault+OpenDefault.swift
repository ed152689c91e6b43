// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import SystemPackage
internal import VaultCrypto
internal import VaultStorage

extension Vault {
    /// What `openDefault` makes when there is no vault yet.
    public enum Creation: Sendable {
        /// Nothing.
        case no
        /// A vault that a key file opens: the one that `$VAULT_KEY_FILE` names, else ``defaultKeyFile``, which is made
        /// when it does not exist. Who can read both files can open the vault.
        case withKeyFile
        case withPassphrase(Passphrase)
    }

    /// `$XDG_CONFIG_HOME/vault/default.key`, which opens a vault that has a slot for a key file and for which nothing
    /// else is named. Nil without it and without `$HOME`.
    public static var defaultKeyFile: FilePath? { configurationDirectory?.appending("default.key") }

    package static var hasDefaultKeyFile: Bool {
        defaultKeyFile.map { FileManager.default.fileExists(atPath: $0.string) } ?? false
    }

    /// Opens the vault at ``defaultPath`` with what this process was given, as a service does at boot: the passphrase
    /// file or systemd's credential, a key file, or what this machine keeps for the vault.
    ///
    /// - Parameters:
    ///   - creation: what to make when there is none. Processes that come at once make one.
    ///   - accessGroups: nil: `AccessGroups.ofProcess`.
    /// - Throws: `.locked` when there is nothing to unlock it with; `.storage(.noVault)`; `.storage(.wrongPassphrase)`.
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
            // Another process was faster.
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

    /// The key file of this process, made now if there is none.
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
        // The bytes pass through ordinary memory for an instant, as those of the device secret do.
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
