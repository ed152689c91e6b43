// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultSync

// Changes of the fleet. Its members and remotes concern the items of every group.

protocol ServedVerb: FleetVerb, WholeRequest, VaultRequest {}

extension AddRemoteRequest: ServedVerb {}
extension RemoveRemoteRequest: ServedVerb {}
extension AskingDeviceRequest: ServedVerb {}
extension ApproveRequest: ServedVerb {}
extension DeviceSecretsRequest: ServedVerb {}
extension RemoveDeviceRequest: ServedVerb {}
extension ResolveRosterRequest: ServedVerb {}
extension RenewCodeRequest: ServedVerb {}
extension FoundRequest: ServedVerb {}
extension RecoverRequest: ServedVerb {}
extension AskToJoinRequest: ServedVerb {}
extension AnswerToJoinRequest: ServedVerb {}

extension ServedVerb {
    static var lane: Lane { waitsForRemote ? .remotes : .pool }

    /// Carries out a verb, which requires an unlocked vault. An automatic sync gives way to a verb that waits for a
    /// remote.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        guard Self.waitsForRemote else { return try carryOut(for: caller, answers) }
        return try answers.keeper.whileNotSyncing { () throws(VaultError) in try carryOut(for: caller, answers) }
    }

    private func carryOut(for caller: Caller, _ answers: Answers) throws(VaultError) -> [SyncReply] {
        let keeper = answers.keeper
        keeper.lockIfDue()
        let change = try keeper.useAtOnce(["*"], counts: Self.isUse) { vault throws(VaultError) in
            // The items that are readable after the first unlock would suffice for most of it.
            guard !vault.isLocked else { throw .locked }
            if Self.opensAll, !caller.isAttended {
                let needsPerson = try vault.readReplica { $0.hasItemsForPersons }
                guard !needsPerson else { throw .presenceRequired }
            }
            let fleet = { () throws(SyncError) in
                try Fleet(vault, environment: keeper.settings.environment, engines: keeper.engines)
            }
            let change = FleetChange(self, fleet, keeper.fleetHost)
            if case .vault(let error)? = change.failure { throw error }
            return change
        }
        if !change.isLook, change.failure == nil {
            try answers.afterwards { audit throws(VaultError) in try audit.note(.set, count: 1, by: caller) }
        }
        return SyncReply.parts(of: change)
    }
}
