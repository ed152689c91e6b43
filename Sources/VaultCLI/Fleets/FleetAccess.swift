// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultSync

extension VaultOptions {
    /// Runs the body on the fleet of the vault: through the agent if it has the vault unlocked, and on a vault that
    /// this process opens if there is no such agent, or the agent cannot do what the body requests. Then the body runs
    /// again.
    ///
    /// - Parameter mustBelong: whether to refuse a vault that belongs to no fleet.
    func withFleet<R>(mustBelong: Bool = true, _ body: (any FleetControl) throws -> R) throws -> R {
        if let agent = try openAgent() {
            do { return try body(AgentFleet(agent: agent, options: self)) } catch is AgentCannot {}
        }
        guard try !mustBelong || locked().isReplicated else { throw SyncError.notJoined }
        return try withOpened { opened, secret in
            // The given passphrase also counts as the user's consent for items that require it.
            let vault = secret.kind.takesPassphrase ? opened.attended() : opened
            return try FleetAccess.naming(vault) { try body(OpenedFleet(fleet: $0, vault: vault)) }
        }
    }

    /// Returns the agent that has the vault unlocked; `nil` if the command line names a source of the secret, or there
    /// is no such agent.
    func openAgent() throws -> AgentClient? {
        guard !unlocking.hasSource, let agent = try VaultAccess.agent(of: locked().path) else { return nil }
        return agent.greeting.state == .unlocked ? agent : nil
    }

    /// Returns the state of the fleet as this device knows it, from the agent if it has the vault unlocked.
    func fleetStatus() throws -> FleetStatus {
        guard try locked().isReplicated else { throw SyncError.notJoined }
        let said: FleetLook? = try access(.ofCommand, onlyReads: true).withVault { vault in
            do {
                return try vault.fleetLook()
            } catch VaultError.agent(.protocolViolation) {
                // An agent of another version does not know the message.
                return nil
            }
        }
        let look = try said ?? withOpened { opened, _ in try opened.fleetLook() }
        guard let status = look.status else {
            throw CommandError(look.failure ?? .notJoined, of: DeviceNames(look.deviceNames))
        }
        return status
    }

    /// Syncs the vault: in the agent if it has the vault unlocked, else in this process.
    func synced(withFingerprint: Bool) throws -> SyncResult {
        let locked = try locked()
        guard locked.isReplicated else { throw SyncError.notJoined }
        let result: SyncResult? = try access(.ofCommand).withVault { vault in
            do {
                return try Progress.during("syncing") { _ in try vault.synced(withFingerprint: withFingerprint) }
            } catch VaultError.agent(.protocolViolation) {
                // An agent of another version knows a different form of the message, or none.
                return nil
            }
        }
        if let result {
            guard result.isBeyondAgent else { return result }
            Output.note(
                """
                the agent's service may not write there: 'systemctl --user edit vault-agent', and in [Service] \
                ReadWritePaths=FOLDER
                """)
            guard unlocking.hasSource || Terminal() != nil else { return result }
        }
        return try withOpened { opened, _ in
            try Progress.during("syncing") { _ in try opened.synced(withFingerprint: withFingerprint) }
        }
    }
}

extension SyncResult {
    /// Whether this process can write to a folder that the agent cannot: its service sees most of the file system
    /// read-only.
    fileprivate var isBeyondAgent: Bool {
        outcomes.contains { outcome in
            guard outcome.url.scheme == .file,
                case .store(.inputOutput(.readOnlyFileSystem, _))? = outcome.error
            else { return false }
            return FileManager.default.isWritableFile(atPath: outcome.url.folder.string)
        }
    }
}

enum FleetAccess {
    /// The timeout for a background sync by the agent, in which the vault is busy.
    static let patience = Duration.seconds(5)

    /// Runs the body on the fleet of an open vault, and names the devices in alarms that the body throws.
    static func naming<R>(_ vault: Vault, _ body: (Fleet) throws -> R) throws -> R {
        let fleet = try Fleet(vault, engines: .all(.system), patience: patience)
        do { return try body(fleet) } catch SyncError.vault(let error) {
            // The error gets the file name where the vault was opened.
            throw error
        } catch SyncError.alarm(let alarm) {
            throw CommandError(alarm, of: DeviceNames(fleet))
        }
    }
}
