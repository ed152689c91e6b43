// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

/// What a device remembers of one remote.
package struct RemoteState: Equatable, Sendable {
    /// The last records that it has shown.
    package var seen: [RecordStream: UInt64] = [:]
    /// The last own entry that it has, of this log.
    package var acknowledged: UInt64 = 0
    package var log: LogID?
    package var lastSync: UInt64 = 0
    /// Whether it showed that this device was removed; kept beside.
    package var saysRemoved = false

    package init() {}
}

extension Replica {
    /// One sync with one remote, which copies both ways.
    ///
    /// - Parameters:
    ///   - acknowledgedElsewhere: the last own entry that every other remote has; nil: there is no other.
    ///   - tells: whether what is pending goes out.
    package func sync(
        with store: any RecordStore, _ remote: inout RemoteState, acknowledgedElsewhere: UInt64? = nil,
        tells: Bool = true
    ) throws(SyncError) {
        let heads = try readHeads(store)
        try followRoster(store, heads)
        try fetch(from: store, heads)
        noteRollback(heads, remote)
        fetchBlob = { address throws(SyncError) in
            try stored { () throws(RecordStoreError) in try store.record(at: address) }
        }
        defer { fetchBlob = nil }
        let newest = try ownRecords(store, heads, from: state.ackedSequence)
        if !hasOwnLog || isCopy(newest) {
            try beginAnew(store, heads)
        }
        try applyAll(shown: heads)
        if state.logs[state.log]?.end != nil {
            try beginAnew(store, heads)
            try applyAll(shown: heads)
        }
        if tells {
            let acknowledged = remote.log == state.log ? remote.acknowledged : 0
            try tidyOrPublish(acknowledged: min(acknowledged, acknowledgedElsewhere ?? .max))
        } else {
            try flush()
        }
        try upload(to: store, heads, &remote)
        remote.lastSync = now
    }

    private func beginAnew(
        _ store: any RecordStore, _ heads: [RecordStream: StreamHead]
    ) throws(SyncError) {
        // A base that this file never published is void: what lies below it is needed.
        try fetch(from: store, heads, believesBases: false)
        try beginAnew(ownRecords(store, heads, from: 1))
    }

    func readHeads(_ store: any RecordStore) throws(SyncError) -> [RecordStream: StreamHead] {
        let heads = try stored { () throws(RecordStoreError) in try store.heads() }
        return Dictionary(heads.map { ($0.stream, $0) }) { first, _ in first }
    }

    // MARK: Roster

