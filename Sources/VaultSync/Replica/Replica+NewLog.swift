// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

// A file that was copied or put back goes on under another log: so no dot ever names two values.

extension Replica {
    /// - Parameter own: what the remote has of the own log.
    func beginAnew(_ own: [UInt64: [UInt8]]) throws(SyncError) {
        let old = state.log
        let stream = RecordStream(.log, old)
        // A file that came from another machine has that one's log, which goes on there.
        let isOwn = hasOwnLog
        let chain = try ownChain(own, stream)
        let through = publishedThrough(old, chain)
        if isOwn {
            try mirror.replace(
                stream,
                with: chain.sorted { $0.key < $1.key }.map { StoredRecord(RecordAddress(stream, $0.key), $0.value) })
        }
        let pending = try pendingStates(old, through)
        var fresh = ReplicaState(log: Bytes16(random.bytes(16)))
        fresh.clock = max(state.clock, items.newestStamp)
        (fresh.rosterSequence, fresh.rosterHash, fresh.epoch) = (state.rosterSequence, state.rosterHash, state.epoch)
        fresh.removals = state.removals
        for (log, known) in state.logs where known.device != nil || known.end != nil {
            var kept = LogState()
            (kept.device, kept.end, kept.endHash) = (known.device, known.end, known.endHash)
            fresh.logs[log] = kept
        }
        if isOwn {
            let tail = chain.keys.max() ?? 0
            fresh.ownEnds = state.ownEnds
            fresh.ownEnds[old] = tail
            // Read like that of any other device, up to where it ends now.
            var left = fresh.logs[old] ?? LogState()
            left.device = deviceID
            left.end = min(tail, left.end ?? tail)
            left.endHash = chain[tail].map { sealer.hash(RecordAddress(stream, tail), $0) } ?? .zero
            fresh.logs[old] = left
        }
        let reader = try readEverything(fresh)
        fresh = reader.state
        for item in pending { join(item, reader.items, &fresh, old) }
        fresh.clock = max(fresh.clock, state.clock)
        state = fresh
        (known, jumps, ended, waiting, checked, othersAt) = (nil, [:], [:], [:], [:], nil)
        report.newLog = true
        try items.rebuild(
            reader.items.items.values.map { ($0.state, $0.told, $0.erased) }, state)
    }

    /// Whether the log that this file's writes are named after is this device's.
    var hasOwnLog: Bool { (state.logs[state.log]?.device ?? deviceID) == deviceID }

    /// The old log is what the remote has of it, and what of the mirror continues that.
    private func ownChain(
        _ own: [UInt64: [UInt8]], _ stream: RecordStream
    ) throws(SyncError) -> [UInt64: [UInt8]] {
        var chain = own
        // What lies before the part that was read was acknowledged.
        for number in mirror.numbers(of: stream) where number < own.keys.min() ?? 1 {
            chain[number] = try mirror.bytes(at: RecordAddress(stream, number))
        }
        var next = (chain.keys.max() ?? 0) + 1
        while let bytes = try mirror.bytes(at: RecordAddress(stream, next)) {
            let before = chain[next - 1].map { sealer.hash(RecordAddress(stream, next - 1), $0) }
            guard next == 1 || before != nil, try previous(of: bytes, RecordAddress(stream, next)) == before ?? .zero
            else {
                break
            }
            chain[next] = bytes
            next += 1
        }
        return chain
    }

    private func previous(of bytes: [UInt8], _ address: RecordAddress) throws(SyncError) -> Bytes32? {
        try ownEntry(bytes, address)?.previous
    }

    /// An own entry, by whichever of this device's files it was written.
    private func ownEntry(_ bytes: [UInt8], _ address: RecordAddress) throws(SyncError) -> LogEntry<Range<Int>>? {
        do throws(Obstacle) {
            let content = try open(try parse(bytes, at: address), at: address)
            let length = content.count - SigningKey.signatureLength
            guard length > 0 else { return nil }
            return content.withBytes { body in try? LogEntry(parsing: body.extracting(0..<length)) }
        } catch {
            if case .fails(let error) = error { throw error }
            return nil
        }
    }

