// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

// The own log: whether it belongs to this file and is whole, and the change to a new log otherwise.

extension SyncRun {
    /// Returns `nil` if the own log can continue.
    func reasonForNewLog(_ heads: [RecordStream: StreamHead]) throws(SyncError) -> NewLog.Reason? {
        let own = try ownRecords(heads, from: firstOfInterest)
        guard member.hasOwnLog, try !isCopy(own) else { return .copied }
        let isWhole = try takeBack(own)
        return isWhole ? nil : .lost
    }

    private var ownNumbers: Set<UInt64> { mirror.numbers(of: member.ownStream) }

    private var ownBase: UInt64 { max(state.logs[state.log]?.base ?? 0, 1) }

    /// The first own entry that the mirror lacks; if it lacks none, the last one that a remote has acknowledged.
    private var firstOfInterest: UInt64 {
        let here = ownNumbers
        guard ownBase < state.ackedSequence else { return state.ackedSequence }
        return (ownBase..<state.ackedSequence).first { !here.contains($0) } ?? state.ackedSequence
    }

    /// Reads the remote's records of the own log. Only those signed by the log's device count: junk by the operator
    /// does not make this file a copy.
    private func ownRecords(
        _ heads: [RecordStream: StreamHead], from sequence: UInt64
    ) throws(SyncError) -> [UInt64: [UInt8]] {
        guard heads[member.ownStream] != nil else { return [:] }
        let author = state.logs[state.log]?.device ?? member.deviceID
        var (records, refused): ([UInt64: [UInt8]], Int) = ([:], 0)
        try read(member.ownStream, from: sequence) { record throws(SyncError) in
            if try isEntry(record, by: author) {
                records[record.address.sequence] = record.bytes
            } else {
                refused += 1
                raise(record.address.alarm(.damaged, "a record that this log's device has not written"))
                if let mine = try mirror.bytes(at: record.address),
                    try isEntry(StoredRecord(record.address, mine), by: author)
                {
                    try replace(at: record.address, with: mine)
                }
            }
            return refused < Junk.mostRecords
        }
        return records
    }

    /// Whether this file is a copy or was restored: its log is ahead of it, at the remote or in the mirror, or its last
    /// write is gone.
    func isCopy(_ own: [UInt64: [UInt8]]) throws(SyncError) -> Bool {
        let mirrored = ownNumbers
        if (own.keys.max() ?? 0) > state.sequence || (mirrored.max() ?? 0) > state.sequence { return true }
        for (sequence, bytes) in own {
            let address = RecordAddress(member.ownStream, sequence)
            let mine: Bytes32? =
                sequence == state.sequence ? state.hash : sequence == state.ackedSequence ? state.ackedHash : nil
            if let mine, sealer.hash(address, bytes) != mine { return true }
            guard let here = try mirror.bytes(at: address), here != bytes else { continue }
            let author = state.logs[state.log]?.device ?? member.deviceID
            if try isEntry(StoredRecord(address, here), by: author) { return true }
            try mirror.drop(address)
        }
        return try isPendingGone()
    }

    /// Whether an entry that no remote has acknowledged is missing in the mirror, or belongs to another file there.
    private func isPendingGone() throws(SyncError) -> Bool {
        var (sequence, expected) = (state.sequence, state.hash)
        while sequence > state.ackedSequence {
            let address = RecordAddress(member.ownStream, sequence)
            let bytes = try mirror.bytes(at: address)
            guard let bytes, sealer.hash(address, bytes) == expected else { return true }
            sequence -= 1
            guard sequence > state.ackedSequence, let entry = try ownEntry(bytes, address) else { continue }
            expected = entry.previous
        }
        return false
    }

    /// Restores lost records of the own log in the mirror.
    ///
    /// - Returns: whether the mirror then has all of them, with the large values.
    private func takeBack(_ own: [UInt64: [UInt8]]) throws(SyncError) -> Bool {
        let lost = own.filter { $0.key >= ownBase && !ownNumbers.contains($0.key) }
            .map { StoredRecord(RecordAddress(member.ownStream, $0.key), $0.value) }
            .sorted { $0.address < $1.address }
        if !lost.isEmpty { try mirror.add(lost) }
        for record in try lost + untold() where try !fetchParts(of: record) { return false }
        let here = ownNumbers
        return state.sequence < ownBase || (ownBase...state.sequence).allSatisfy(here.contains)
    }

