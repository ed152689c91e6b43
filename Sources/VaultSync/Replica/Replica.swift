// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
package import VaultFormat

/// How patient a replica is, and how much it says at once.
package struct ReplicaPolicy: Sendable {
    /// How long what is cited may be missing before it is called withheld, in milliseconds: a minute where a remote
    /// shows all or nothing, a day where records come one by one.
    package var withheldAfter: UInt64 = 60_000
    package var isFolder = false
    /// How long sums may differ before that is called diverged.
    package var divergedAfter: UInt64 = 60_000
    /// How long a device waits at most before it tells everything again, so that not all do it at once.
    package var longestHealDelay: UInt64 = 3_600_000
    package var healInterval: UInt64 = 86_400_000
    package var heartbeatInterval: UInt64 = 86_400_000
    /// Of the items of one entry, in bytes.
    package var entryLength = 192 << 10
    package var mostTips = LogTip.limit
    /// What must be superseded before a log is trimmed, in bytes.
    package var leastTrim: UInt64 = 1 << 20

    package init() {}
}

/// One device's part in a fleet: what it tells, what it hears, and what it makes of it.
///
/// Not thread-safe; one sync at a time.
package final class Replica<Items: ReplicaItems> {
    package let items: Items
    package let mirror: Mirror
    package var policy: ReplicaPolicy
    let random: any RandomSource
    let sealer: RecordSealer
    package internal(set) var identity: Identity
    package internal(set) var roster: Roster
    package var state: ReplicaState
    /// What stops a log, or everything.
    package var alarms: [Alarm] = []
    /// What was noticed and is healed by this sync.
    package var notes: [Alarm] = []
    package var report = SyncReport()
    /// Asked between two records; a sync that is not wanted any more ends there.
    var goesOn: () -> Bool = { true }

    // What signed entries in hand say, whether they can be applied yet or not.
    var known: [LogID: UInt64]?
    var jumps: [LogID: UInt64] = [:]
    var ended: [LogID: UInt64] = [:]
    /// What entries wait for, and these.
    var waiting: [Missing: Set<RecordAddress>] = [:]
    var checked: [RecordAddress: CheckedEntry] = [:]
    /// The large values that entries name, as far as these were looked at.
    var namedBlobs: [RecordAddress: [BlobReference]] = [:]
    /// What was applied and is not committed yet.
    var queue = ReplicaChange()
    /// Whether each entry is committed by itself.
    var isCareful = false
    /// The words of the heads of all open logs but the own; nil: something else about them changed.
    var othersAt: UInt64?
    private var lookedForPending: (version: UInt64, through: UInt64, found: Bool)?
    private var summed: (version: UInt64, sum: UInt64)?
    /// Fetches a part of a blob that the mirror lacks.
    var fetchBlob: ((RecordAddress) throws(SyncError) -> [UInt8]?)?

    package init(
        _ items: Items, _ state: ReplicaState, identity: Identity, mirror: Mirror, policy: ReplicaPolicy,
        random: any RandomSource
    ) throws(SyncError) {
        (self.items, self.state, self.identity, self.mirror) = (items, state, identity, mirror)
        (self.policy, self.random) = (policy, random)
        sealer = RecordSealer(realmID: identity.realmID, random: random)
        roster = Roster(identity.realmID)
        try replayRoster()
    }

    var realmID: RealmID { identity.realmID }
    package var deviceID: DeviceID { identity.deviceID }
    /// In milliseconds since 1970.
    var now: UInt64 { items.wallStamp >> 16 }

    // MARK: Time

    func tick() -> UInt64 {
        state.clock = max(max(state.clock, items.newestStamp) + 1, items.wallStamp)
        return state.clock
    }

    /// A clock that is far ahead is not followed further than an hour.
    func follow(_ stamp: UInt64) {
        state.clock = max(state.clock, min(stamp, items.wallStamp + 3_600_000 << 16))
    }

    /// Whether the fleet takes what this device tells.
    var writes: Bool { roster.device(deviceID)?.writes ?? false }

    // MARK: What is known

    func head(_ log: LogID) -> UInt64 { state.logs[log]?.head?.sequence ?? 0 }

    func isBeyondEnd(_ log: LogID, _ sequence: UInt64) -> Bool {
        guard let end = state.logs[log]?.end else { return false }
        return sequence > end
    }

    var endedLogs: Set<LogID> { Set(state.logs.filter { $0.value.end != nil }.keys) }

    /// The logs that may go on.
    package var openLogs: Set<LogID> {
        var logs = Set(
            state.logs.compactMap { log, known in
                guard known.end == nil, known.head != nil, let device = known.device, roster.device(device) != nil
                else {
                    return nil as LogID?
                }
                return log
            })
        if state.logs[state.log]?.end == nil, writes { logs.insert(state.log) }
        return logs
    }

    var logset: UInt64 { Sums.logset(openLogs, roster.devices.filter(\.writes).map(\.id)) }

    /// Devices that never wrote anything that counts.
    package var silentDevices: [RosterDevice] {
        let heard = Set(openLogs.compactMap { state.logs[$0]?.device } + [deviceID])
        return roster.devices.filter { $0.writes && !heard.contains($0.id) }
    }

    /// The stamp up to which all other open logs are applied; 0 while a member has none.
    var ack: UInt64 {
        guard silentDevices.isEmpty else { return 0 }
        let others = openLogs.filter { $0 != state.log }
        return others.compactMap { state.logs[$0]?.head?.hlc }.min() ?? state.clock
    }

    func isOpen(_ log: LogID) -> Bool {
        guard let known = state.logs[log], known.end == nil, known.head != nil, let device = known.device else {
            return false
        }
        return roster.device(device) != nil
    }

    /// Names the heads of the open logs.
    func at(own sequence: UInt64) -> UInt64 {
        let others =
            othersAt ?? openLogs.filter { $0 != state.log }.reduce(0) { $0 &+ Sums.word($1, head($1)) }
        othersAt = others
        return isOwnOpen(state.log) ? others &+ Sums.word(state.log, sequence) : others
    }

    private func isOwnOpen(_ own: LogID) -> Bool { state.logs[own]?.end == nil && writes }

    /// Whether two devices with the same heads must have the same items, unless something is pending.
    var isComparable: Bool {
        state.logs.allSatisfy { _, log in
            if let entered = log.entered, log.base <= log.end ?? entered, log.said < entered { return false }
            guard let end = log.end else { return true }
            return log.head?.sequence ?? 0 >= end || log.base > end
        }
    }

    func hasPending() throws(SyncError) -> Bool {
        if state.retellsAll || state.retellsEnded { return true }
        let version = items.version
        if let looked = lookedForPending, looked.version == version, looked.through == state.through {
            return looked.found
        }
        let found = try !items.pending(after: state.through).isEmpty
        lookedForPending = (version, state.through, found)
        return found
    }

    func sum() throws(SyncError) -> UInt64 {
        let version = items.version
        if let summed, summed.version == version { return summed.sum }
        let sum = try items.sum()
        summed = (version, sum)
        return sum
    }

    func raise(_ alarm: Alarm) {
        // A folder can have any number of reasons, and a person reads few.
        if alarms.count < 1000, !alarms.contains(alarm) { alarms.append(alarm) }
    }

    func note(_ alarm: Alarm) { if !notes.contains(alarm) { notes.append(alarm) } }

    /// - Throws: `.vault(.cancelled)`
    func checkGoesOn() throws(SyncError) { if !goesOn() { throw .vault(.cancelled) } }

    // MARK: Commits

    /// Makes durable what was applied.
    func flush() throws(SyncError) {
        let change = queue
        queue = ReplicaChange()
        try items.commit(change, state)
    }
}

extension RosterDevice {
    /// Whether it has a log.
    var writes: Bool { role == .owner || role == .writer }
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
}
