// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The time and size limits of a replica.
package struct ReplicaPolicy: Sendable {
    /// The time in milliseconds until a missing cited record counts as withheld: a minute if a remote shows all or
    /// nothing, a day if records arrive one by one.
    package var withheldAfter: UInt64 = 60_000
    /// The time in milliseconds until different sums count as diverged.
    package var divergedAfter: UInt64 = 60_000
    /// The upper bound of the random delay before a device publishes everything again, so that not all devices do so at
    /// once.
    package var longestHealDelay: UInt64 = 3_600_000
    package var healInterval: UInt64 = 86_400_000
    package var heartbeatInterval: UInt64 = 86_400_000
    /// The least time between two notes that another device has the same items.
    package var equalInterval: UInt64 = 0
    /// The size of the items of one entry, in bytes.
    package var entryLength = 192 << 10
    package var mostTips = LogTip.limit
    /// The least superseded size of a log that is worth a trim, in bytes.
    package var leastTrim: UInt64 = 1 << 20

    package init() {}
}

/// The device's clock as a stamp: milliseconds since 1970 << 16.
package typealias WallClock = () -> UInt64

/// A device's part in a fleet: the member, its items and its mirror. The state of one sync with one remote is a
/// ``SyncRun``.
///
/// Not thread-safe; only one sync at a time.
package final class Replica<Items: ReplicaItems> {
    package let items: Items
    package let mirror: Mirror
    package var policy: ReplicaPolicy
    let random: any RandomSource
    let wall: WallClock
    package internal(set) var member: Member
    /// Called between two records; `false` ends the sync.
    package var goesOn: () -> Bool = { true }
    /// The ends of the remote's logs that were read lately: their last records are not read again.
    var looked: [RecordStream: UInt64] = [:]
    /// The findings of the runs since the last ``takeFindings()``.
    package private(set) var findings = SyncFindings()

    /// - Parameter roster: a roster that this process has followed. If it is the state's and the mirror has all of its
    ///   records, they are not opened again.
    package init(
        _ items: Items, _ state: ReplicaState, identity: Identity, mirror: Mirror, policy: ReplicaPolicy,
        roster: Roster? = nil, random: any RandomSource, clock: @escaping WallClock
    ) throws(SyncError) {
        (self.items, self.mirror, self.policy, self.random, wall) = (items, mirror, policy, random, clock)
        member = Member(identity, state)
        if let roster, member.hasFollowed(roster), mirror.hasAll(of: member.rosterStream, through: roster.sequence) {
            member.roster = roster
        }
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

    /// Runs the body with a new run, and keeps the member's state after it. After an error only the committed state and
    /// the learned keys are kept.
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

    /// Syncs with one remote in both directions.
    ///
    /// - Parameters:
    ///   - remote: the device's memory of the remote, which changes after a successful sync.
    ///   - acknowledgedElsewhere: the last own entry that every other remote has; `nil` if there is no other.
    ///   - tells: whether pending items are published.
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

    /// Follows the roster, and adds the remote's records to the mirror after a check. No key of an item is needed.
    package func fetch(from store: any RecordStore, _ remote: inout RemoteState) throws(SyncError) {
        var known = remote
        try withRun(store) { run throws(SyncError) in try run.fetchLocked(&known) }
        remote = known
    }

    /// Applies the records of the mirror, without a look at a remote.
    package func joinFetched() throws(SyncError) { try withRun { run throws(SyncError) in try run.joinFetched() } }

    /// Follows a remote's roster beyond the known records.
    package func followRoster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.followRoster() }
    }

    /// Compares the whole roster with a remote's, and repairs altered records of the latter: a joining device reads all
    /// of it.
    func settleRoster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.settleRoster() }
    }

    /// Follows the roster after another device has taken the next record's place.
    func followFaster(_ store: any RecordStore) throws(SyncError) {
        try withRun(store) { run throws(SyncError) in try run.followFaster() }
    }

    /// Signs a record of the roster and appends it to the remote's chain.
    ///
    /// - Parameters:
    ///   - newKey: the key of the next epoch, for the remaining members.
    ///   - signer: a signer other than this device: the recovery code's.
    ///   - store: `nil` for the first record of a new realm, which the first sync uploads.
    /// - Returns: `false` if another device was faster.
    package func appendToRoster(
        _ operations: [RosterOperation<Secret>], newKey: Secret? = nil, signedBy signer: Identity? = nil,
        at store: (any RecordStore)?
    ) throws(SyncError) -> Bool {
        try withRun(store) { run throws(SyncError) in
            try run.appendToRoster(operations, newKey: newKey, signedBy: signer)
        }
    }

    /// Publishes pending items, into the mirror only.
    ///
    /// - Parameters:
    ///   - also: items that are published again.
    ///   - isForced: whether an entry without items is published too.
    package func publish(also: Set<ItemID> = [], isForced: Bool = false) throws(SyncError) {
        try withRun { run throws(SyncError) in try run.publish(also: also, isForced: isForced) }
    }

    /// Moves the beginning of the own log forward.
    ///
    /// - Returns: `false` if a record of the log is not available.
    package func trim(through acknowledged: UInt64) throws(SyncError) -> Bool {
        try withRun { run throws(SyncError) in try run.trim(through: acknowledged) }
    }

    /// Returns the logs that this file has abandoned and read to their end.
    package func leftLogs() -> [LogID] { SyncRun(self, nil).leftLogs() }

    package func trim(_ left: [LogID]) throws(SyncError) { try withRun { run throws(SyncError) in try run.trim(left) } }
}

/// The statistics of a sync.
package struct SyncReport: Equatable, Sendable {
    /// The number of applied entries of others. ``published`` counts those of this device.
    package var applied = 0
    package var published = 0
    package var sent = 0
    package var received = 0
    package var items = 0
    /// Items that were deleted on one device and changed on another: the change wins.
    package var revived: [ItemID] = []
    package var comparedEqual = 0
    package var movedItems = 0
    package var newLog = false
    /// Whether the vault was locked: nothing was joined, published or restored.
    package var isLocked = false
    /// The number of checked entries of others that wait in the mirror of a locked vault. ``untold`` counts the items
    /// that were changed here and are not published.
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

/// The findings and statistics of a sync.
package struct SyncFindings {
    package var report = SyncReport()
    /// The findings that stopped a log, or everything.
    package private(set) var alarms: [Alarm] = []
    /// The findings that this sync heals.
    package private(set) var notes: [Alarm] = []

    /// The most alarms and notes: a folder can cause any number, and a person reads few.
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
