// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

// The upload of records that the remote lacks.

extension SyncRun {
    /// Uploads everything that the remote lacks: what it lost, then the own entries, each log in order.
    func upload(_ heads: [RecordStream: StreamHead], _ remote: inout RemoteState) throws(SyncError) {
        var streams = [member.rosterStream]
        streams += mirror.logs.filter { $0 != state.log }.map { RecordStream(.log, $0) }
        // Last, because the own log cites the others.
        streams.append(member.ownStream)
        try uploadParts(heads)
        for stream in streams {
            let numbers = try lacking(stream, heads[stream])
            noteHole(numbers, of: stream, heads[stream], remote)
            try upload(numbers, of: stream)
        }
        try noteAcknowledged(&remote)
        try removeTrimmed(isAcknowledged: remote.acknowledged == state.sequence && state.sequence > 0)
        // The mirror's records were checked: a number that an operator invented is not remembered.
        for stream in streams { remote.seen[stream] = mirror.numbers(of: stream).max() ?? 0 }
        try flush()
    }

    /// Uploads the own entries, and nothing else.
    func uploadOwn() throws(SyncError) {
        let heads = try readHeads()
        var scratch = RemoteState()
        try upload(lacking(member.ownStream, heads[member.ownStream]), of: member.ownStream)
        try noteAcknowledged(&scratch)
        try flush()
    }

    /// Reports records that were lost from the middle of a log: a server that was restored while a device kept writing
    /// has the last records and lacks those before. The upload heals that.
    private func noteHole(_ lost: [UInt64], of stream: RecordStream, _ head: StreamHead?, _ remote: RemoteState) {
        guard stream.kind == .log, let head, let seen = remote.seen[stream], seen <= head.last else { return }
        let count = lost.count { $0 > head.first && $0 <= seen }
        guard count > 0 else { return }
        note(Alarm(.rolledBack, stream.name, head.last, "a log lacked \(count) records below its last one"))
    }

    private func lacking(_ stream: RecordStream, _ head: StreamHead?) throws(SyncError) -> [UInt64] {
        let base = hearsay.bases?[stream.name] ?? state.logs[stream.name]?.base ?? 0
        // Entries with missing prerequisites stay: at this remote they would only wait again.
        let last =
            stream.kind == .roster
            ? member.roster.sequence : stream.name == state.log ? UInt64.max : member.head(stream.name)
        let numbers = mirror.numbers(of: stream).filter {
            $0 >= base && $0 <= last && (stream.kind == .roster || !member.isBeyondEnd(stream.name, $0))
        }
        return try missing(numbers, of: stream, head).sorted()
    }

    /// Returns those numbers of a stream that the remote lacks.
    private func missing(
        _ numbers: Set<UInt64>, of stream: RecordStream, _ head: StreamHead?
    ) throws(SyncError) -> Set<UInt64> {
        guard let head, !numbers.isEmpty else { return numbers }
        if head.isWhole { return numbers.filter { $0 < head.first || $0 > head.last } }
        var missing = numbers
        try read(stream, from: head.first) { record throws(SyncError) in
            missing.remove(record.address.sequence)
            return !missing.isEmpty
        }
        return missing
    }

    private func upload(_ numbers: [UInt64], of stream: RecordStream) throws(SyncError) {
        var batch: [StoredRecord] = []
        for number in numbers {
            let address = RecordAddress(stream, number)
            guard let bytes = try mirror.bytes(at: address) else { continue }
            if stream.kind == .roster, !isKnown(StoredRecord(address, bytes)) {
                // The next sync reads the roster of a remote again.
                try mirror.drop(address)
                break
            }
            if stream.kind == .log {
                // An entry is uploaded only after its large values, and later entries only after it.
                guard let parts = try parts(of: stream.name, number) else { break }
                batch += parts
            }
            batch.append(StoredRecord(address, bytes))
            if batch.count >= 64 { try send(&batch) }
        }
        try send(&batch)
    }

    /// Returns the parts of the large values that an entry names. They go up before it.
    ///
    /// - Returns: `nil` if a part is neither in the mirror nor at the remote.
    private func parts(of log: LogID, _ number: UInt64) throws(SyncError) -> [StoredRecord]? {
        let references: [BlobReference]
        do throws(Obstacle) { references = try blobs(of: log, number) } catch {
            if case .fails(let error) = error { throw error }
            return []
        }
        var parts: [StoredRecord] = []
        for address in references.flatMap(\.addresses) {
            if let bytes = try mirror.bytes(at: address) {
                parts.append(StoredRecord(address, bytes))
            } else if try remoteRecord(at: address) == nil {
                return nil
            }
        }
        return parts
    }

