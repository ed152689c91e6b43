// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import SystemPackage
internal import VaultCrypto
public import VaultStorage
internal import VaultSystem

extension VaultEnvironment {
    /// The real disk, clock and randomness, and the directories named by environment variables.
    public static var system: VaultEnvironment {
        var environment = VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SystemRandom(),
            stateDirectory: BaseDirectories.ownPath("XDG_STATE_HOME", ".local/state")?.appending("vault"))
        environment.strengthensSlots = true
        return environment
    }
}

extension Vault {
    /// `$VAULT_FILE`, else `$XDG_DATA_HOME/vault/default.vault`: outside the directories of applications, so that
    /// uninstalling one keeps its items. `nil` if neither these variables nor `$HOME` are set, and for root in another
    /// user's directories.
    public static var defaultPath: FilePath? {
        if let file = ProcessEnvironment.variable("VAULT_FILE") { return FilePath(file) }
        return BaseDirectories.ownPath("XDG_DATA_HOME", ".local/share")?.appending("vault/default.vault")
    }

    /// `$XDG_CONFIG_HOME/vault`, the directory of a user's settings. `nil` if neither that variable nor `$HOME` is set.
    public static var configurationDirectory: FilePath? {
        BaseDirectories.path("XDG_CONFIG_HOME", ".config")?.appending("vault")
    }
}

extension AccessGroups {
    /// `$VAULT_ACCESS_GROUPS`, comma-separated, items being added to the first; else the one group
    /// ``Vault/processGroup``.
    public static var ofProcess: AccessGroups { ofEnvironment ?? [Vault.processGroup] }

    /// `$VAULT_ACCESS_GROUPS`; `nil` if not set.
    public static var ofEnvironment: AccessGroups? {
        guard let list = ProcessEnvironment.variable("VAULT_ACCESS_GROUPS") else { return nil }
        return AccessGroups(list.split(separator: ",").map(trimmed).filter { !$0.isEmpty })
    }

    private static func trimmed(_ name: Substring) -> String {
        String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}

extension UnlockingSecret {
    /// The secret given to the process: the passphrase in `$VAULT_PASSPHRASE_FILE` or in the systemd credential
    /// `vault.passphrase`, or `$VAULT_KEY_FILE`; the first that is set.
    ///
    /// - Returns: `nil` if none is set.
    /// - Throws: `.storage(.inputOutput)` if it cannot be read or is not a regular file;
    ///   `.storage(.unacceptablePassphrase)`, `.storage(.unacceptableKeyFile)`.
    public static func ofProcess() throws(VaultError) -> UnlockingSecret? {
        if let passphrase = try passphraseOfProcess() { return .passphrase(passphrase) }
        return try keyFileOfProcess().map { .keyFile($0) }
    }

    /// As ``ofProcess()``, suited to the slots of a vault: both secrets together if a slot needs both, else the secret
    /// that this machine keeps for the vault.
    ///
    /// - Throws: also `.storage(.machineSecret)`.
    public static func ofProcess(for vault: LockedVault) throws(VaultError) -> UnlockingSecret? {
        let kinds = vault.slots.map(\.kind)
        if kinds.contains(.passphraseAndKeyFile), !kinds.contains(.passphrase),
            let passphrase = try passphraseOfProcess(),
            let keyFile = try keyFileOfProcess()
        {
            return .passphraseAndKeyFile(passphrase, keyFile)
        }
        if let secret = try ofProcess() { return secret }
        return try vault.machineSecret(with: SystemCredential(device: ProcessEnvironment.variable("VAULT_TPM2_DEVICE")))
    }

    private static func passphraseOfProcess() throws(VaultError) -> Passphrase? {
        if let file = ProcessEnvironment.variable("VAULT_PASSPHRASE_FILE") { return try passphrase(in: FilePath(file)) }
        guard let directory = ProcessEnvironment.variable("CREDENTIALS_DIRECTORY") else { return nil }
        let credential = FilePath(directory).appending("vault.passphrase")
        return FileManager.default.fileExists(atPath: credential.string) ? try passphrase(in: credential) : nil
    }

    static func keyFileOfProcess() throws(VaultError) -> KeyFile? {
        try ProcessEnvironment.variable("VAULT_KEY_FILE").map { file throws(VaultError) in
            try keyFile(in: FilePath(file))
        }
    }

    /// The default key file, which needs no naming; `nil` if there is none.
    static func defaultKeyFile() throws(VaultError) -> KeyFile? {
        guard Vault.hasDefaultKeyFile, let file = Vault.defaultKeyFile else { return nil }
        return try keyFile(in: file)
    }

    private static func keyFile(in file: FilePath) throws(VaultError) -> KeyFile {
        try from(file, limit: KeyFile.longest) { content throws(CryptoError) in try KeyFile(content) }
    }

    private static func passphrase(in file: FilePath) throws(VaultError) -> Passphrase {
        // Leaves room for characters that normalization shortens, and for the newline.
        try from(file, limit: 4 * Passphrase.longest) { line throws(CryptoError) in try Passphrase(line: line) }
    }

    private static func from<R>(
        _ path: FilePath, limit: Int, _ make: (borrowing SecretBytes) throws(CryptoError) -> R
    ) throws(VaultError) -> R {
        // The bytes pass briefly through ordinary memory, as those of the device secret do.
        var bytes: [UInt8]
        do throws(Errno) { bytes = try read(path, limit: limit) } catch { throw .storage(.inputOutput(error, .read)) }
        defer { wipe(&bytes) }
        do throws(CryptoError) {
            let content = try SecretBytes(copying: bytes.span)
            return try make(content)
        } catch { throw .storage(StorageError(error)) }
    }

    /// Reads at most one byte more than the limit, so that longer files are detected.
    private static func read(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        let fileSystem = LinuxFileSystem()
        // Mounted secrets are often symbolic links.
        let resolved = try fileSystem.resolve(path)
        guard let name = resolved.lastComponent?.string else { throw .isDirectory }
        let file = try fileSystem.openDirectory(resolved.removingLastComponent()).open(name, writable: false)
        guard try file.status().kind == .regular else { throw .invalidArgument }
        return try file.read(limit + 1, at: 0)
    }
}
