// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// What an entry says beside its items, once it is known who wrote it.
struct CheckedEntry {
    let hash: Bytes32
    let device: DeviceID
    let previous: Bytes32
    let hlc: UInt64
    let ack: UInt64
    let logset: UInt64
    let at: UInt64
    let sum: UInt64
    let tips: [LogTip]
    let trims: [LogTrim]
    let closes: [LogHead]

    init(_ entry: LogEntry<Range<Int>>, hash: Bytes32) {
        self.hash = hash
        (device, previous, hlc, ack) = (entry.deviceID, entry.previous, entry.hlc, entry.ack)
        (logset, at, sum) = (entry.logset, entry.at, entry.sum)
        (tips, trims, closes) = (entry.tips, entry.trims, entry.closes)
    }
}

/// What is missing of that on which an entry builds.
enum Missing: Hashable {
    case entry(LogID, UInt64)
    /// What comes after the head of a log, while what comes later is there.
    case entries(LogID, from: UInt64)
    case roster(UInt64)
    case epoch(UInt32)
    case blob

    /// As people read it.
    var text: String {
        switch self {
        case .entry(let log, let sequence): "\(log.text) \(sequence)"
        case .entries(let log, let sequence): "\(log.text) from \(sequence)"
        case .roster(let sequence): "roster \(sequence)"
        case .epoch(let epoch): "roster of epoch \(epoch)"
        case .blob: "a large value"
        }
    }
}

/// Why an entry cannot be applied: it waits, or its log stops.
enum Obstacle: Error {
    case waits(Missing)
    case stops(Alarm)
    case fails(SyncError)

    init(_ error: SyncError) {
        if case .alarm(let alarm) = error { self = .stops(alarm) } else { self = .fails(error) }
    }
}

func checking<R: ~Copyable>(_ body: () throws(SyncError) -> R) throws(Obstacle) -> R {
    do throws(SyncError) { return try body() } catch { throw Obstacle(error) }
}

