// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

extension VaultOptions {
    /// Runs the body on the fleet of the vault, which this process opens itself: reading records of other devices takes
    /// the vault's keys, and an agent never hands out its keys.
    ///
    /// - Parameters:
    ///   - mustBelong: whether to refuse a vault that belongs to no fleet.
    ///   - before: asks questions before the passphrase.
    func withFleet<R>(
        mustBelong: Bool = true, before: () throws -> Void = {}, _ body: (Fleet, Vault) throws -> R
    ) throws -> R {
        let locked = try locked()
        guard !mustBelong || locked.isReplicated else { throw SyncError.notJoined }
        return try withOpened(before: before) { opened, secret in
            // The given passphrase also counts as the user's consent for items that require it.
            let vault = secret.kind.takesPassphrase ? opened.attended() : opened
            return try FleetAccess.naming(vault) { try body($0, vault) }
        }
    }

    /// Returns the agent that has the vault unlocked; `nil` if the command line names a source of the secret, or there
    /// is no such agent.
    func openAgent() throws -> AgentClient? {
        guard !unlocking.hasSource, let agent = try VaultAccess.agent(of: locked().path) else { return nil }
        return agent.greeting.state == .unlocked ? agent : nil
    }

    /// Asks the agent to change the fleet.
    ///
    /// - Returns: `nil` if the agent cannot, and the command has to do it itself: the sandbox of the agent's service
    ///   may
    ///   bar a folder or the network, and the agent may need the user's consent.
    /// - Throws: the reason, if the change failed.
    func byAgent<Request: AgentRequest>(_ request: Request) throws -> FleetChange? where Request.Reply == SyncReply {
        guard let agent = try openAgent() else { return nil }
        let change: FleetChange
        do throws(VaultError) { change = try agent.value(of: request) } catch {
            let passedOn: [VaultError] = [.agent(.protocolViolation), .agent(.refused), .locked, .presenceRequired]
            guard passedOn.contains(error) else { throw error }
            return nil
        }
        switch change.failure {
        case nil: return change
        case .notJoined?: return nil
        case .store? where try Terminal() != nil || UnlockTarget(locked()).canAskMachine: return nil
        case let failure?: throw CommandError(failure, of: DeviceNames(change.deviceNames))
        }
    }

    /// Passes the conflicts to the body, and a function that keeps one of a conflict's values: through the agent if it
    /// has the vault unlocked, else on the vault opened here.
    func withConflicts(
        revealing: Bool,
        _ body: ([ItemConflict], DeviceNames, _ resolve: (ItemConflict, Int) throws -> Void) throws -> Void
    ) throws {
        if let agent = try openAgent() {
            // Items that require the user's consent fall through to the passphrase.
            agent.asking = .never
            let told: (conflicts: [ItemConflict], names: DeviceNames)?
            do throws(VaultError) {
                told = (try agent.conflicts(revealing: revealing), DeviceNames(try agent.fleetLook().deviceNames))
            } catch {
                switch error {
                case .agent(.protocolViolation), .agent(.refused), .locked, .presenceRequired, .unimplemented:
                    told = nil
                default: throw error
                }
            }
            if let told {
                return try body(told.conflicts, told.names) { try agent.resolve($0, keeping: $1) }
            }
        }
        try withFleet { fleet, opened in
            try body(try opened.conflicts(), DeviceNames(fleet)) { conflict, number in
                guard let id = conflict.item.record?.id else { throw VaultError.itemNotFound }
                try opened.resolveConflict(of: id, field: conflict.field, keeping: number)
            }
        }
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

extension AgentClient {
    /// Asks the agent to change the fleet.
    ///
    /// - Throws: the reason, if the change failed.
    func changed<Request: AgentRequest>(_ request: Request) throws -> FleetChange where Request.Reply == SyncReply {
        let change: FleetChange = try value(of: request)
        if let failure = change.failure { throw CommandError(failure, of: DeviceNames(change.deviceNames)) }
        return change
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
