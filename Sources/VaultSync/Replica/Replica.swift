// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// How patient a replica is, and how much it says at once.
package struct ReplicaPolicy: Sendable {
    /// How long a cited record may be missing before it is called withheld, in milliseconds: a minute where a remote
    /// shows all or nothing, a day where records come one by one.
    package var withheldAfter: UInt64 = 60_000
    /// How long sums may differ before that is called diverged.
    package var divergedAfter: UInt64 = 60_000
    /// How long a device waits at most before it tells everything again, so that not all do it at once.
    package var longestHealDelay: UInt64 = 3_600_000
    package var healInterval: UInt64 = 86_400_000
    package var heartbeatInterval: UInt64 = 86_400_000
    /// How long it is not written down anew that another device has the same.
    package var equalInterval: UInt64 = 0
    /// Of the items of one entry, in bytes.
    package var entryLength = 192 << 10
    package var mostTips = LogTip.limit
    /// What must be superseded before a log is trimmed, in bytes.
    package var leastTrim: UInt64 = 1 << 20

    package init() {}
}

/// This moment by the device's clock, as a stamp: milliseconds since 1970 << 16.
package typealias WallClock = () -> UInt64

/// One device's part in a fleet: the member, its items and its mirror. What one sync with one remote knows is a
/// ``SyncRun``.
///
/// Not thread-safe; one sync at a time.
package final class Replica<Items: ReplicaItems> {
    package let items: Items
    package let mirror: Mirror
    package var policy: ReplicaPolicy
    let random: any RandomSource
    let wall: WallClock
    package internal(set) var member: Member
    /// Asked between two records; a sync that is not wanted any more ends there.
    package var goesOn: () -> Bool = { true }
    /// Up to where the logs of the remote were read lately: their last records are not asked for again.
    var looked: [RecordStream: UInt64] = [:]
    /// What the runs since the last ``takeFindings()`` found and did.
    package private(set) var findings = SyncFindings()

    package init(
        _ items: Items, _ state: ReplicaState, identity: Identity, mirror: Mirror, policy: ReplicaPolicy,
        random: any RandomSource, clock: @escaping WallClock
    ) throws(SyncError) {
        (self.items, self.mirror, self.policy, self.random, wall) = (items, mirror, policy, random, clock)
        member = Member(identity, state)
        try withRun { run throws(SyncError) in try run.replayRoster() }
    }

    init(
        _ items: Items, _ member: Member, mirror: Mirror, policy: ReplicaPolicy, random: any RandomSource,
        clock: @escaping WallClock
    ) {
        (self.items, self.mirror, self.policy, self.random, wall) = (items, mirror, policy, random, clock)
        self.member = member
    }

    package var state: ReplicaState { member.state }
    package var roster: Roster { member.roster }
    package var identity: Identity { member.identity }
    package var deviceID: DeviceID { member.deviceID }

    package func takeFindings() -> SyncFindings {
        defer { findings = SyncFindings() }
        return findings
    }

    // MARK: Runs

    /// Runs the body with what one sync knows, and keeps what the member knows after it. Of a run that fails only what
    /// was committed stays, and the keys that it learned.
    func withRun<R>(
        _ store: (any RecordStore)? = nil, _ body: (SyncRun<Items>) throws(SyncError) -> R
    ) throws(SyncError) -> R {
        let run = SyncRun(self, store)
        defer { findings.add(run.findings) }
        do throws(SyncError) {
            let result = try body(run)
            (member, looked) = (run.member, run.looked)
            return result
        } catch {
            let learned = run.member.identity
            member = run.committed
            member.identity = learned
            throw error
        }
    }

    /// One sync with one remote, which copies both ways.
    ///
    /// - Parameters:
    ///   - remote: what the device remembers of it; it changes when the sync has gone through.
    ///   - acknowledgedElsewhere: the last own entry that every other remote has; nil: there is no other.
    ///   - tells: whether what is pending goes out.
    package func sync(
        with store: any RecordStore, _ remote: inout RemoteState, acknowledgedElsewhere: UInt64? = nil,
        tells: Bool = true
    ) throws(SyncError) {
        var known = remote
        try withRun(store) { run throws(SyncError) in
            try run.sync(&known, acknowledgedElsewhere: acknowledgedElsewhere, tells: tells)
        }
        remote = known
    }

    /// Follows the roster and brings the remote's records into the mirror, checked. No key of an item is needed.
    package func fetch(from store: any RecordStore, _ remote: inout RemoteState) throws(SyncError) {
        var known = remote
        try withRun(store) { run throws(SyncError) in try run.fetchLocked(&known) }
        remote = known
    }

    /// Joins what is in the mirror, without a look at a remote.
    package func joinFetched() throws(SyncError) {
        try withRun { run throws(SyncError) in try run.joinFetched() }
    }

    /// Takes what a remote has of the roster beyond what is known.
    package func followRoster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.followRoster() }
    }

    /// Compares the whole roster with a remote's, and puts altered records of it right: a device that joins reads it
    /// from the beginning.
    func settleRoster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.settleRoster() }
    }

    /// Follows the roster to the record of another device that was faster.
    func followFaster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.followFaster() }
    }

    /// Signs a record of the roster and puts it at the remote's end of the chain.
    ///
    /// - Parameters:
    ///   - newKey: of the next epoch, for those who remain.
    ///   - signer: another device than this one: the recovery code's.
    ///   - store: nil for the first record of a new realm, which goes up with the first sync.
    /// - Returns: false when another device was faster.
    package func appendToRoster(
        _ operations: [RosterOperation<Secret>], newKey: Secret? = nil, signedBy signer: Identity? = nil,
        at store: (any RecordStore)?
    ) throws(SyncError) -> Bool {
        try withRun(store) { run throws(SyncError) in
            try run.appendToRoster(operations, newKey: newKey, signedBy: signer)
        }
    }

    /// Tells what is pending, to the mirror alone.
    ///
    /// - Parameters:
    ///   - also: items that are told again.
    ///   - isForced: whether an entry goes out that tells nothing.
    package func publish(also: Set<ItemID> = [], isForced: Bool = false) throws(SyncError) {
        try withRun { run throws(SyncError) in try run.publish(also: also, isForced: isForced) }
    }

    /// Lets the own log begin later.
    ///
    /// - Returns: false when that cannot be: a record of the log is not in hand.
    package func trim(through acknowledged: UInt64) throws(SyncError) -> Bool {
        try withRun { run throws(SyncError) in try run.trim(through: acknowledged) }
    }

    /// Logs that this file left behind and has read to their end.
    package func leftLogs() -> [LogID] { SyncRun(self, nil).leftLogs() }

    package func trim(_ left: [LogID]) throws(SyncError) {
        try withRun { run throws(SyncError) in try run.trim(left) }
    }
}

