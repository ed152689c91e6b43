// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The result of a change of the roster.
struct RosterAttempt {
    /// The state of each remote: after the change, or as it was found when none took the change.
    var outcomes: [SyncOutcome]
    /// The reason why the roster was not changed.
    var failure: SyncError?
}

extension Fleet {
    /// Changes the roster at the first remote that accepts the change, and brings the change to the other remotes.
    /// Before the change this device receives all new records, and publishes nothing.
    ///
    /// An unreachable remote or a faulty record of a log does not prevent a change. A fault in the roster does.
    ///
    /// - Parameter change: receives a replica that has followed a remote's roster; returns `false` if another device
    ///   changed that roster first.
    func changeRoster(
        _ membership: Membership, goesOn: @escaping () -> Bool = { true }, report: (String) -> Void = { _ in },
        _ change: (Replica<VaultItems>, any RecordStore) throws(SyncError) -> Bool
    ) throws(SyncError) -> RosterAttempt {
        let replica = try replica(membership)
        replica.goesOn = goesOn
        var before = try sync(replica, membership, report, tells: false)
        var failure: SyncError?
        for (index, outcome) in before.enumerated() {
            do throws(SyncError) {
                if let error = outcome.error, error.isOfRemoteOrRoster { throw error }
                try Self.check(outcome.alarms)
                try changeRoster(at: outcome.url, goesOn, change)
            } catch {
                before[index] = outcome.with(error: error)
                failure = failure ?? error
                if case .store = error { continue }
                return RosterAttempt(outcomes: before, failure: error)
            }
            return RosterAttempt(outcomes: bringToAll(after: before, goesOn, report), failure: nil)
        }
        return RosterAttempt(outcomes: before, failure: failure ?? .noSuchRemote)
    }

    private func changeRoster(
        at url: RemoteURL, _ goesOn: @escaping () -> Bool,
        _ change: (Replica<VaultItems>, any RecordStore) throws(SyncError) -> Bool
    ) throws(SyncError) {
        let known = try membership()
        let replica = try replica(known)
        replica.goesOn = goesOn
        guard let remote = known.remotes.first(where: { $0.url == url })?.access else { throw .noSuchRemote }
        let store = try store(at: remote, realm: known.identity.realmID)
        var failure: SyncError?
        do throws(SyncError) {
            try replica.followRoster(store)
            try Self.check(replica.takeFindings().alarms)
            while try !change(replica, store) { try replica.followFaster(store) }
        } catch { failure = error }
        // Saved even after a failure: keys from a roster open the records in the mirror.
        if replica.identity !== known.identity { try save(replica.identity, deviceName: known.deviceName) }
        if let failure { throw failure }
    }

    /// Throws on an altered record of the roster, which may be another owner's change: a second record in its place
    /// would be a fork.
    private static func check(_ alarms: [Alarm]) throws(SyncError) {
        if let alarm = alarms.first(where: { $0.log == nil && $0.kind != .withheld }) { throw .alarm(alarm) }
    }

    /// Brings the change to all remotes. The change is made already; the next sync makes up for failures from here on.
    private func bringToAll(
        after before: [SyncOutcome], _ goesOn: @escaping () -> Bool, _ report: (String) -> Void
    ) -> [SyncOutcome] {
        do throws(SyncError) {
            let known = try membership()
            let replica = try replica(known)
            replica.goesOn = goesOn
            let after = try sync(replica, known, report)
            return after.map { outcome in
                before.first { $0.url == outcome.url }.map { outcome.with(earlier: $0) } ?? outcome
            }
        } catch { return before.map { $0.with(error: $0.error ?? error) } }
    }
}

extension SyncError {
    /// Whether the error prevents a change of the roster at a remote. Only the alarm of a log does not.
    fileprivate var isOfRemoteOrRoster: Bool { if case .alarm(let alarm) = self { alarm.log == nil } else { true } }
}

extension SyncOutcome {
    fileprivate func with(error: SyncError?) -> SyncOutcome {
        SyncOutcome(url: url, report: report, alarms: alarms, notes: notes, error: error)
    }

    /// The combined outcome of two syncs with one remote.
    fileprivate func with(earlier: SyncOutcome) -> SyncOutcome {
        var report = report
        for count in [\SyncReport.applied, \.published, \.sent, \.received, \.items, \.comparedEqual, \.movedItems] {
            report[keyPath: count] += earlier.report[keyPath: count]
        }
        report.revived = earlier.report.revived + report.revived
        report.newLog = report.newLog || earlier.report.newLog
        return SyncOutcome(
            url: url, report: report, alarms: earlier.alarms.filter { !alarms.contains($0) } + alarms,
            notes: earlier.notes.filter { !notes.contains($0) } + notes,
            error: error)
    }
}
