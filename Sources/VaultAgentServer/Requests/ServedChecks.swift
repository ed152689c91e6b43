// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultSync

// Checks of the remotes by the agent.

extension CheckRemotesRequest: WholeRequest, VaultRequest {
    static let lane = Lane.own

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let checks = try answers.use(caller) { vault throws(VaultError) in
            guard !vault.isLocked else { throw .locked }
            return try answers.keeper.checks(of: vault)
        }
        return SyncReply.parts(of: checks?.wait(answers.keeper.settings.patienceForCheck) ?? [])
    }
}

extension VaultKeeper {
    /// Returns checks that all concurrent requests share, so that each remote has one at a time.
    ///
    /// - Returns: `nil` for a vault without a fleet.
    fileprivate func checks(of vault: Vault) throws(VaultError) -> RemoteChecks? {
        let result = checks.withLock { checks -> Result<RemoteChecks?, VaultError> in
            if let checks, !checks.isDone { return .success(checks) }
            do throws(SyncError) {
                // Uses separate connections, since open ones may hang.
                let engines = settings.engines ?? .all(settings.environment)
                checks = try Fleet(vault, environment: settings.environment, engines: engines).checkRemotes()
            } catch {
                checks = nil
                if case .vault(let error) = error { return .failure(error) }
            }
            return .success(checks)
        }
        return try result.get()
    }
}
