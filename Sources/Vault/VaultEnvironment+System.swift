// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import SystemPackage
internal import VaultCrypto
public import VaultStorage

extension VaultEnvironment {
    /// The real disk, clock and randomness, and the directories that the environment variables name.
    public static var system: VaultEnvironment {
        VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SystemRandom(),
            stateDirectory: Directories.base("XDG_STATE_HOME", ".local/state"))
    }
}

extension Vault {
    /// `$VAULT_FILE`, else `$XDG_DATA_HOME/vault/default.vault`: outside every application's own directory, so that uninstalling one leaves
    /// its items alone. Nil without either and without `$HOME`.
    public static var defaultPath: FilePath? {
        if let file = Directories.variable("VAULT_FILE") { return FilePath(file) }
        return Directories.base("XDG_DATA_HOME", ".local/share")?.appending("default.vault")
    }
}

extension AccessGroups {
    /// `$VAULT_ACCESS_GROUPS`, comma-separated, the first being where items are added; else the one group `default`.
    public static var ofProcess: AccessGroups {
        guard let list = Directories.variable("VAULT_ACCESS_GROUPS") else { return .standard }
        return AccessGroups(list.split(separator: ",").map(String.init))
    }
}

private enum Directories {
    /// An environment variable that is set and not empty.
    static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The directory `vault` in a base directory of the XDG specification, which must be absolute.
    static func base(_ name: String, _ fallback: String) -> FilePath? {
        if let directory = variable(name), directory.hasPrefix("/") { return FilePath(directory).appending("vault") }
        guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
        return FilePath(home).appending(FilePath(fallback).components).appending("vault")
    }
}