    /// Returns the own entries that no remote has yet. They cannot be uploaded without the large values that they name.
    private func untold() throws(SyncError) -> [StoredRecord] {
        var records: [StoredRecord] = []
        var sequence = state.ackedSequence
        while sequence < state.sequence {
            sequence += 1
            let address = RecordAddress(member.ownStream, sequence)
            if let bytes = try mirror.bytes(at: address) { records.append(StoredRecord(address, bytes)) }
        }
        return records
    }

    // MARK: Entries beyond the end

    /// Joins entries of this device beyond the end of a log that it has abandoned. The remote at which the file changed
    /// its log did not have them yet. No other device accepts entries beyond an end, so their author publishes their
    /// writes again.
    func takeLate(_ heads: [RecordStream: StreamHead]) throws(SyncError) {
        var late: [ItemID: ItemState<Secret>] = [:]
        for (log, end) in state.ownEnds {
            let stream = RecordStream(.log, log)
            guard let head = heads[stream], head.last > end else { continue }
            try takeLate(stream, behind: end, &late)
        }
        var news = Set(late.keys)
        try items.forEachState(of: Array(late.keys)) { whole throws(SyncError) in
            if let told = late[whole.id], Merge.join(whole, told) == nil { news.remove(whole.id) }
        }
        guard !news.isEmpty else { return }
        for id in news { if let told = late[id] { queue.told.append((told, 0)) } }
        state.retellsEnded = true
        try flush()
    }

    private func takeLate(
        _ stream: RecordStream, behind end: UInt64, _ late: inout [ItemID: ItemState<Secret>]
    ) throws(SyncError) {
        let head = state.logs[stream.name]?.head
        var (last, refused) = (head?.sequence == end ? head?.hlc ?? 0 : 0, 0)
        try read(stream, from: end) { record throws(SyncError) in
            try checkGoesOn()
            guard try isEntry(record, by: member.deviceID) else {
                refused += 1
                return refused < Junk.mostRecords
            }
            do throws(Obstacle) {
                let (hlc, items) = try entry(of: record)
                if record.address.sequence == end { last = hlc }
                // Items that were only published again may have been forgotten since, with a valid reason.
                for item in items where record.address.sequence > end && item.context[stream.name] ?? 0 > last {
                    late[item.id] = late[item.id].map { Merge.join($0, item) ?? $0 } ?? item
                }
            } catch { if case .fails(let error) = error { throw error } }
            return true
        }
    }

    // MARK: The new log

    func begin(_ reason: NewLog.Reason, _ heads: [RecordStream: StreamHead]) throws(SyncError) {
        // A base that this file never published is void: the records below it are needed.
        try fetch(heads, believesBases: false)
        let (old, stream) = (state, member.ownStream)
        // A file from another machine has that machine's log, which continues there.
        let isOwn = member.hasOwnLog
        let chain = try ownChain(ownRecords(heads, from: 1))
        let told = publishedThrough(chain)
        if isOwn { try mirror.settle(stream, chain) }
        var fresh = ReplicaState(log: Bytes16(random.bytes(16)))
        fresh.clock = state.clock
        (fresh.rosterSequence, fresh.rosterHash, fresh.epoch) = (state.rosterSequence, state.rosterHash, state.epoch)
        fresh.removals = state.removals
        for (log, known) in state.logs where known.device != nil || known.end != nil {
            var kept = LogState()
            (kept.device, kept.end, kept.endHash) = (known.device, known.end, known.endHash)
            fresh.logs[log] = kept
        }
        if isOwn { leave(old.log, chain, reason, &fresh) }
        let reader = try readEverything(fresh, chain, isOwn ? old.log : nil)
        var newLog = NewLog(
            reason, old: old, told: told, fleet: reader.items.items, reader.state, wall: wall())
        try items.begin(&newLog)
        member.state = newLog.state
        noteCommitted()
        rollBack()
        checks = RecordChecks()
        waiting = [:]
        findings.report.movedItems += newLog.movedItems
        switch reason {
        case .copied: findings.report.newLog = true
        case .lost:
            note(Alarm(.rolledBack, old.log, 0, "this device's log was incomplete: it is published again"))
        }
    }

