// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultFleet
internal import VaultSync

/// An open vault for commands: through the agent, or opened by the command itself. Commands do not distinguish the two.
protocol CommandVault: OpenVault, RefusalStore {
    func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool

    /// Returns the vault's knowledge of its fleet, without contacting a remote.
    func fleetLook() throws(VaultError) -> FleetLook

    /// Syncs the vault with the remotes of its fleet.
    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult

    /// - Parameter directory: the directory of the agent's log for this vault.
    /// - Returns: the number of lines, and the number of the first altered one.
    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?)
}

extension AgentClient: CommandVault {
    func fleetLook() throws(VaultError) -> FleetLook { try value(of: FleetRequest()) }

    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult {
        try value(of: SyncRequest(withFingerprint: withFingerprint))
    }

    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        try checkAuditLog()
    }
}

extension Vault: CommandVault {
    func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool { try hasConflict(record.id) }

    func fleetLook() throws(VaultError) -> FleetLook {
        let look = FleetLook(of: self)
        // The error gets the file name where the vault was opened.
        if case .vault(let error)? = look.failure { throw error }
        return look
    }

    func synced(withFingerprint: Bool) throws(VaultError) -> SyncResult {
        let result = SyncResult(
            syncing: self, engines: .all(.system), withFingerprint: withFingerprint, patience: FleetAccess.patience)
        // The error gets the file name where the vault was opened.
        if case .vault(let error)? = result.failure { throw error }
        return result
    }

    func checkAuditLog(in directory: FilePath) throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        try AuditLog.check(with: self, in: directory)
    }
}