    /// Restores parts of large values, including those of other devices, at a remote that lost them.
    private func uploadParts(_ heads: [RecordStream: StreamHead]) throws(SyncError) {
        var named: Set<Bytes16>?
        for stream in mirror.streams(of: .blob) {
            let lost = try missing(mirror.numbers(of: stream), of: stream, heads[stream])
            guard !lost.isEmpty else { continue }
            // Neither parts of entries that are yet to go up, nor parts that a trim has left behind.
            let wanted: Set<Bytes16>
            if let named { wanted = named } else { wanted = try namedParts(heads) }
            named = wanted
            guard wanted.contains(stream.name) else { continue }
            try upload(lost.sorted(), of: stream)
        }
    }

    /// Returns the large values that the remote's entries name.
    private func namedParts(_ heads: [RecordStream: StreamHead]) throws(SyncError) -> Set<Bytes16> {
        var named: Set<Bytes16> = []
        for log in mirror.logs {
            guard let head = heads[RecordStream(.log, log)] else { continue }
            let base = state.logs[log]?.base ?? 0
            for number in mirror.numbers(of: log) where number >= base && number <= head.last {
                do throws(Obstacle) { named.formUnion(try blobs(of: log, number).map(\.id)) } catch {
                    if case .fails(let error) = error { throw error }
                }
            }
        }
        return named
    }

    private func send(_ batch: inout [StoredRecord]) throws(SyncError) {
        guard let store, !batch.isEmpty else { return }
        while !batch.isEmpty {
            try checkGoesOn()
            let records = batch
            let appended = try stored { () throws(RecordStoreError) in try store.append(records) }
            findings.report.sent += appended.filter { $0 == .created }.count
            batch.removeFirst(appended.count)
            guard appended.last == .differs else { break }
            try settle(records[appended.count - 1])
        }
        batch = []
    }

    /// Handles another record of the remote at an address.
    private func settle(_ mine: StoredRecord) throws(SyncError) {
        let address = mine.address
        // Another file of this device has written the record; the next sync detects that.
        guard let store, address.stream != member.ownStream else { return }
        guard let theirs = try stored({ () throws(RecordStoreError) in try store.record(at: address) }) else { return }
        if address.stream.kind == .log, try !isEntry(StoredRecord(address, theirs), by: author(of: address)) {
            raise(address.alarm(.damaged, "an altered record"))
            return try replace(at: address, with: mine.bytes)
        }
        if address.stream.kind == .roster, try !isRosterRecord(StoredRecord(address, theirs)) {
            raise(address.alarm(.damaged, "an altered record of the roster"))
            return try replace(at: address, with: mine.bytes)
        }
        raise(address.alarm(.forked, "two records at one address"))
    }

    private func author(of address: RecordAddress) -> DeviceID {
        state.logs[address.stream.name]?.device ?? member.deviceID
    }

    /// Determines which of the own entries the remote has.
    private func noteAcknowledged(_ remote: inout RemoteState) throws(SyncError) {
        let stream = member.ownStream
        if remote.log != state.log { (remote.log, remote.acknowledged) = (state.log, 0) }
        var there: [UInt64: [UInt8]] = [:]
        try read(stream, from: remote.acknowledged + 1) { record throws(SyncError) in
            let sequence = record.address.sequence
            if sequence <= state.sequence { there[sequence] = record.bytes }
            return sequence < state.sequence
        }
        while remote.acknowledged < state.sequence {
            let address = RecordAddress(stream, remote.acknowledged + 1)
            if let base = state.logs[state.log]?.base, address.sequence < base, there[address.sequence] == nil {
                remote.acknowledged += 1
                continue
            }
            guard let mine = try mirror.bytes(at: address), there[address.sequence] == mine else { break }
            let hash = sealer.hash(address, mine)
            // The mirror could be another file's. The file knows the hash of its own last entry.
            guard address.sequence < state.sequence || hash == state.hash else { break }
            remote.acknowledged += 1
            guard address.sequence > state.ackedSequence else { continue }
            state.ackedSequence = address.sequence
            state.ackedHash = hash
            state.ackedThrough = state.unacknowledged[address.sequence] ?? state.ackedThrough
        }
        state.unacknowledged = state.unacknowledged.filter { $0.key > state.ackedSequence }
    }
}
