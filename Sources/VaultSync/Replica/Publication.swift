// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A member's next entries, of which only the last acknowledges. A value type, made from one consistent view of the
/// items; the caller makes it durable or drops it.
///
/// Size: the parts are the given facts, the entry that is being filled, and the finished records.
struct Publication {
    /// The member's state after the publication.
    private(set) var member: Member
    private(set) var records: [StoredRecord] = []
    private(set) var parts: [StoredRecord] = []
    private(set) var change = ReplicaChange()
    /// The large values that each entry names.
    private(set) var blobs: [RecordAddress: [BlobReference]] = [:]

    private let look: ItemLook
    private let sealer: RecordSealer
    private let key: (epoch: UInt32, key: Secret)
    private let policy: ReplicaPolicy
    private let wall: UInt64
    private let after: UInt64
    private let ownStamps: [ItemID: UInt64]
    private let room: Int

    /// The items of the entry that is being filled.
    private var items: [ItemState<Secret>] = []
    private var length = 0
    /// The logs that the items' contexts name.
    private var logs: Set<LogID> = []
    private var told: UInt64 = 0
    private var newest: UInt64 = 0

    /// - Throws: `.notJoined` without the key of the roster's epoch.
    init(
        _ member: Member, _ look: ItemLook, _ sealer: RecordSealer, _ policy: ReplicaPolicy, wall: UInt64
    ) throws(SyncError) {
        guard let key = member.identity.epochKeys[member.roster.epoch] else { throw .notJoined }
        (self.member, self.look, self.sealer, self.policy, self.wall) = (member, look, sealer, policy, wall)
        self.key = (member.roster.epoch, key)
        after = member.state.through
        ownStamps = Dictionary(look.selected.map { ($0.id, $0.own) }) { max($0, $1) }
        room = max(
            policy.entryLength - (member.trims.count + member.closes.count) * LogHead.encodedLength,
            policy.entryLength / 4)
    }

    /// The items in the order of their last change here, so that each entry determines a stamp up to which all is
    /// published.
    var order: [ItemID] { look.selected.sorted { ($0.own, $0.id) < ($1.own, $1.id) }.map(\.id) }

    mutating func add(_ whole: ItemState<Secret>) throws(SyncError) {
        let item = try sealer.withBlobs(whole, key, &parts)
        let itemLength = item.encodedLength(\.count)
        let named = logs.union(item.context.keys)
        if length + itemLength + named.count * Bytes16.length > room, !items.isEmpty {
            try emit(isLast: false, sum: nil)
        }
        items.append(item)
        length += itemLength
        logs.formUnion(item.context.keys)
        told = max(told, ownStamps[item.id] ?? 0)
        newest = max(newest, item.context[member.state.log] ?? 0)
    }

    /// Makes the last entry, which acknowledges the applied entries and states the sum, if there is one.
    ///
    /// - Parameter sum: the sum of the items at the look.
    mutating func end(stating sum: UInt64?) throws(SyncError) {
        (member.state.retellsEnded, member.state.retellsAll) = (false, false)
        try emit(isLast: true, sum: sum)
        for (log, known) in member.state.logs { member.state.logs[log]?.published = known.head?.sequence ?? 0 }
        member.state.publishedAt = wall >> 16
        change.watermark = Watermark(
            after: after, through: member.state.through, items: Set(ownStamps.keys), version: look.version,
            statesSum: sum != nil)
    }

    /// Makes the last entry of items that were published before. The entry acknowledges nothing.
    mutating func endOfTold() throws(SyncError) { try emit(isLast: false, sum: nil) }

    var hasItems: Bool { !items.isEmpty }

    private mutating func emit(isLast: Bool, sum: UInt64?) throws(SyncError) {
        // Above the stamps of the writes in the entry, the last of which may be later than the look.
        let stamp = member.tick(wall, above: look.newest, newest)
        let sequence = member.state.sequence + 1
        let tips = member.takeTips(policy.mostTips)
        let entry = LogEntry<Secret>(
            epoch: key.epoch, realmID: member.realmID, logID: member.state.log, deviceID: member.deviceID,
            sequence: sequence, previous: member.state.hash, hlc: stamp, ack: isLast ? member.ack : 0,
            logset: member.logset, rosterSequence: member.roster.sequence, rosterHash: member.roster.hash,
            at: sum == nil ? 0 : at(sequence), sum: sum ?? 0, tips: tips, trims: member.trims, closes: member.closes,
            items: items)
        let address = RecordAddress(member.ownStream, sequence)
        let pieces = try formed { () throws(FormatError) in try entry.pieces(\.count) }
        let record = try sealer.seal(
            pieces, at: address, epoch: key.epoch, key: key.key, signedBy: member.identity)
        records.append(StoredRecord(address, record))
        blobs[address] = items.flatMap(\.blobs)
        for item in items where !item.isAlive { change.published.append((item.id, stamp)) }
        member.state.sequence = sequence
        member.state.hash = sealer.hash(address, record)
        // Never the entry's own stamp: a verb may have taken a lower one since the look.
        member.state.through = isLast ? max(look.newest, member.state.through) : max(member.state.through, told)
        member.state.unacknowledged[sequence] = member.state.through
        var own = member.state.logs[member.state.log] ?? LogState()
        own.device = member.deviceID
        own.head = LogState.Head(
            sequence: sequence, hash: member.state.hash, hlc: stamp, ack: entry.ack, logset: entry.logset)
        own.first = own.first ?? (sequence, stamp)
        own.tips = Dictionary(tips.map { ($0.log, $0.sequence) }) { max($0, $1) }
        member.state.logs[member.state.log] = own
        (items, length, logs) = ([], 0, [])
    }

    /// The sum of the words of the heads of the open logs, once the entry is the own log's head.
    private func at(_ sequence: UInt64) -> UInt64 { othersAt &+ member.ownAt(sequence) }

    /// The sum of the words of the heads of all open logs except the own.
    var othersAt: UInt64 = 0
}