extension Replica {
    /// Checks a record of the mirror: that it is an entry of its address, written by the device whose log it is.
    ///
    /// - Returns: nil when nothing of it counts: it lies behind the log's end.
    func check(_ log: LogID, _ sequence: UInt64) throws(Obstacle) -> CheckedEntry? {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        if isBeyondEnd(log, sequence) { return nil }
        if let known = checked[address] { return known }
        guard let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) else { return nil }
        let record = try parse(bytes, at: address)
        let content = try open(record, at: address)
        let entry = try entry(in: content, at: address, withItems: false)
        guard entry.logID == log, entry.sequence == sequence, entry.realmID == realmID, entry.epoch == record.epoch
        else {
            throw .stops(address.alarm(.damaged, "an entry of another place"))
        }
        guard entry.rosterSequence <= roster.sequence else { throw .waits(.roster(entry.rosterSequence)) }
        guard entry.rosterSequence >= 1, roster.hashes[Int(entry.rosterSequence) - 1] == entry.rosterHash else {
            throw .stops(address.alarm(.forked, "an entry that knows another roster"))
        }
        if let owner = state.logs[log]?.device, owner != entry.deviceID {
            throw .stops(address.alarm(.forged, "an entry in the log of another device"))
        }
        guard let author = roster.known[entry.deviceID], author.writes else {
            throw .stops(address.alarm(.forged, "an entry of no member"))
        }
        // First: a holder of a key of the fleet could else name any device.
        guard sealer.isSigned(content, record, .log, by: author.signingKey) else {
            throw .stops(address.alarm(.forged, "an entry with a wrong signature"))
        }
        if roster.device(author.id) == nil, state.logs[log]?.end == nil {
            // Of a removed device, and unknown to the one that removed it. It ends no log by a record far behind the
            // first that another device has written and this one has not read.
            if sequence == head(log) + 1 {
                state.logs[log, default: LogState()].device = author.id
                state.logs[log]?.end = 0
                othersAt = nil
            }
            return nil
        }
        let result = CheckedEntry(entry, hash: sealer.hash(address, bytes))
        checked[address] = result
        return result
    }

    /// Whether a device has written a record of its address.
    func isEntry(_ stored: StoredRecord, by device: DeviceID) throws(SyncError) -> Bool {
        let (address, bytes) = (stored.address, stored.bytes)
        if try mirror.bytes(at: address) == bytes { return true }
        let own = device == deviceID ? identity.device.signing : nil
        guard let key = own ?? roster.known[device]?.signingKey else { return false }
        do throws(Obstacle) {
            let record = try parse(bytes, at: address)
            let content = try open(record, at: address)
            let entry = try entry(in: content, at: address, withItems: false)
            return entry.logID == address.stream.name && entry.sequence == address.sequence
                && entry.realmID == realmID && entry.deviceID == device
                && sealer.isSigned(content, record, .log, by: key)
        } catch {
            if case .fails(let error) = error { throw error }
            return false
        }
    }

    func parse(_ bytes: [UInt8], at address: RecordAddress) throws(Obstacle) -> SealedRecord {
        do throws(FormatError) { return try SealedRecord(parsing: bytes, address.stream.kind) } catch {
            throw .stops(address.alarm(.damaged, "no record"))
        }
    }

    func open(_ record: SealedRecord, at address: RecordAddress) throws(Obstacle) -> SecretBytes {
        guard let key = identity.epochKeys[record.epoch] else { throw .waits(.epoch(record.epoch)) }
        return try checking { () throws(SyncError) in try sealer.open(record, at: address, key: key) }
    }

    private func entry(
        in content: borrowing SecretBytes, at address: RecordAddress, withItems: Bool
    ) throws(Obstacle) -> LogEntry<Range<Int>> {
        let length = try checking { () throws(SyncError) in try RecordSealer.bodyLength(content, address) }
        do throws(FormatError) {
            return try content.withBytes { body throws(FormatError) in
                try LogEntry(parsing: body.extracting(0..<length), withItems: withItems)
            }
        } catch { throw .stops(address.alarm(.damaged, "an entry that is none")) }
    }

    /// The items of an entry that was checked, with their secrets and with what lies in blobs.
    func items(of log: LogID, _ sequence: UInt64) throws(Obstacle) -> [ItemState<Secret>] {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        guard let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) else { return [] }
        let content = try open(try parse(bytes, at: address), at: address)
        let entry = try entry(in: content, at: address, withItems: true)
        var states: [ItemState<Secret>] = []
        // Items can name one large value any number of times.
        var large: [BlobReference: Secret] = [:]
        for item in entry.items {
            var state: ItemState<Secret>
            do throws(CryptoError) {
                state = try item.map { range throws(CryptoError) in Secret(try content.copy(of: range)) }
            } catch { throw .fails(secure(error)) }
            for (field, values) in state.fields {
                for (dot, value) in values {
                    guard case .blob(let reference) = value else { continue }
                    let value: Secret
                    if let known = large[reference] { value = known } else { value = try blob(reference) }
                    large[reference] = value
                    guard !field.isSecret else {
                        state.fields[field]?[dot] = .secret(value)
                        continue
                    }
                    let plain = value.withBytes { try? FieldValue<Secret>(checking: $0, of: field) }
                    guard let plain else { throw .stops(address.alarm(.damaged, "a large value that is none")) }
                    state.fields[field]?[dot] = plain
                }
            }
            states.append(state)
        }
        return states
    }

    /// The large values that an entry names.
    func blobs(of log: LogID, _ sequence: UInt64) throws(Obstacle) -> [BlobReference] {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        if let known = namedBlobs[address] { return known }
        guard try check(log, sequence) != nil,
            let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) })
        else { return [] }
        let content = try open(try parse(bytes, at: address), at: address)
        let entry = try entry(in: content, at: address, withItems: true)
        let found = entry.items.flatMap(\.blobs)
        namedBlobs[address] = found
        return found
    }
}

extension ItemState {
    var blobs: [BlobReference] {
        fields.values.flatMap { values in
            values.values.compactMap { if case .blob(let reference) = $0 { reference } else { nil } }
        }
    }
}
