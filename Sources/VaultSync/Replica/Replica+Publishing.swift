// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

extension Replica {
    /// Tells all that is pending, in one entry or several; only the last of them acknowledges.
    ///
    /// - Parameters:
    ///   - also: items that are told again.
    ///   - isForced: whether an entry goes out that tells nothing.
    package func publish(also: Set<ItemID> = [], isForced: Bool = false) throws(SyncError) {
        try flush()
        guard writes else { return }
        var pending: [ItemID: UInt64] = [:]
        for (id, own) in try items.pending(after: state.through) { pending[id] = own }
        if state.retellsAll {
            for (id, own) in try items.all() { pending[id] = own }
        } else if state.retellsEnded {
            for (id, own) in try items.touching(endedLogs) { pending[id] = own }
        }
        if !also.isEmpty { for (id, own) in try items.all() where also.contains(id) { pending[id] = own } }
        // A device that has a log is heard of at once: until then nothing that is deleted can be forgotten.
        guard !pending.isEmpty || isForced || state.sequence == 0 || isHeartbeatDue else { return }
        var batch = Batch(try epochKey())
        try fill(&batch, with: pending)
        (state.retellsEnded, state.retellsAll) = (false, false)
        try emit(&batch, isLast: true)
        for (log, known) in state.logs { state.logs[log]?.published = known.head?.sequence ?? 0 }
        state.publishedAt = now
        try keep(batch)
    }

    /// Tells items again that have been told, and nothing that is pending.
    func retell(_ ids: Set<ItemID>) throws(SyncError) {
        try flush()
        guard writes else { return }
        let pending = Set(try items.pending(after: state.through).map(\.id))
        let again = try items.all().filter { ids.contains($0.id) && !pending.contains($0.id) }
        guard !again.isEmpty else { return }
        var batch = Batch(try epochKey())
        try fill(&batch, with: Dictionary(again.map { ($0.id, $0.own) }) { max($0, $1) })
        // No entry is the last one: pending items are not told.
        try emit(&batch, isLast: false)
        try keep(batch)
    }

    /// Makes entries of items, each with its greatest own stamp; the last one is not ended yet.
    private func fill(_ batch: inout Batch, with pending: [ItemID: UInt64]) throws(SyncError) {
        let room = max(
            policy.entryLength - (trims().count + closes().count) * LogHead.encodedLength, policy.entryLength / 4)
        // What was changed first is told first: up to which stamp everything is told can be said of each entry.
        let order = pending.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        try items.forEachState(of: order) { whole throws(SyncError) in
            let item = try withBlobs(whole, batch.key, &batch.parts)
            let named = batch.logs.union(item.context.keys)
            let length = batch.length + item.encodedLength(\.count)
            if length + named.count * Bytes16.length > room, !batch.items.isEmpty { try emit(&batch, isLast: false) }
            batch.items.append(item)
            batch.length += item.encodedLength(\.count)
            batch.logs.formUnion(item.context.keys)
            batch.through = max(batch.through, pending[item.id] ?? 0)
        }
    }

    private func keep(_ batch: Batch) throws(SyncError) {
        // The file first: what the mirror has and the file does not would be another device's.
        try items.commit(batch.change, state)
        try mirror.add(batch.parts + batch.records)
        report.published += batch.records.count
    }

    /// Entries that are being made.
    private struct Batch {
        let key: (epoch: UInt32, key: Secret)
        var parts: [StoredRecord] = []
        var records: [StoredRecord] = []
        var items: [ItemState<Secret>] = []
        var length = 0
        /// What the items' contexts name.
        var logs: Set<LogID> = []
        var through: UInt64 = 0
        var change = ReplicaChange()

        init(_ key: (epoch: UInt32, key: Secret)) { self.key = key }
    }

    private func epochKey() throws(SyncError) -> (epoch: UInt32, key: Secret) {
        guard let key = identity.epochKeys[roster.epoch] else { throw .notJoined }
        return (roster.epoch, key)
    }

    /// When others wrote something since, once a day.
    private var isHeartbeatDue: Bool {
        guard now >= state.publishedAt + policy.heartbeatInterval else { return false }
        return state.logs.contains { $0.key != state.log && $0.value.head?.sequence ?? 0 != $0.value.published }
    }

    private func emit(_ batch: inout Batch, isLast: Bool) throws(SyncError) {
        let stamp = tick()
        let sequence = state.sequence + 1
        let isComparable = isLast && isComparable
        let entry = LogEntry<Secret>(
            epoch: batch.key.epoch, realmID: realmID, logID: state.log, deviceID: deviceID, sequence: sequence,
            previous: state.hash, hlc: stamp, ack: isLast ? ack : 0, logset: logset,
            rosterSequence: roster.sequence, rosterHash: roster.hash, at: isComparable ? at(own: sequence) : 0,
            sum: isComparable ? try sum() : 0, tips: takeTips(), trims: trims(), closes: closes(),
            items: batch.items)
        let address = RecordAddress(RecordStream(.log, state.log), sequence)
        let pieces = try formed { () throws(FormatError) in try entry.pieces(\.count) }
        let record = try sealer.seal(
            pieces, at: address, epoch: batch.key.epoch, key: batch.key.key, signedBy: identity)
        batch.records.append(StoredRecord(address, record))
        namedBlobs[address] = batch.items.flatMap(\.blobs)
        for item in batch.items where !item.isAlive { batch.change.published.append((item.id, stamp)) }
        state.sequence = sequence
        state.hash = sealer.hash(address, record)
        state.through = isLast ? stamp : max(state.through, batch.through)
        state.unacknowledged[sequence] = state.through
        var own = state.logs[state.log] ?? LogState()
        own.device = deviceID
        own.head = LogState.Head(
            sequence: sequence, hash: state.hash, hlc: stamp, ack: entry.ack, logset: entry.logset)
        own.first = own.first ?? (sequence, stamp)
        own.tips = Dictionary(entry.tips.map { ($0.log, $0.sequence) }) { max($0, $1) }
        state.logs[state.log] = own
        (batch.items, batch.length, batch.logs) = ([], 0, [])
    }

    /// The heads that no other head cites and that this log has not cited, the lowest first.
    private func takeTips() -> [LogTip] {
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
        let tips = found.prefix(policy.mostTips).map(\.tip)
        for tip in tips { state.logs[tip.log]?.cited = tip.sequence }
        return tips
    }

    /// First those that count, since this device says so: more than an entry has room for may be known.
    private func trims() -> [LogTrim] {
        let isOwner = roster.device(deviceID)?.role == .owner
        let known = state.logs.filter { $0.value.base > 1 }.map { log, known in
            let rank = known.device == deviceID ? 0 : known.end != nil && isOwner ? 1 : 2
            return (rank: rank, trim: LogTrim(log: log, base: known.base, hash: known.baseHash))
        }
        return known.sorted { ($0.rank, $0.trim.log) < ($1.rank, $1.trim.log) }.prefix(Self.mostTrims).map(\.trim)
    }

    private static var mostTrims: Int { 512 }

    private func closes() -> [LogHead] {
        state.ownEnds.compactMap { log, sequence in
            // A log of which nothing is left at any remote has no last entry.
            sequence == 0 ? nil : LogHead(log: log, sequence: sequence, hash: state.logs[log]?.endHash ?? .zero)
        }
    }
}
