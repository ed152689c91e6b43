// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The limits on records that no member wrote. Beyond them a run reads no further unknown logs.
enum Junk {
    /// The limit in bytes, for all streams together.
    static let mostBytes = 64 << 20
    /// The bytes charged for an unknown log in addition to its records: a run reads a few thousand such logs.
    static let bytesOfHead = 4 << 10
    /// The limit for one stream, in records: what follows could not be applied anyway.
    static let mostRecords = 8
}

/// The state of reading one stream of a remote.
private struct Intake {
    let stream: RecordStream
    /// Records below this number do not count.
    let base: UInt64
    /// The size at which a batch is stored, in bytes.
    static let mostBytes = 4 << 20
    var batch: [StoredRecord] = []
    /// The size of the batch, in bytes.
    var length = 0
    /// The number of records that no check accepts.
    var refused = 0
    /// The last record that was read, and whether it was accepted.
    var last: (record: StoredRecord, isGood: Bool)?
}

extension SyncRun {
    /// Adds missing records to the mirror, after a check: the operator of a remote can put anything there.
    ///
    /// - Parameters:
    ///   - believesBases: whether records below the beginning of a log are skipped.
    ///   - applies: whether entries after a log's head are applied at once, while they are open.
    func fetch(
        _ heads: [RecordStream: StreamHead], believesBases: Bool = true, applies: Bool = false
    ) throws(SyncError) {
        let logs = heads.keys.filter { $0.kind == .log && $0.name != state.log }.sorted()
        // Known logs come first, so that junk does not keep this device from them.
        let (known, unknown) = (logs.filter(isKnown), logs.filter { !isKnown($0) })
        var junk = 0
        for stream in known + unknown {
            guard let head = heads[stream] else { continue }
            guard junk < Junk.mostBytes || isKnown(stream) else {
                raise(Alarm(.damaged, stream.name, head.first, "too many records that no member wrote"))
                return
            }
            junk += try fetch(stream, head, believesBases, applies)
        }
    }

    private func isKnown(_ stream: RecordStream) -> Bool { state.logs[stream.name]?.device != nil }

    /// - Returns: the number of refused bytes.
    private func fetch(
        _ stream: RecordStream, _ head: StreamHead, _ believesBases: Bool, _ applies: Bool
    ) throws(SyncError) -> Int {
        let have = mirror.numbers(of: stream)
        var intake = Intake(
            stream: stream, base: believesBases ? max(state.logs[stream.name]?.base ?? 0, 1) : 1)
        // Starts at the first missing record, or if none is missing, at the last.
        var start = max(intake.base, head.first)
        while have.contains(start), start < head.last { start += 1 }
        if start > head.last { return 0 }
        if have.contains(start), looked[stream] == head.last { return 0 }
        // A head without records costs a question.
        var junk = isKnown(stream) ? 0 : Junk.bytesOfHead
        try read(stream, from: start) { record throws(SyncError) in
            try checkGoesOn()
            let before = intake.refused
            try take(record, &intake)
            if intake.refused > before { junk += record.bytes.count }
            if intake.length >= Intake.mostBytes { try keep(&intake, applies) }
            return intake.refused < Junk.mostRecords
        }
        try keep(&intake, applies)
        if intake.refused == 0, let last = intake.last, last.isGood { looked[stream] = last.record.address.sequence }
        return junk
    }

    /// Reads a stream of the remote.
    ///
    /// - Parameter take: returns whether to continue.
    func read(
        _ stream: RecordStream, from sequence: UInt64, _ take: (StoredRecord) throws(SyncError) -> Bool
    ) throws(SyncError) {
        try store?.read(stream, from: max(sequence, 1), take)
    }

    private func take(_ record: StoredRecord, _ intake: inout Intake) throws(SyncError) {
        let (log, sequence) = (record.address.stream.name, record.address.sequence)
        guard !member.isBeyondEnd(log, sequence), sequence >= intake.base else { return }
        if let last = intake.last, last.record.address == record.address {
            guard last.record.bytes != record.bytes else { return }
            return try take(record, insteadOf: last.record, isGood: last.isGood, &intake)
        }
        var isGood = false
        defer { intake.last = (record, isGood) }
        if let mirrored = try mirror.bytes(at: record.address) {
            isGood = mirrored == record.bytes
            if !isGood { isGood = try settle(record, against: mirrored) }
            return
        }
        isGood = try isGoodRecord(record)
        if isGood {
            intake.batch.append(record)
            intake.length += record.bytes.count
        } else {
            intake.refused += 1
        }
    }

