// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultFormat
internal import VaultSync

// Automatic syncs.

extension VaultKeeper {
    /// The longest wait of an ending agent for a remote that hangs.
    static let patienceForRemote = Duration.seconds(1)

    /// - Parameter note: called after each sync with changes, with the number of items that changed here.
    func follow(note: @escaping @Sendable (Int) -> Void) {
        let report = settings.report
        let found = FoundRecords()
        let follower = FleetFollower(
            KeptVault(keeper: self), pace: settings.pace, random: settings.environment.random
        ) { event in
            switch event {
            case .synced(let result):
                for line in result.outcomes.flatMap({ found.lines($0) }) { report(line) }
                let reports = result.outcomes.map(\.report)
                guard reports.contains(where: { $0.items > 0 || $0.published > 0 }) else { return }
                note(reports.reduce(0) { $0 + $1.items })
            case .lost(let url, let error): report("no syncing with \(url.text): \(error.phrase)")
            case .back(let url): report("syncing with \(url.text) again")
            }
        }
        self.follower.withLock { $0 = follower }
        didUnlock.withLock { $0 = { [weak follower] in follower?.noteLockState() } }
        follower.begin(watching: settings.vault.removingLastComponent())
    }

    /// The state of each remote; `nil` without automatic syncs.
    var following: [RemoteFollowing]? { follower.withLock { $0 }?.following }

    /// Runs the body without an automatic sync beside it.
    func whileNotSyncing<R>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        guard let follower = follower.withLock({ $0 }) else { return try body() }
        return try follower.givingWay(body)
    }

    func stopFollowing() {
        let follower = follower.withLock { follower in
            defer { follower = nil }
            return follower
        }
        follower?.end(patience: VaultKeeper.patienceForRemote)
    }
}

/// An agent's vault for its follower, which neither unlocks it nor keeps it open.
private struct KeptVault: FollowedVault {
    let keeper: VaultKeeper
    private let seen = SeenCommit()

    func outlook(isForced: Bool) -> FleetOutlook? {
        do throws(VaultError) {
            return try keeper.useUnasked(["*"]) { vault throws(VaultError) -> FleetOutlook? in
                guard seen.isNew(try vault.sequence) || isForced else { return nil }
                do throws(SyncError) { return try fleet(vault).outlook() } catch {
                    if case .vault(let error) = error { throw error }
                    return FleetOutlook.none
                }
            }
        } catch {
            // The vault was never unlocked, or its file is unreadable at the moment: the next unlock or commit triggers
            // another look.
            _ = seen.isNew(nil)
            return error == .locked ? FleetOutlook.none : nil
        }
    }

    func sync(with urls: Set<RemoteURL>, goesOn: @escaping @Sendable () -> Bool) -> SyncResult {
        keeper.lockIfDue()
        let turns = keeper.lockTurns
        do throws(VaultError) {
            let result = try keeper.useUnasked(["*"]) { vault throws(VaultError) in
                let result = SyncResult(
                    syncing: vault, with: urls, environment: keeper.settings.environment, engines: keeper.engines,
                    withFingerprint: false, isUnasked: true
                ) { [keeper] in goesOn() && keeper.goesOn && keeper.lockTurns == turns }
                if case .vault(let error)? = result.failure { throw error }
                return result
            }
            if result.awaitsUnlock { keeper.noteFetched() }
            return result
        } catch { return SyncResult(failure: .vault(error)) }
    }

    func watch(
        _ url: RemoteURL, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(SyncError) -> (any RecordWatch)? {
        var result: Result<(any RecordWatch)?, SyncError> = .success(nil)
        do throws(VaultError) {
            try keeper.useUnasked(["*"]) { vault throws(VaultError) in
                do throws(SyncError) { result = .success(try fleet(vault).watch(url, hint)) } catch {
                    result = .failure(error)
                }
            }
        } catch { throw .vault(error) }
        return try result.get()
    }

    private func fleet(_ vault: Vault) throws(SyncError) -> Fleet {
        try Fleet(vault, environment: keeper.settings.environment, engines: keeper.engines)
    }
}

extension SyncError {
    /// The text for the agent's log.
    fileprivate var phrase: String {
        switch self {
        case .store(let error): RecordStoreError.shown(error.phrase)
        case .removed: "this device was removed from the fleet"
        case .alarm(let alarm): "\(alarm.kind.rawValue): \(alarm.what)"
        default: "'vault sync' says why"
        }
    }
}
