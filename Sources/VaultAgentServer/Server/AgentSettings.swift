// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
internal import VaultSync

/// The settings of an agent: the options of `vault agent`, and the ports that tests replace.
///
/// Size: each property is an option, a limit or a port of its own, for a different part of the server.
package struct AgentSettings: Sendable {
    /// The path of the vault file without symbolic links; the file need not exist yet.
    package var vault: FilePath
    /// The absolute path of the vault as given: this device's records about a vault depend on both paths. `nil` if both
    /// are the same.
    package var givenVault: FilePath?
    package var version: String
    /// The idle time after which the agent locks; zero for never.
    package var idleLimit = Duration.seconds(600)
    /// The time after an unlock at which the agent locks in any case; zero for never.
    package var maximum = Duration.seconds(8 * 3600)
    /// The most bytes of all clients' incomplete stores.
    var mostStaged = 512 << 20
    /// The time limit for a person's answer when an item requires presence.
    var patienceForPerson = Duration.seconds(60)
    /// Whether root may be a client. Root can act as the user anyway.
    package var allowsRoot = false
    /// The file of the rules for clients. A missing file has no rules.
    package var policy: FilePath?
    /// The directory of the audit log; `nil` for no log.
    package var auditDirectory: FilePath?
    /// Whether the agent syncs automatically.
    package var syncs = false
    /// The delays of automatic syncs.
    var pace = SyncPace()
    /// The time limit for the check of a remote.
    var patienceForCheck = RemoteChecks.patience
    /// The engines of the remotes; `nil` for all.
    var engines: RemoteEngines?
    package var environment = VaultEnvironment.system
    package var clock: any AgentClock = BootClock()
    /// Receives messages: in lower case, without a full stop, and without secrets.
    package var report: @Sendable (String) -> Void = { _ in }

    /// Called when a client ends the agent.
    package var stop: @Sendable () -> Void = {}

    package init(vault: FilePath, version: String) {
        self.vault = vault
        self.version = version
    }

    /// Opens the vault by the given path, if that still leads to the vault.
    func lockedVault() throws(VaultError) -> LockedVault {
        if let givenVault, let locked = try? LockedVault(at: givenVault, environment: environment), locked.path == vault
        {
            return locked
        }
        return try LockedVault(at: vault, environment: environment)
    }
}

/// The clock of all limits, a parameter so that tests need not wait.
package protocol AgentClock: Sendable {
    /// The time since the start of the machine, including suspension.
    var now: Duration { get }
    func sleep(for duration: Duration)
}
