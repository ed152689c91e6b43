// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

extension VaultOptions {
    /// Runs the body on the fleet of the vault, which is opened in this process: what other devices told opens with the
    /// vault's keys alone, and those never leave an agent.
    ///
    /// - Parameters:
    ///   - mustBelong: whether the vault has to belong to a fleet already.
    ///   - before: what is to be asked before the passphrase.
    func withFleet<R>(
        mustBelong: Bool = true, before: () throws -> Void = {}, _ body: (Fleet, Vault) throws -> R
    ) throws -> R {
        let locked = try locked()
        guard !mustBelong || locked.isReplicated else { throw SyncError.notJoined }
        return try withOpened(before: before) { opened, secret in
            // The passphrase that the command was given is what an item that demands a person wants.
            let vault = secret.kind.takesPassphrase ? opened.attended() : opened
            return try FleetAccess.naming(vault) { try body($0, vault) }
        }
    }

    /// The agent that has the vault open and takes changes of its fleet. Nil: the command line says what to unlock
    /// with, or there is none.
    func openAgent() throws -> AgentClient? {
        guard !unlocking.hasSource, let agent = try VaultAccess.agent(of: locked().path) else { return nil }
        return agent.greeting.state == .unlocked ? agent : nil
    }

    /// Has the agent make a change of the fleet.
    ///
    /// - Returns: nil: the agent cannot, and the command is to do it itself. Its service may not reach what the command
    ///   reaches, and a person may have to allow it.
    /// - Throws: why it was not made.
    func byAgent<Request: AgentRequest>(_ request: Request) throws -> FleetChange? where Request.Reply == SyncReply {
        guard let agent = try openAgent() else { return nil }
        let change: FleetChange
        do throws(VaultError) { change = try agent.fleetChange(request) } catch {
            switch error {
            case .agent(.protocolViolation), .agent(.refused), .locked, .presenceRequired: return nil
            default: throw error
            }
        }
        switch change.failure {
        case nil: return change
        case .notJoined?: return nil
        case .store? where try Terminal() != nil || UnlockTarget(locked()).canAskMachine: return nil
        case let failure?: throw CommandError(failure, of: DeviceNames(change.deviceNames))
        }
    }

    /// The conflicts, and a way to keep one value of one of them: of the agent, or of the vault that is opened here.
    func withConflicts(
        revealing: Bool,
        _ body: ([ItemConflict], DeviceNames, _ resolve: (ItemConflict, Int) throws -> Void) throws -> Void
    ) throws {
        if let agent = try openAgent() {
            // An item that demands a person is opened with the passphrase, as ever.
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

    /// What the vault knows of its fleet: the agent says it where that has the vault open.
    func fleetStatus() throws -> FleetStatus {
        guard try locked().isReplicated else { throw SyncError.notJoined }
        let said: FleetLook? = try access(.ofCommand, onlyReads: true).withVault { vault in
            do {
                return try vault.fleetLook()
            } catch VaultError.agent(.protocolViolation) {
                // An agent of another version, which does not know the message.
                return nil
            }
        }
        let look = try said ?? withOpened { opened, _ in try opened.fleetLook() }
        guard let status = look.status else {
            throw CommandError(look.failure ?? .notJoined, of: DeviceNames(look.deviceNames))
        }
        return status
    }

    /// Syncs the vault: in the agent where that has it open, else in this process.
    func synced(withFingerprint: Bool) throws -> SyncResult {
        let locked = try locked()
        guard locked.isReplicated else { throw SyncError.notJoined }
        let result: SyncResult? = try access(.ofCommand).withVault { vault in
            do {
                return try Progress.during("syncing") { _ in try vault.synced(withFingerprint: withFingerprint) }
            } catch VaultError.agent(.protocolViolation) {
                // An agent of another version, which knows the message in another form or not at all.
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
    /// Has the agent make a change of the fleet.
    ///
    /// - Throws: why it was not made.
    func changed<Request: AgentRequest>(_ request: Request) throws -> FleetChange where Request.Reply == SyncReply {
        let change: FleetChange = try fleetChange(request)
        if let failure = change.failure { throw CommandError(failure, of: DeviceNames(change.deviceNames)) }
        return change
    }
}

extension SyncResult {
    /// Whether a folder cannot be written to by the agent alone: its service sees most of the file system read-only.
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
    /// For a sync of an agent's that nobody has asked for.
    static let patience = Duration.seconds(5)

    /// Runs the body on the fleet of an open vault; in what it throws, logs have the names of their devices.
    static func naming<R>(_ vault: Vault, _ body: (Fleet) throws -> R) throws -> R {
        let fleet = try Fleet(vault, engines: .all(.system), patience: patience)
        do { return try body(fleet) } catch SyncError.vault(let error) {
            // The file is named where it was opened.
            throw error
        } catch SyncError.alarm(let alarm) {
            throw CommandError(alarm, of: DeviceNames(fleet))
        }
    }
}