    /// Takes what the remote has of the roster beyond what is known.
    func followRoster(
        _ store: any RecordStore, _ heads: [RecordStream: StreamHead]? = nil
    ) throws(SyncError) {
        let last = heads?[rosterStream]?.last
        if let last, last < state.rosterSequence {
            note(Alarm(.rolledBack, nil, last, "the roster had \(state.rosterSequence) records, and has \(last)"))
        }
        // The last that is known comes again: it must be the same.
        let start = max(roster.sequence, 1)
        var failure: SyncError?
        try stored { () throws(RecordStoreError) in
            try store.read([StreamStart(rosterStream, from: start)]) { record in
                guard failure == nil else { return }
                do throws(SyncError) { try follow(record) } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }

    private func follow(_ record: StoredRecord) throws(SyncError) {
        let sequence = record.address.sequence
        guard sequence > roster.sequence else {
            guard sequence >= 1, roster.hashes[Int(sequence) - 1] == sealer.hash(record.address, record.bytes) else {
                throw .alarm(record.address.alarm(.forked, "the roster was changed on both sides"))
            }
            return
        }
        guard sequence == roster.sequence + 1 else { return }
        try takeRoster(record.bytes, at: record.address)
        if !mirror.has(record.address) { try mirror.add([record]) }
        if roster.device(deviceID) == nil, roster.known[deviceID] != nil { throw .removed }
    }

    // MARK: Fetching

    /// The mirror takes what it lacks. An address never changes its bytes.
    func fetch(
        from store: any RecordStore, _ heads: [RecordStream: StreamHead], believesBases: Bool = true
    ) throws(SyncError) {
        for (stream, head) in heads.sorted(by: { $0.key < $1.key })
        where stream.kind == .log && stream.name != state.log {
            let have = mirror.numbers(of: stream)
            let base = believesBases ? max(state.logs[stream.name]?.base ?? 0, 1) : 1
            // From the first that is missing; if none is, the last that is known comes again.
            var start = max(base, head.first)
            while have.contains(start), start < head.last { start += 1 }
            if start > head.last { continue }
            var batch: [StoredRecord] = []
            var failure: SyncError?
            try stored { () throws(RecordStoreError) in
                try store.read([StreamStart(stream, from: start)]) { record in
                    guard failure == nil else { return }
                    do throws(SyncError) { try take(record, from: base, &batch) } catch { failure = error }
                }
            }
            if let failure { throw failure }
            try mirror.add(batch)
            report.received += batch.count
        }
    }

    private func take(_ record: StoredRecord, from base: UInt64, _ batch: inout [StoredRecord]) throws(SyncError) {
        let (log, sequence) = (record.address.stream.name, record.address.sequence)
        try checkGoesOn()
        guard !isBeyondEnd(log, sequence), sequence >= base else { return }
        guard record.address.stream.kind.lengths.contains(record.bytes.count),
            RecordAddress.sequences.contains(sequence)
        else {
            return raise(record.address.alarm(.damaged, "no record"))
        }
        let twin = batch.last?.address == record.address ? batch.last?.bytes : try mirror.bytes(at: record.address)
        if let twin {
            if twin != record.bytes { raise(record.address.alarm(.forked, "two records at one address")) }
            return
        }
        batch.append(record)
        guard batch.count >= 256 else { return }
        try mirror.add(batch)
        report.received += batch.count
        batch = []
    }

    /// A remote that has less than it had: reported, and healed by what goes up.
    func noteRollback(_ heads: [RecordStream: StreamHead], _ remote: RemoteState) {
        for (stream, seen) in remote.seen where stream.kind == .log {
            let there = heads[stream]?.last ?? 0
            guard there < seen, state.logs[stream.name]?.base ?? 0 <= seen, !isBeyondEnd(stream.name, there + 1) else {
                continue
            }
            note(Alarm(.rolledBack, stream.name, there, "a log had \(seen) records, and has \(there)"))
        }
    }

    // MARK: The own log

    /// What the remote has of the own log. The operator can put rubbish into it, which makes this file no copy of
    /// itself: what counts is signed by the log's device.
    private func ownRecords(
        _ store: any RecordStore, _ heads: [RecordStream: StreamHead], from sequence: UInt64
    ) throws(SyncError) -> [UInt64: [UInt8]] {
        let stream = RecordStream(.log, state.log)
        guard heads[stream] != nil else { return [:] }
        let author = state.logs[state.log]?.device ?? deviceID
        var records: [UInt64: [UInt8]] = [:]
        var failure: SyncError?
        try stored { () throws(RecordStoreError) in
            try store.read([StreamStart(stream, from: max(sequence, 1))]) { record in
                guard failure == nil else { return }
                do throws(SyncError) {
                    if try isEntry(record, by: author) {
                        records[record.address.sequence] = record.bytes
                    } else {
                        raise(record.address.alarm(.damaged, "a record that this log's device has not written"))
                    }
                } catch { failure = error }
            }
        }
        if let failure { throw failure }
        return records
    }

    /// Whether this file is a copy, or was put back: its log is ahead of it, at the remote or in the mirror, or what it
    /// wrote last is gone.
    func isCopy(_ own: [UInt64: [UInt8]]) -> Bool {
        let stream = RecordStream(.log, state.log)
        let mirrored = mirror.numbers(of: stream)
        if (own.keys.max() ?? 0) > state.sequence || (mirrored.max() ?? 0) > state.sequence { return true }
        for (sequence, bytes) in own {
            let address = RecordAddress(stream, sequence)
            let mine: Bytes32? =
                sequence == state.sequence ? state.hash : sequence == state.ackedSequence ? state.ackedHash : nil
            if let mine, sealer.hash(address, bytes) != mine { return true }
            if let here = try? mirror.bytes(at: address), here != bytes { return true }
        }
        guard state.ackedSequence < state.sequence else { return false }
        return (state.ackedSequence + 1...state.sequence).contains { !mirrored.contains($0) }
    }

    // MARK: Uploading

    /// Everything goes up that the remote lacks: what it lost, then the own entries, each log in order.
    private func upload(
        to store: any RecordStore, _ heads: [RecordStream: StreamHead], _ remote: inout RemoteState
    ) throws(SyncError) {
        var streams = [rosterStream] + mirror.logs.filter { $0 != state.log }.map { RecordStream(.log, $0) }
        // Last: it cites the others.
        streams.append(RecordStream(.log, state.log))
        for stream in streams {
            let lacking = try lacking(stream, heads[stream], store)
            try upload(lacking, of: stream, to: store)
        }
        try noteAcknowledged(by: store, &remote)
        try removeTrimmed(at: store, isAcknowledged: remote.acknowledged == state.sequence && state.sequence > 0)
        for stream in streams {
            remote.seen[stream] = max(mirror.numbers(of: stream).max() ?? 0, heads[stream]?.last ?? 0)
        }
        try flush()
    }

    /// What this device told goes up, and nothing else.
    func uploadOwn(to store: any RecordStore, _ remote: inout RemoteState) throws(SyncError) {
        let heads = try readHeads(store)
        let stream = RecordStream(.log, state.log)
        try upload(lacking(stream, heads[stream], store), of: stream, to: store)
        try noteAcknowledged(by: store, &remote)
        try flush()
    }

    private func lacking(
        _ stream: RecordStream, _ head: StreamHead?, _ store: any RecordStore
    ) throws(SyncError) -> [UInt64] {
        let base = known?[stream.name] ?? state.logs[stream.name]?.base ?? 0
        // What waits for something that only another remote has would wait for it here as well.
        let last = stream.kind == .roster || stream.name == state.log ? UInt64.max : self.head(stream.name)
        var numbers = mirror.numbers(of: stream).filter {
            $0 >= base && $0 <= last && (stream.kind == .roster || !isBeyondEnd(stream.name, $0))
        }
        guard let head else { return numbers.sorted() }
        let isWhole = head.count == head.last &- head.first &+ 1
        if isWhole {
            numbers = numbers.filter { $0 < head.first || $0 > head.last }
        } else {
            try stored { () throws(RecordStoreError) in
                try store.read([StreamStart(stream, from: head.first)]) { numbers.remove($0.address.sequence) }
            }
        }
        return numbers.sorted()
    }

    private func upload(_ numbers: [UInt64], of stream: RecordStream, to store: any RecordStore) throws(SyncError) {
        var batch: [StoredRecord] = []
        for number in numbers {
            let address = RecordAddress(stream, number)
            guard let bytes = try mirror.bytes(at: address) else { continue }
            if stream.kind == .log { try batch.append(contentsOf: parts(of: stream.name, number)) }
            batch.append(StoredRecord(address, bytes))
            if batch.count >= 64 { try send(&batch, to: store) }
        }
        try send(&batch, to: store)
    }

    /// The parts of the large values that an entry names, which go up before it.
    private func parts(of log: LogID, _ number: UInt64) throws(SyncError) -> [StoredRecord] {
        let references: [BlobReference]
        do throws(Obstacle) { references = try blobs(of: log, number) } catch { return [] }
        var parts: [StoredRecord] = []
        for reference in references {
            for part in 1...max(1, (reference.length + UInt64(Blob.partLength) - 1) / UInt64(Blob.partLength)) {
                let address = RecordAddress(RecordStream(.blob, reference.id), part)
                if let bytes = try mirror.bytes(at: address) { parts.append(StoredRecord(address, bytes)) }
            }
        }
        return parts
    }

    private func send(_ batch: inout [StoredRecord], to store: any RecordStore) throws(SyncError) {
        guard !batch.isEmpty else { return }
        try checkGoesOn()
        let records = batch
        batch = []
        let appended = try stored { () throws(RecordStoreError) in try store.append(records) }
        report.sent += appended.filter { $0 == .created }.count
        guard let last = appended.last, last == .differs else { return }
        let address = records[appended.count - 1].address
        // Another file of this device's, which is found out about at the next look.
        guard address.stream.name != state.log else { return }
        throw .alarm(address.alarm(.forked, "two records at one address"))
    }

    /// Which of the own entries the remote has.
    private func noteAcknowledged(by store: any RecordStore, _ remote: inout RemoteState) throws(SyncError) {
        let stream = RecordStream(.log, state.log)
        if remote.log != state.log { (remote.log, remote.acknowledged) = (state.log, 0) }
        var there: [UInt64: [UInt8]] = [:]
        try stored { () throws(RecordStoreError) in
            try store.read([StreamStart(stream, from: remote.acknowledged + 1)]) {
                if $0.address.sequence <= state.sequence { there[$0.address.sequence] = $0.bytes }
            }
        }
        while remote.acknowledged < state.sequence {
            let address = RecordAddress(stream, remote.acknowledged + 1)
            if let base = state.logs[state.log]?.base, address.sequence < base, there[address.sequence] == nil {
                remote.acknowledged += 1
                continue
            }
            guard let mine = try mirror.bytes(at: address), there[address.sequence] == mine else { break }
            remote.acknowledged += 1
            guard address.sequence > state.ackedSequence else { continue }
            state.ackedSequence = address.sequence
            state.ackedHash = sealer.hash(address, mine)
            state.ackedThrough = state.unacknowledged[address.sequence] ?? state.ackedThrough
        }
        state.unacknowledged = state.unacknowledged.filter { $0.key > state.ackedSequence }
    }
}
