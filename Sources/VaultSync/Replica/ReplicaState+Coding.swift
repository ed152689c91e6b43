// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

// The encoding in the vault's own records: integers in little-endian order, each list after its count.

/// Reads the encoding below; each method returns `nil` for malformed bytes.
private struct StateReader {
    let bytes: [UInt8]
    var offset = 0

    mutating func take(_ count: Int) -> Range<Int>? {
        guard count >= 0, count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return offset..<offset + count
    }

    mutating func integer() -> UInt64? { take(8).map { bytes.span.integer(at: $0.lowerBound) } }

    mutating func name() -> Bytes16? { take(16).map { Bytes16(bytes.span.extracting($0)) } }

    mutating func hash() -> Bytes32? { take(32).map { Bytes32(bytes.span.extracting($0)) } }

    mutating func text() -> String? {
        guard let count = integer(), count < 1 << 16, let range = take(Int(count)) else { return nil }
        return String(validating: bytes[range], as: UTF8.self)
    }

    mutating func list(_ body: (inout StateReader) -> Bool) -> Bool {
        guard let count = integer() else { return false }
        for _ in 0..<count where !body(&self) { return false }
        return true
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ numbers: UInt64...) { for number in numbers { append(integer: number) } }
}

extension LogState {
    func encoded() -> [UInt8] {
        var output: [UInt8] = []
        let flags: [Bool] = [device != nil, head != nil, first != nil, end != nil, entered != nil]
        output.append(1, flags.enumerated().reduce(0) { $0 | ($1.element ? 1 : 0) << UInt64($1.offset) })
        if let device { output.append(device.bytes) }
        if let head {
            output.append(head.sequence, head.hlc, head.ack, head.logset)
            output.append(head.hash.bytes)
        }
        if let first { output.append(first.sequence, first.hlc) }
        if let end { output.append(end) }
        output.append(endHash.bytes)
        if let entered { output.append(entered) }
        output.append(base, said, at, sum, cited, published, differsSince)
        output.append(baseHash.bytes)
        output.append(UInt64(tips.count))
        for (log, sequence) in tips.sorted(by: { $0.key < $1.key }) {
            output.append(log.bytes)
            output.append(sequence)
        }
        return output
    }

    init?(_ bytes: [UInt8]) {
        var reader = StateReader(bytes: bytes)
        guard reader.integer() == 1, let flags = reader.integer() else { return nil }
        if flags & 1 != 0 {
            guard let name = reader.name() else { return nil }
            device = name
        }
        if flags & 2 != 0 {
            guard let sequence = reader.integer(), let hlc = reader.integer(), let ack = reader.integer(),
                let logset = reader.integer(), let hash = reader.hash()
            else { return nil }
            head = Head(sequence: sequence, hash: hash, hlc: hlc, ack: ack, logset: logset)
        }
        if flags & 4 != 0 {
            guard let sequence = reader.integer(), let hlc = reader.integer() else { return nil }
            first = (sequence, hlc)
        }
        if flags & 8 != 0 {
            guard let sequence = reader.integer() else { return nil }
            end = sequence
        }
        guard let endHash = reader.hash() else { return nil }
        self.endHash = endHash
        if flags & 16 != 0 {
            guard let sequence = reader.integer() else { return nil }
            entered = sequence
        }
        var numbers: [UInt64] = []
        for _ in 0..<7 {
            guard let number = reader.integer() else { return nil }
            numbers.append(number)
        }
        (base, said, at, sum) = (numbers[0], numbers[1], numbers[2], numbers[3])
        (cited, published, differsSince) = (numbers[4], numbers[5], numbers[6])
        guard let baseHash = reader.hash() else { return nil }
        self.baseHash = baseHash
        var tips: [LogID: UInt64] = [:]
        let isWhole = reader.list { reader in
            guard let log = reader.name(), let sequence = reader.integer() else { return false }
            tips[log] = sequence
            return true
        }
        guard isWhole, reader.offset == bytes.count else { return nil }
        self.tips = tips
    }
}

extension ReplicaState {
    /// The encoded state without the logs, which have records of their own.
    func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.append(integer: UInt64(1))
        output.append(log.bytes)
        output.append(sequence, through, ackedSequence, ackedThrough, clock, stable, rosterSequence, UInt64(epoch))
        output.append(
            retellsEnded ? 1 : 0, retellsAll ? 1 : 0, healsAt, healedAt, publishedAt, equalAt,
            weighed)
        for hash in [hash, ackedHash, rosterHash] { output.append(hash.bytes) }
        output.append(UInt64(unacknowledged.count))
        for (sequence, through) in unacknowledged.sorted(by: { $0.key < $1.key }) { output.append(sequence, through) }
        output.append(UInt64(ownEnds.count))
        for (log, sequence) in ownEnds.sorted(by: { $0.key < $1.key }) {
            output.append(log.bytes)
            output.append(sequence)
        }
        output.append(UInt64(suspects.count))
        for (what, since) in suspects.sorted(by: { $0.key < $1.key }) {
            output.append(UInt64(what.utf8.count))
            output += what.utf8
            output.append(since)
        }
        output.append(UInt64(removals.count))
        for device in removals.sorted() { output.append(device.bytes) }
        return output
    }

    init?(_ bytes: [UInt8]) {
        var reader = StateReader(bytes: bytes)
        guard reader.integer() == 1, let log = reader.name() else { return nil }
        self.init(log: log)
        var numbers: [UInt64] = []
        for _ in 0..<15 {
            guard let number = reader.integer() else { return nil }
            numbers.append(number)
        }
        (sequence, through, ackedSequence, ackedThrough) = (numbers[0], numbers[1], numbers[2], numbers[3])
        (clock, stable, rosterSequence) = (numbers[4], numbers[5], numbers[6])
        epoch = UInt32(truncatingIfNeeded: numbers[7])
        (retellsEnded, retellsAll) = (numbers[8] == 1, numbers[9] == 1)
        (healsAt, healedAt, publishedAt, equalAt) = (numbers[10], numbers[11], numbers[12], numbers[13])
        weighed = numbers[14]
        guard let own = reader.hash(), let acked = reader.hash(), let roster = reader.hash() else { return nil }
        (hash, ackedHash, rosterHash) = (own, acked, roster)
        var (pending, ends, waiting): ([UInt64: UInt64], [LogID: UInt64], [String: UInt64]) = ([:], [:], [:])
        var removals: Set<DeviceID> = []
        let isWhole =
            reader.list { reader in
                guard let sequence = reader.integer(), let through = reader.integer() else { return false }
                pending[sequence] = through
                return true
            }
            && reader.list { reader in
                guard let log = reader.name(), let sequence = reader.integer() else { return false }
                ends[log] = sequence
                return true
            }
            && reader.list { reader in
                guard let what = reader.text(), let since = reader.integer() else { return false }
                waiting[what] = since
                return true
            }
            && reader.list { reader in
                guard let device = reader.name() else { return false }
                removals.insert(device)
                return true
            }
        guard isWhole, reader.offset == bytes.count else { return nil }
        (unacknowledged, ownEnds, suspects, self.removals) = (pending, ends, waiting, removals)
    }
}
