// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

extension Fleet {
    /// Syncs with every remote in turn. If the vault is locked, only the mirror receives new records.
    ///
    /// - Parameters:
    ///   - urls: the remotes to sync with; `nil` selects all.
    ///   - report: receives a phrase for each step.
    ///   - goesOn: called between two records; `false` ends the sync with `.vault(.cancelled)`.
    package func sync(
        with urls: Set<RemoteURL>? = nil, report: (String) -> Void = { _ in }, goesOn: @escaping () -> Bool = { true }
    ) throws(SyncError) -> [SyncOutcome] {
        try alone { membership throws(SyncError) in
            if let removed = try removeWaiting(membership, goesOn: goesOn, report: report) { return removed.outcomes }
            let replica = try replica(membership)
            replica.goesOn = goesOn
            return try sync(replica, membership, report, with: urls)
        }
    }

    /// - Parameters:
    ///   - urls: the remotes to sync with; `nil` selects all.
    ///   - tells: whether pending items are published.
    func sync(
        _ replica: Replica<VaultItems>, _ membership: Membership, _ report: (String) -> Void,
        with urls: Set<RemoteURL>? = nil, tells: Bool = true
    ) throws(SyncError) -> [SyncOutcome] {
        var known = membership
        if !vault.isLocked { try replica.items.stampUnknown() }
        var outcomes: [SyncOutcome] = []
        for url in membership.remotes.map(\.url) where urls?.contains(url) ?? true {
            report("syncing with \(url.text)")
            var outcome = outcome(of: replica, with: url, &known, isLocked: vault.isLocked, tells: tells)
            // The vault was locked meanwhile.
            if outcome.error == .vault(.locked), !outcome.report.isLocked {
                outcome = self.outcome(of: replica, with: url, &known, isLocked: true, tells: tells)
            }
            outcomes.append(outcome)
            if outcome.error == .vault(.cancelled) { break }
        }
        return outcomes
    }

    private func outcome(
        of replica: Replica<VaultItems>, with url: RemoteURL, _ known: inout Membership, isLocked: Bool, tells: Bool
    ) -> SyncOutcome {
        _ = replica.takeFindings()
        let realm = replica.identity.realmID
        // Programs that copy folders may put second records beside the first, so folders are always read again.
        let isLookedAt = isUnasked && url.scheme != .file
        replica.looked = isLookedAt ? engines.looks.ends(at: url, realm) : [:]
        var failure: SyncError?
        var untold = 0
        do throws(SyncError) { untold = try sync(replica, with: url, &known, isLocked: isLocked, tells: tells) } catch {
            failure = error
        }
        do throws(SyncError) {
            if failure == .removed, var before = known.remotes.first(where: { $0.url == url }) {
                before.state.saysRemoved = true
                try update(before.access, before.state)
            }
            // Saved even after a failure: keys from a roster open the records in the mirror.
            if replica.identity !== known.identity {
                try save(replica.identity, deviceName: known.deviceName)
                known.identity = replica.identity
            }
        } catch { failure = failure ?? error }
        engines.rosters[realm] = replica.roster
        var findings = replica.takeFindings()
        findings.report.untold = untold
        let isGood = failure == nil && findings.alarms.isEmpty && findings.notes.isEmpty
        if isLookedAt { engines.looks.note(isGood ? replica.looked : nil, at: url, realm) }
        return SyncOutcome(url: url, findings, error: failure)
    }

    /// - Returns: the number of unpublished items of a locked vault; 0 if the vault is unlocked.
    private func sync(
        _ replica: Replica<VaultItems>, with url: RemoteURL, _ known: inout Membership, isLocked: Bool, tells: Bool
    ) throws(SyncError) -> Int {
        guard let index = known.remotes.firstIndex(where: { $0.url == url }) else { throw .noSuchRemote }
        let before = known.remotes[index].state
        let store = try store(at: known.remotes[index].access, realm: replica.identity.realmID)
        var untold = 0
        if isLocked {
            try replica.fetch(from: store, &known.remotes[index].state)
            untold = try self.untold(replica)
        } else {
            let others = known.remotes.indices.filter { $0 != index }.map { other in
                acknowledged(known.remotes[other].state, replica)
            }.min()
            try replica.sync(with: store, &known.remotes[index].state, acknowledgedElsewhere: others, tells: tells)
        }
        known.remotes[index].state.saysRemoved = false
        if isNews(known.remotes[index].state, after: before) {
            try update(known.remotes[index].access, known.remotes[index].state)
        }
        return untold
    }

    /// Whether the vault has to store the state. Each commit is written to the disk.
    private func isNews(_ state: RemoteState, after before: RemoteState) -> Bool {
        var same = before
        same.lastSync = state.lastSync
        guard isUnasked, state == same, state.lastSync >= before.lastSync else { return true }
        return state.lastSync - before.lastSync >= Fleet.restOfUnasked
    }

    private func acknowledged(_ remote: RemoteState, _ replica: Replica<VaultItems>) -> UInt64 {
        remote.log == replica.state.log ? remote.acknowledged : 0
    }

    /// Joins the records that were fetched while the vault was locked.
    ///
    /// - Returns: the number of joined items.
    package func joinFetched() throws(SyncError) -> Int {
        try alone { membership throws(SyncError) in
            let replica = try replica(membership)
            try replica.joinFetched()
            return replica.takeFindings().report.items
        }
    }
}