    /// Up to which stamp this file's own writes are in records that count.
    private func publishedThrough(_ old: LogID, _ chain: [UInt64: [UInt8]]) -> UInt64 {
        let stream = RecordStream(.log, old)
        func has(_ sequence: UInt64, _ hash: Bytes32) -> Bool {
            guard let bytes = chain[sequence] else { return false }
            return sealer.hash(RecordAddress(stream, sequence), bytes) == hash
        }
        if let end = state.logs[old]?.end {
            var through: UInt64 = 0
            for (sequence, bytes) in chain where sequence <= end {
                guard let entry = try? ownEntry(bytes, RecordAddress(stream, sequence)) else { continue }
                through = max(through, entry.items.compactMap { $0.context[old] }.max() ?? 0)
            }
            return min(through, state.ackedThrough)
        }
        return state.sequence > 0 && has(state.sequence, state.hash) ? state.through : state.ackedThrough
    }

    /// An item of which this device has told no record some values.
    private struct Pending {
        let whole: ItemState<Secret>
        /// Those values, each with its stamp.
        let fields: SortedMap<FieldID, SortedMap<Dot, FieldValue<Secret>>>
    }

    private func pendingStates(_ old: LogID, _ through: UInt64) throws(SyncError) -> [Pending] {
        var found: [Pending] = []
        try items.forEachState(of: items.touching([old]).map(\.id)) { state throws(SyncError) in
            guard state.context[old] ?? 0 > through else { return }
            let fields = state.fields.mapValues { values in
                values.filter { $0.key.log == old && $0.key.stamp > through }
            }.filter { !$0.value.isEmpty }
            if !fields.isEmpty { found.append(Pending(whole: state, fields: fields)) }
        }
        return found.sorted { $0.whole.id < $1.whole.id }
    }

    /// As a new device: everything from the records that are there.
    private func readEverything(_ fresh: ReplicaState) throws(SyncError) -> Replica<MemoryItems> {
        let memory = MemoryItems(fresh, wallStamp: items.wallStamp, random: random)
        var state = fresh
        // Its own log is one that has ended, for the while.
        state.retellsEnded = false
        let reader = try Replica<MemoryItems>(
            memory, state, identity: identity, mirror: mirror, policy: policy, random: random)
        reader.fetchBlob = fetchBlob
        try reader.applyAll()
        reader.state.retellsEnded = false
        return reader
    }

    /// Joins what is pending, under its new name. It overwrites nothing; an item that is not alive in the fleet goes on
    /// as a new one.
    private func join(_ pending: Pending, _ fleet: MemoryItems, _ fresh: inout ReplicaState, _ old: LogID) {
        let whole = pending.whole
        if let theirs = fleet.items[whole.id]?.state, theirs.isAlive {
            var mine = ItemState<Secret>(
                id: whole.id, itemClass: whole.itemClass, context: [fresh.log: whole.context[old] ?? 0])
            for (field, values) in pending.fields {
                for (dot, value) in values {
                    // The mirror has the entry that told it, though not all of those that were to follow.
                    if let told = theirs.fields[field]?[dot], told.isSame(as: value) { continue }
                    mine.fields[field, default: [:]][Dot(log: fresh.log, stamp: dot.stamp)] = value
                }
            }
            if mine.fields.isEmpty { return }
            fleet.items[whole.id]?.state = Merge.join(theirs, mine) ?? theirs
            return
        }
        guard whole.isAlive else { return }
        fresh.clock = max(fresh.clock + 1, items.wallStamp)
        let dot = Dot(log: fresh.log, stamp: fresh.clock)
        var moved = ItemState<Secret>(
            id: items.makeItemID(), itemClass: whole.itemClass, context: [dot.log: dot.stamp])
        for field in whole.fields.keys where field != .life {
            guard let winner = whole.winner(of: field) else { continue }
            if case .none = winner.value { continue }
            moved.fields[field] = [dot: winner.value]
        }
        moved.fields[.life] = [dot: .plain([1])]
        fleet.items[moved.id] = MemoryItems.Entry(state: moved)
        report.movedItems += 1
    }
}

extension FieldValue<Secret> {
    fileprivate func isSame(as other: FieldValue) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.plain(let a), .plain(let b)): a == b
        case (.secret(let a), .secret(let b)): a.withBytes { a in b.withBytes { b in isEqualInConstantTime(a, b) } }
        default: false
        }
    }
}
