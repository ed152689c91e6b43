// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

/// A device as a member of its fleet: its keys, the roster, and the logs as far as the device has read and written
/// them. A value type: nothing here reads or writes a disk.
package struct Member {
    package var identity: Identity
    package var roster: Roster
    package var state: ReplicaState

    package init(_ identity: Identity, _ state: ReplicaState) {
        (self.identity, self.state) = (identity, state)
        roster = Roster(identity.realmID)
    }

    var realmID: RealmID { identity.realmID }
    var deviceID: DeviceID { identity.deviceID }
    var rosterStream: RecordStream { RecordStream(.roster, realmID) }
    var ownStream: RecordStream { RecordStream(.log, state.log) }

    /// Whether the fleet accepts entries of this device.
    var writes: Bool { roster.device(deviceID)?.writes ?? false }

    /// Whether the log of this file's writes belongs to this device.
    var hasOwnLog: Bool { (state.logs[state.log]?.device ?? deviceID) == deviceID }

    /// Whether this device can open the genuine record of the roster at a number, or find a farewell in it: the device
    /// has followed that record before, or is a member and the record is the next one. A joining device may lack a key.
    func opensRecord(_ sequence: UInt64) -> Bool { sequence <= state.rosterSequence || roster.device(deviceID) != nil }

    /// Whether the record, which is the next of the roster, proves to a device that an owner has removed it.
    func isFarewell(_ record: SealedRecord, at address: RecordAddress, to device: Identity) -> Bool {
        Farewell.isSaid(by: record, at: address.sequence, to: device, signers: roster.owners.map(\.signingKey))
    }

    /// Whether a roster is the one of the state, and this device has the keys of all of its epochs.
    func hasFollowed(_ roster: Roster) -> Bool {
        roster.realmID == realmID && roster.sequence == state.rosterSequence && roster.hash == state.rosterHash
            && Set(roster.epochs).isSubset(of: identity.epochKeys.keys)
    }

    // MARK: Logs

    func head(_ log: LogID) -> UInt64 { state.logs[log]?.head?.sequence ?? 0 }

    func isBeyondEnd(_ log: LogID, _ sequence: UInt64) -> Bool {
        guard let end = state.logs[log]?.end else { return false }
        return sequence > end
    }

    var endedLogs: Set<LogID> { Set(state.logs.filter { $0.value.end != nil }.keys) }

    /// The logs that may continue.
    package var openLogs: Set<LogID> {
        var logs = Set(state.logs.keys.filter(isOpen))
        if state.logs[state.log]?.end == nil, writes { logs.insert(state.log) }
        return logs
    }

    func isOpen(_ log: LogID) -> Bool {
        guard let known = state.logs[log], known.end == nil, known.head != nil, let device = known.device else {
            return false
        }
        return roster.device(device) != nil
    }

    var logset: UInt64 { Sums.logset(openLogs, roster.devices.filter(\.writes).map(\.id)) }

    /// The devices without any accepted entry.
    package var silentDevices: [RosterDevice] {
        let heard = Set(openLogs.compactMap { state.logs[$0]?.device } + [deviceID])
        return roster.devices.filter { $0.writes && !heard.contains($0.id) }
    }

    /// The stamp up to which all other open logs are applied; 0 while a member has no log.
    var ack: UInt64 {
        guard silentDevices.isEmpty else { return 0 }
        let others = openLogs.filter { $0 != state.log }
        return others.compactMap { state.logs[$0]?.head?.hlc }.min() ?? state.clock
    }

    /// Whether two devices with the same heads must have the same items, apart from pending writes.
    var isComparable: Bool {
        state.logs.allSatisfy { _, log in
            if let entered = log.entered, log.base <= log.end ?? entered, log.said < entered { return false }
            guard let end = log.end else { return true }
            return log.head?.sequence ?? 0 >= end || log.base > end
        }
    }

    /// Whether an entry may state the beginning of a log: its author owns that log, or the log has ended and the author
    /// is an owner of the fleet. Any other writer passes on hearsay, and could hide another device's entries.
    func counts(_ trim: LogTrim, by entry: CheckedEntry, in log: LogID, _ sequence: UInt64) -> Bool {
        if trim.log == log { return trim.base <= sequence }
        if trim.log == state.log { return false }
        if state.logs[trim.log]?.device == entry.device { return true }
        if state.logs[trim.log]?.device == nil { return entry.closes.contains { $0.log == trim.log } }
        return state.logs[trim.log]?.end != nil && roster.known[entry.device]?.role == .owner
    }

    // MARK: Sums

    /// The sum of the words of the heads of all open logs except the own.
    var othersAt: UInt64 { openLogs.filter { $0 != state.log }.reduce(0) { $0 &+ Sums.word($1, head($1)) } }

    /// The word of the own log with this head; 0 unless the log is open.
    func ownAt(_ sequence: UInt64) -> UInt64 {
        state.logs[state.log]?.end == nil && writes ? Sums.word(state.log, sequence) : 0
    }

    // MARK: Time

    /// Returns a stamp for an entry, above each of the given stamps.
    mutating func tick(_ wall: UInt64, above stamps: UInt64...) -> UInt64 {
        state.clock = max(max(state.clock, stamps.max() ?? 0) + 1, wall)
        return state.clock
    }

    /// Advances the clock to the stamp of another device, at most to one hour ahead of this device's clock.
    mutating func follow(_ stamp: UInt64, _ wall: UInt64) {
        state.clock = max(state.clock, min(stamp, wall + Member.hour << 16))
    }

    /// The length of an hour, in milliseconds.
    static let hour: UInt64 = 3_600_000

    // MARK: The content of a log's head

    /// Makes an entry the head of its log.
    ///
    /// - Parameter jumped: whether the log now begins at the entry.
    mutating func apply(_ entry: CheckedEntry, _ log: LogID, _ sequence: UInt64, jumped: Bool) {
        var known = state.logs[log] ?? LogState()
        known.device = entry.device
        known.head = LogState.Head(
            sequence: sequence, hash: entry.hash, hlc: entry.hlc, ack: entry.ack, logset: entry.logset)
        (known.at, known.sum) = (entry.at, entry.sum)
        if jumped { known.entered = sequence }
        if jumped || known.first == nil { known.first = (sequence, entry.hlc) }
        known.tips = Dictionary(entry.tips.map { ($0.log, $0.sequence) }) { max($0, $1) }
        state.logs[log] = known
    }

    /// Ends a log at an entry. Entries beyond the end are refused from now on. This device vouches for those that it
    /// has applied: it publishes their items again under its own name.
    mutating func end(_ log: LogID, at cut: UInt64, _ hash: Bytes32) {
        let old = state.logs[log]?.end
        if old == nil || cut < (old ?? cut) {
            state.logs[log, default: LogState()].end = cut
            state.logs[log]?.endHash = hash
        }
        let head = head(log)
        if log != state.log, head > cut, old.map({ head > min($0, cut) && cut < $0 }) ?? true {
            state.retellsEnded = true
        }
    }

    /// Ends the logs of a device that the roster has removed.
    mutating func end(_ removal: Roster.Removal) {
        let cuts = Set(removal.cuts.map(\.log))
        for (log, known) in state.logs where known.device == removal.device && !cuts.contains(log) {
            end(log, at: 0, .zero)
        }
        for cut in removal.cuts {
            state.logs[cut.log, default: LogState()].device = removal.device
            end(cut.log, at: cut.sequence, cut.hash)
        }
    }

    // MARK: The content of the next entry

    /// Takes the heads that no other head cites and that this log has not cited, in ascending order of stamps.
    mutating func takeTips(_ limit: Int) -> [LogTip] {
        var covered: Set<LogHead> = []
        for (_, known) in state.logs {
            for (log, sequence) in known.tips { covered.insert(LogHead(log: log, sequence: sequence, hash: .zero)) }
        }
        var found: [(tip: LogTip, hlc: UInt64)] = []
        for (log, known) in state.logs where log != state.log {
            guard let head = known.head, let device = known.device, head.sequence > known.cited,
                !covered.contains(LogHead(log: log, sequence: head.sequence, hash: .zero)),
                head.sequence <= known.end ?? .max
            else { continue }
            found.append((LogTip(log: log, device: device, sequence: head.sequence, hash: head.hash), head.hlc))
        }
        found.sort { ($0.hlc, $0.tip.log) < ($1.hlc, $1.tip.log) }
        let tips = found.prefix(limit).map(\.tip)
        for tip in tips { state.logs[tip.log]?.cited = tip.sequence }
        return tips
    }

    /// The beginnings of logs. Those that are valid only by this device's word come first, since an entry has room for
    /// 512.
    var trims: [LogTrim] {
        let isOwner = roster.device(deviceID)?.role == .owner
        let known = state.logs.filter { $0.value.base > 1 }.map { log, known in
            let rank = known.device == deviceID ? 0 : known.end != nil && isOwner ? 1 : 2
            return (rank: rank, trim: LogTrim(log: log, base: known.base, hash: known.baseHash))
        }
        return known.sorted { ($0.rank, $0.trim.log) < ($1.rank, $1.trim.log) }.prefix(Member.mostTrims).map(\.trim)
    }

    private static var mostTrims: Int { 512 }

    /// The ends of own logs that were abandoned.
    var closes: [LogHead] {
        state.ownEnds.map { log, sequence in
            LogHead(log: log, sequence: sequence, hash: state.logs[log]?.endHash ?? .zero)
        }
    }
}

extension RosterDevice {
    /// Whether the device has a log.
    var writes: Bool { role == .owner || role == .writer }
}
