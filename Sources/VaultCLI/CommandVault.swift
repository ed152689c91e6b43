// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

/// An open vault as commands have it: through the agent, or opened by the command itself. No command asks which.
protocol CommandVault: OpenVault {
    func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool

    /// What the vault knows of its fleet without a look at a remote.
    func fleetLook() throws(VaultError) -> FleetLook

    /// Syncs the vault with the remotes of its fleet.
    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult

    /// - Parameter directory: where the agent's log of this vault is.
    /// - Returns: how many lines it has, and the number of the first that is not what was written.
    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?)
}

extension AgentClient: CommandVault {
    func fleetLook() throws(VaultError) -> FleetLook { try fleet() }

    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult { try sync(withFingerprint: withFingerprint) }

    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        try checkAuditLog()
    }
}

extension Vault: CommandVault {
    func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool { try hasConflict(record.id) }

    func fleetLook() throws(VaultError) -> FleetLook {
        let look = FleetLook(of: self)
        // The file is named where it was opened.
        if case .vault(let error)? = look.failure { throw error }
        return look
    }

    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult {
        let result = SyncResult(
            syncing: self, engines: .all(.system), withFingerprint: withFingerprint, patience: FleetAccess.patience)
        // The file is named where it was opened.
        if case .vault(let error)? = result.failure { throw error }
        return result
    }

    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        try AuditLog.check(with: self, in: directory)
    }
}