    /// Ends the abandoned log, never below the entries that the file knows to be acknowledged. Up to the end the log is
    /// read like that of any other device.
    private func leave(_ old: LogID, _ chain: [UInt64: [UInt8]], _ reason: NewLog.Reason, _ fresh: inout ReplicaState) {
        fresh.ownEnds = state.ownEnds
        let tail = chain.keys.max() ?? 0
        guard tail > 0 || state.sequence > 0 else { return }
        var left = fresh.logs[old] ?? LogState()
        left.device = member.deviceID
        let known = max(tail, state.ackedSequence)
        if left.end.map({ known < $0 }) ?? true {
            left.end = known
            left.endHash =
                chain[known].map { sealer.hash(RecordAddress(RecordStream(.log, old), known), $0) }
                ?? (known == 0 ? .zero : state.ackedHash)
        }
        let end = left.end ?? known
        fresh.ownEnds[old] = end
        // The file has everything that its log published: with everything published again, nothing of the log is
        // needed.
        if reason == .lost { (left.base, left.baseHash, left.said) = (end + 1, left.endHash, end + 1) }
        fresh.logs[old] = left
    }

    /// Returns the old log: the remote's records, and those of the mirror that continue them.
    private func ownChain(_ own: [UInt64: [UInt8]]) throws(SyncError) -> [UInt64: [UInt8]] {
        let stream = member.ownStream
        var chain = own
        // The entries before the first one read were acknowledged.
        for number in mirror.numbers(of: stream) where number < own.keys.min() ?? 1 {
            chain[number] = try mirror.bytes(at: RecordAddress(stream, number))
        }
        var next = (chain.keys.max() ?? 0) + 1
        while let bytes = try mirror.bytes(at: RecordAddress(stream, next)) {
            let before = chain[next - 1].map { sealer.hash(RecordAddress(stream, next - 1), $0) }
            guard next == 1 || before != nil, let entry = try ownEntry(bytes, RecordAddress(stream, next)),
                entry.previous == before ?? .zero
            else {
                break
            }
            chain[next] = bytes
            next += 1
        }
        return chain
    }

    /// Parses an own entry, which any of this device's files may have written.
    private func ownEntry(_ bytes: [UInt8], _ address: RecordAddress) throws(SyncError) -> LogEntry<Range<Int>>? {
        do throws(Obstacle) {
            return try EntryBody.parse(open(parse(bytes, at: address), at: address), at: address, withItems: true)
        } catch {
            if case .fails(let error) = error { throw error }
            return nil
        }
    }

    /// Returns the stamp up to which this file's own writes are in valid records.
    private func publishedThrough(_ chain: [UInt64: [UInt8]]) -> UInt64 {
        let old = state.log
        func has(_ sequence: UInt64, _ hash: Bytes32) -> Bool {
            guard let bytes = chain[sequence] else { return false }
            return sealer.hash(RecordAddress(member.ownStream, sequence), bytes) == hash
        }
        if let end = state.logs[old]?.end {
            var through: UInt64 = 0
            for (sequence, bytes) in chain where sequence <= end {
                guard let entry = try? ownEntry(bytes, RecordAddress(member.ownStream, sequence)) else { continue }
                through = max(through, entry.items.compactMap { $0.context[old] }.max() ?? 0)
            }
            return min(through, state.ackedThrough)
        }
        return state.sequence > 0 && has(state.sequence, state.hash) ? state.through : state.ackedThrough
    }

    /// Reads all available records like a new device. Entries of the abandoned log beyond a gap count too: states are
    /// whole, and this device was their author.
    private func readEverything(
        _ fresh: ReplicaState, _ chain: [UInt64: [UInt8]], _ own: LogID?
    ) throws(SyncError) -> (items: MemoryItems, state: ReplicaState) {
        let memory = MemoryItems(fresh, random: random)
        var reader = member
        reader.state = fresh
        let replica = Replica(memory, reader, mirror: mirror, policy: policy, random: random, clock: wall)
        return try replica.withRun(store) { run throws(SyncError) in
            try run.applyEverything()
            if let own {
                for sequence in chain.keys.sorted() where sequence > run.member.head(own) {
                    do throws(Obstacle) {
                        for item in try run.items(of: own, sequence) { run.queue.told.append((item, 0)) }
                    } catch { if case .fails(let error) = error { throw error } }
                }
                try run.flush()
            }
            run.state.retellsEnded = false
            return (memory, run.state)
        }
    }
}
