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
        try checkKeys(of: locked)
        return try withOpened(before: before) { opened, secret in
            // The passphrase that the command was given is what an item that demands a person wants.
            let vault = secret.kind.takesPassphrase ? opened.attended() : opened
            return try FleetAccess.naming(vault) { try body($0, vault) }
        }
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
        } else {
            try checkKeys(of: locked)
        }
        return try withOpened { opened, _ in
            try Progress.during("syncing") { _ in try opened.synced(withFingerprint: withFingerprint) }
        }
    }

    /// Says why an agent that has the vault open is of no use here, before a person wonders.
    private func checkKeys(of locked: LockedVault) throws {
        let target = UnlockTarget(locked)
        guard !unlocking.hasSource, !target.canAskMachine,
            (try? VaultAccess.agent(of: locked.path))?.greeting.state == .unlocked
        else { return }
        guard Terminal() == nil else {
            return Output.note("this takes the vault's keys, which never leave the agent: the passphrase is asked for")
        }
        throw CommandError(
            .locked, "the agent has the vault open, but this takes the vault's keys, which never leave the agent",
            hint: "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }
}

extension OpenVault {
    fileprivate func synced(withFingerprint: Bool) throws -> SyncResult {
        if let agent = self as? AgentClient { return try agent.sync(withFingerprint: withFingerprint) }
        guard let vault = self as? Vault else { throw VaultError.unimplemented }
        let result = SyncResult(syncing: vault, withFingerprint: withFingerprint)
        // The file is named where it was opened.
        if case .vault(let error)? = result.failure { throw error }
        return result
    }
}

extension SyncResult {
    /// Whether a folder cannot be written to by the agent alone: its service sees most of the file system read-only.
    fileprivate var isBeyondAgent: Bool {
        outcomes.contains { outcome in
            guard case .store(.inputOutput(.readOnlyFileSystem, _))? = outcome.error else { return false }
            return FileManager.default.isWritableFile(atPath: outcome.url.folder.string)
        }
    }
}

enum FleetAccess {
    /// Runs the body on the fleet of an open vault; in what it throws, logs have the names of their devices.
    static func naming<R>(_ vault: Vault, _ body: (Fleet) throws -> R) throws -> R {
        let fleet = try Fleet(vault)
        do { return try body(fleet) } catch SyncError.vault(let error) {
            // The file is named where it was opened.
            throw error
        } catch SyncError.alarm(let alarm) {
            throw CommandError(alarm, of: DeviceNames(fleet))
        }
    }
}