    /// Handles a second record at one address, such as programs that copy folders leave.
    private func take(
        _ record: StoredRecord, insteadOf first: StoredRecord, isGood: Bool, _ intake: inout Intake
    ) throws(SyncError) {
        checks.entries[record.address] = nil
        guard try isGoodRecord(record) else { return }
        if isGood { return raise(record.address.alarm(.forked, "two records at one address")) }
        intake.last = (record, true)
        intake.batch.append(record)
    }

    /// Finds out which of two records at one address is altered, and removes it from the mirror or the remote.
    ///
    /// - Returns: whether the remote's record is good.
    private func settle(_ shown: StoredRecord, against mirrored: [UInt8]) throws(SyncError) -> Bool {
        let address = shown.address
        checks.entries[address] = nil
        let isMirroredGood = try isValid(StoredRecord(address, mirrored))
        checks.entries[address] = nil
        let isShownGood = try isGoodRecord(shown)
        switch (isMirroredGood, isShownGood) {
        case (true, true): raise(address.alarm(.forked, "two records at one address"))
        case (false, true):
            note(address.alarm(.damaged, "the mirror had an altered record"))
            try mirror.drop(address)
            try mirror.add([shown])
        case (true, false):
            let isKnown = findings.alarms.contains { $0.log == address.stream.name && $0.sequence == address.sequence }
            if !isKnown { raise(address.alarm(.damaged, "an altered record")) }
            try replace(at: address, with: mirrored)
        case (false, false): try mirror.drop(address)
        }
        return isShownGood
    }

    private func isValid(_ record: StoredRecord) throws(SyncError) -> Bool {
        do throws(Obstacle) {
            _ = try check(record.bytes, at: record.address)
            return true
        } catch {
            switch error {
            case .waits(.roster): return true
            case .fails(let error): throw error
            default: return false
            }
        }
    }

    /// Whether a record of the remote may enter the mirror. Raises an alarm otherwise.
    private func isGoodRecord(_ record: StoredRecord) throws(SyncError) -> Bool {
        let address = record.address
        guard address.stream.kind.lengths.contains(record.bytes.count),
            RecordAddress.sequences.contains(address.sequence)
        else {
            raise(address.alarm(.damaged, "not a record"))
            return false
        }
        do throws(Obstacle) {
            return try check(record.bytes, at: address) != nil
        } catch {
            switch error {
            // A member wrote the record, since it opened; the roster that it cites is yet to come.
            case .waits(.roster): return true
            case .waits(let what):
                waiting[what, default: []].insert(address)
                return false
            case .stops(let alarm):
                raise(alarm)
                // A device with the genuine record restores it once the address is free.
                if alarm.kind == .damaged, isKnown(address.stream) { clear(record) }
                return false
            case .fails(let error): throw error
            }
        }
    }

    /// Removes an altered record, unless it is another program's copy beside the genuine one. A remote may not permit
    /// this.
    func clear(_ altered: StoredRecord) {
        guard let store, (try? store.record(at: altered.address)) == altered.bytes else { return }
        try? store.remove(altered.address)
    }

    /// Replaces an altered record with the genuine one.
    func replace(at address: RecordAddress, with bytes: [UInt8]) throws(SyncError) {
        guard let store, (try? store.record(at: address)) != bytes else { return }
        try? store.remove(address)
        _ = try? store.append([StoredRecord(address, bytes)])
    }

    /// Stores the accepted records in the mirror.
    private func keep(_ intake: inout Intake, _ applies: Bool) throws(SyncError) {
        defer { (checks.opened, checks.decoded) = ([:], [:]) }
        guard !intake.batch.isEmpty else { return }
        try mirror.add(intake.batch, isFetched: true)
        findings.report.received += intake.batch.count
        let (head, batch) = (member.head(intake.stream.name), intake.batch)
        (intake.batch, intake.length) = ([], 0)
        if applies {
            decodeAhead(batch)
            try applyInOrder(intake.stream.name)
        }
        // The large values of entries that were applied before the mirror was lost are not read otherwise.
        for record in batch where record.address.sequence <= head { _ = try fetchParts(of: record) }
    }
}

extension RecordStore {
    /// Reads one stream.
    ///
    /// - Parameter take: returns whether to continue.
    func read(
        _ stream: RecordStream, from sequence: UInt64, _ take: (StoredRecord) throws(SyncError) -> Bool
    ) throws(SyncError) {
        var failure: SyncError?
        do throws(RecordStoreError) {
            try read([StreamStart(stream, from: sequence)]) { record throws(RecordStoreError) in
                do throws(SyncError) { if try take(record) { return } } catch { failure = error }
                throw .stopped
            }
        } catch { guard error == .stopped else { throw .store(error) } }
        if let failure { throw failure }
    }
}
