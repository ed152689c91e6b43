// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import Vault
internal import VaultSync

/// How an agent is to run.
public struct AgentSettings: Sendable {
    /// The vault file, without symbolic links; it need not exist yet.
    public var vault: FilePath
    /// The path that leads to it, from the root, as it was given: what this device remembers of a vault it
    /// remembers by both. Nil: the same.
    public var givenVault: FilePath?
    public var version: String
    /// Without use for so long, it locks; zero: never.
    public var idleLimit = Duration.seconds(600)
    /// So long after an unlock it locks in any case; zero: never.
    public var maximum = Duration.seconds(8 * 3600)
    /// The most that the unfinished stores of all clients may hold at once, in bytes.
    var mostStaged = 512 << 20
    /// How long a person has to answer when an item demands that they are asked.
    var patienceForPerson = Duration.seconds(60)
    /// Whether root may be a client, who can do all that the user can anyway.
    public var allowsRoot = false
    /// Where the rules are for what a client may do. A file that is not there has none.
    public var policy: FilePath?
    /// The directory for the log of who did what; nil: there is none.
    public var auditDirectory: FilePath?
    /// Whether it keeps the vault in step with its fleet unasked.
    public var syncs = false
    /// How soon it does so.
    var pace = SyncPace()
    /// How long a look at the remotes waits for one of them.
    var patienceForCheck = RemoteChecks.patience
    /// Of the fleet's remotes; nil: all that there are.
    var engines: RemoteEngines?
    public var environment = VaultEnvironment.system
    public var clock: any AgentClock = BootClock()
    /// Told what is worth knowing: lower case, no full stop, no secret.
    public var report: @Sendable (String) -> Void = { _ in }

    /// Called when a client ends the agent.
    public var stop: @Sendable () -> Void = {}

    public init(vault: FilePath, version: String) {
        self.vault = vault
        self.version = version
    }

    /// By the path that was given, as long as that leads to the vault.
    func lockedVault() throws(VaultError) -> LockedVault {
        if let givenVault, let locked = try? LockedVault(at: givenVault, environment: environment), locked.path == vault
        {
            return locked
        }
        return try LockedVault(at: vault, environment: environment)
    }
}

/// The time that limits are measured in, passed in so that tests need not wait.
public protocol AgentClock: Sendable {
    /// Since the machine was started, suspended or not.
    var now: Duration { get }
    func sleep(for duration: Duration)
}
