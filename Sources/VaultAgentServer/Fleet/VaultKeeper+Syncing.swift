// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultSync

extension VaultKeeper {
    /// Syncs with the remotes of the vault's fleet, on this thread. The vault is held only for each transaction: the
    /// agent serves others meanwhile, and can lock.
    func sync(withFingerprint: Bool) throws(VaultError) -> SyncResult {
        let follower = follower.withLock { $0 }
        guard let follower else { return try syncAtOnce(withFingerprint: withFingerprint) }
        let result = try follower.givingWay { () throws(VaultError) in
            try syncAtOnce(withFingerprint: withFingerprint)
        }
        follower.note(result)
        return result
    }

    private func syncAtOnce(withFingerprint: Bool) throws(VaultError) -> SyncResult {
        let result = try use(["*"]) { vault throws(VaultError) in
            let result = SyncResult(
                syncing: vault, environment: settings.environment, engines: engines, withFingerprint: withFingerprint
            ) { self.goesOn }
            if case .vault(let error)? = result.failure { throw error }
            return result
        }
        if result.awaitsUnlock { noteFetched() }
        return result
    }

    /// Joins fetched records after an unlock. The next sync makes up for a failure here.
    func joinFetched() {
        guard takeFetched() else { return }
        do throws(VaultError) {
            try use(["*"]) { vault throws(VaultError) in
                do throws(SyncError) {
                    _ = try Fleet(vault, environment: settings.environment).joinFetched()
                } catch {
                    if case .vault(let error) = error { throw error }
                    // The current sync starts again as soon as it learns of the unlock.
                    if error == .busy, follower.withLock({ $0 != nil }) { return }
                    settings.report("what was fetched while it was locked waits for the next sync")
                }
            }
        } catch { settings.report("what was fetched while it was locked waits for the next sync: \(error)") }
    }
}
