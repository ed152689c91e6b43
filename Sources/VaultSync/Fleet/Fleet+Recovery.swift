// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

extension Fleet {
    /// Replaces the recovery code. From then on the previous code opens no new record and admits no device.
    ///
    /// - Parameters:
    ///   - given: a code that the caller has already shown; `nil` makes a new one.
    ///   - show: receives the code before it is valid.
    /// - Returns: the outcome for each remote; at least one has the change.
    /// - Throws: `.notAnOwner`; the reason why no remote took the change; an error of `show`.
    package func renewRecoveryCode(
        code given: RecoveryCode? = nil, showing show: (RecoveryCode) throws(SyncError) -> Void = { _ in }
    ) throws(SyncError) -> [SyncOutcome] {
        try alone { before throws(SyncError) in
            try checkIsOwner(try replica(before))
            // A device that waits to be removed must not receive a later change, including this one.
            if let failure = try removeWaiting(before)?.failure { throw failure }
            let membership = try membership()
            let realm = membership.identity.realmID
            let code = try given.orNew(random)
            let recovery = try RecoveryDevice(code, realm)
            var isShown = false
            let attempt = try changeRoster(membership) { replica, store throws(SyncError) in
                try checkIsOwner(replica)
                if !isShown { try show(code) }
                isShown = true
                return try replica.renewRecoveryCode(recovery, at: store)
            }
            if let failure = attempt.failure { throw failure }
            return attempt.outcomes
        }
    }

    /// Runs up to the moment at which a new code would be shown, and changes nothing.
    ///
    /// - Throws: like ``renewRecoveryCode(code:showing:)``.
    package func checkCanRenewRecoveryCode() throws(SyncError) {
        do throws(SyncError) {
            _ = try renewRecoveryCode { _ throws(SyncError) in throw .vault(.cancelled) }
        } catch { guard error == .vault(.cancelled) else { throw error } }
    }
}

extension Replica {
    /// - Returns: `false` if another device changed the roster meanwhile.
    fileprivate func renewRecoveryCode(
        _ recovery: RecoveryDevice, at store: any RecordStore
    ) throws(SyncError) -> Bool {
        try withRun(store) { run throws(SyncError) in
            let roster = run.member.roster
            guard let founder = roster.founder.flatMap({ roster.known[$0] }) else { throw .notJoined }
            let proof = recovery.proof(founder: founder.signingKey, founder.boxKey, run.member.realmID)
            let old = roster.devices.filter { $0.role == .recovery }.map {
                RosterOperation<Secret>.remove($0.id, cuts: [])
            }
            let (key, epoch) = try run.makeEpoch()
            let operations: [RosterOperation<Secret>] =
                [.enrol(recovery.rosterDevice)] + old
                + [epoch, .recovery(recovery.identity.deviceID, recoveryMAC: proof)]
            guard try run.appendToRoster(operations, newKey: key) else { return false }
            try run.flush()
            return true
        }
    }
}