/// What a sync did.
package struct SyncReport: Equatable, Sendable {
    /// Entries of others that were applied, and those of this device.
    package var applied = 0
    package var published = 0
    package var sent = 0
    package var received = 0
    package var items = 0
    /// Deleted elsewhere while changed here, or the other way round: the edit counts.
    package var revived: [ItemID] = []
    package var comparedEqual = 0
    package var movedItems = 0
    package var newLog = false
    /// Whether the vault was locked: nothing was joined, told or put back.
    package var isLocked = false
    /// Then: entries of others that lie in the mirror, checked, and items that were changed here and are not told.
    package var waiting = 0
    package var untold = 0

    package init() {}

    mutating func add(_ other: SyncReport) {
        applied += other.applied
        published += other.published
        sent += other.sent
        received += other.received
        items += other.items
        revived += other.revived
        comparedEqual += other.comparedEqual
        movedItems += other.movedItems
        newLog = newLog || other.newLog
        isLocked = isLocked || other.isLocked
        waiting += other.waiting
        untold += other.untold
    }
}

/// What a sync found and did.
package struct SyncFindings {
    package var report = SyncReport()
    /// What stops a log, or everything.
    package private(set) var alarms: [Alarm] = []
    /// What was noticed and is healed by this sync.
    package private(set) var notes: [Alarm] = []

    /// A folder can have any number of reasons, and a person reads few.
    private static let most = 1000

    mutating func raise(_ alarm: Alarm) {
        if alarms.count < Self.most, !alarms.contains(alarm) { alarms.append(alarm) }
    }

    mutating func note(_ alarm: Alarm) {
        if notes.count < Self.most, !notes.contains(alarm) { notes.append(alarm) }
    }

    mutating func add(_ other: SyncFindings) {
        report.add(other.report)
        for alarm in other.alarms { raise(alarm) }
        for note in other.notes { self.note(note) }
    }
}
