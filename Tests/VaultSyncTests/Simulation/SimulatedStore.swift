// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultFormat

@testable import VaultSync

typealias Records = [RecordStream: [UInt64: [UInt8]]]

extension Records {
    subscript(address: RecordAddress) -> [UInt8]? {
        get { self[address.stream]?[address.sequence] }
        set {
            self[address.stream, default: [:]][address.sequence] = newValue
            if self[address.stream]?.isEmpty == true { self[address.stream] = nil }
        }
    }

    mutating func remove(_ stream: RecordStream, below sequence: UInt64) {
        guard let kept = self[stream]?.filter({ $0.key >= sequence }) else { return }
        self[stream] = kept.isEmpty ? nil : kept
    }

    mutating func remove(_ stream: RecordStream, _ numbers: ClosedRange<UInt64>) {
        guard let kept = self[stream]?.filter({ !numbers.contains($0.key) }) else { return }
        self[stream] = kept.isEmpty ? nil : kept
    }

    func last(_ stream: RecordStream) -> UInt64 { self[stream]?.keys.max() ?? 0 }
}

/// Records that a test can copy and change: a mirror, or a remote's content.
final class OpenRecordStore: RecordStore, @unchecked Sendable {
    // Used by one thread at a time, since a simulation has no other.
    var records: Records
    let counts: Bool

    init(_ records: Records = [:], counts: Bool = true) { (self.records, self.counts) = (records, counts) }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        records.compactMap { stream, records in
            guard stream.kind != .mailbox, let first = records.keys.min(), let last = records.keys.max() else {
                return nil
            }
            return StreamHead(stream, first: first, last: last, count: counts ? UInt64(records.count) : nil)
        }.sorted { $0.stream < $1.stream }
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        for start in starts {
            let found = (records[start.stream] ?? [:]).filter { $0.key >= start.sequence }
            for (sequence, bytes) in found.sorted(by: { $0.key < $1.key }) {
                try take(StoredRecord(RecordAddress(start.stream, sequence), bytes))
            }
        }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { records[address] }

    func append(_ new: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in new { try record.checkBounds() }
        var results: [Appended] = []
        for record in new where results.last != .differs {
            if let there = records[record.address] {
                results.append(there == record.bytes ? .same : .differs)
            } else {
                records[record.address] = record.bytes
                results.append(.created)
            }
        }
        return results
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        records.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { records[address] = nil }
}

/// A remote: a shared place, or a folder of which each device has its own copy.
final class SimulatedRemote {
    /// The remote's number, known to the devices.
    let number: Int
    let isFolder: Bool
    /// For a folder, the union of all its copies over time.
    var records: Records
    private var copies: [String: Records] = [:]
    private(set) var born: [RecordAddress: UInt64] = [:]
    private(set) var trimmed: [RecordStream: UInt64] = [:]
    let counts: Bool
    /// Returns the records that a malicious operator shows a device instead.
    var lie: ((_ device: String, Records) -> Records)?
    /// Returns the additional records shown at a record's address.
    var twins: ((StoredRecord) -> [StoredRecord])?
    /// The number of records that are uploaded before the connection ends.
    var accepts: Int?
    /// Runs before a record is appended to the roster, to simulate concurrent writers.
    var beforeRoster: (() throws -> Void)?

    init(_ records: Records = [:], number: Int = 0, isFolder: Bool = false, counts: Bool = true) {
        (self.records, self.number, self.isFolder, self.counts) = (records, number, isFolder, counts)
    }

    func copy(of device: String) -> Records { isFolder ? copies[device] ?? [:] : records }

    func store(_ record: StoredRecord, by device: String, at now: UInt64) -> Appended {
        if born[record.address] == nil { born[record.address] = now }
        if let there = copy(of: device)[record.address] { return there == record.bytes ? .same : .differs }
        if isFolder { copies[device, default: [:]][record.address] = record.bytes }
        if !isFolder || records[record.address] == nil { records[record.address] = record.bytes }
        return .created
    }

    func remove(_ address: RecordAddress, by device: String) {
        if isFolder { copies[device]?[address] = nil }
        records[address] = nil
    }

    func remove(_ stream: RecordStream, below sequence: UInt64, at now: UInt64) {
        for device in copies.keys { copies[device]?.remove(stream, below: sequence) }
        if (records[stream]?.keys.min() ?? sequence) < sequence { trimmed[stream] = now }
        records.remove(stream, below: sequence)
    }

    /// Copies files of a folder to the devices one by one, in any order.
    func travel(to devices: [String], percent: Int, _ random: SeededRandom) {
        for device in devices {
            for (stream, found) in records.sorted(by: { $0.key < $1.key }) {
                for (sequence, bytes) in found.sorted(by: { $0.key < $1.key }) {
                    let address = RecordAddress(stream, sequence)
                    guard copies[device]?[address] == nil, percent == 100 || random.chance(percent) else { continue }
                    copies[device, default: [:]][address] = bytes
                }
            }
        }
    }

    func share(with devices: [String]) {
        for device in devices where copies[device] == nil { copies[device] = records }
    }
}

/// A device's connection to a remote. The connection may break at each operation, before or after its effect, and shows
/// streams one after the other while other devices write.
final class Connection: RecordStore, @unchecked Sendable {
    private let remote: SimulatedRemote
    private let device: String
    private let world: SimulatedWorld
    private let cutPercent: Int
    /// The streams whose newest records the heads omit, and those whose newest records cannot be read either.
    private let late: (heads: Set<RecordStream>, reads: Set<RecordStream>)

    init(_ remote: SimulatedRemote, _ device: String, ownLog: LogID, _ world: SimulatedWorld, cutPercent: Int = 0) {
        (self.remote, self.device, self.world, self.cutPercent) = (remote, device, world, cutPercent)
        var late: (heads: Set<RecordStream>, reads: Set<RecordStream>) = ([], [])
        if world.isTorn, !remote.isFolder, world.random.chance(20) {
            for stream in remote.records.keys.sorted()
            where stream.kind == .log && stream.name != ownLog && world.random.chance(40) {
                // A device that misses records also finds the entry that announces the trim: reads have no upper bound.
                if let time = remote.trimmed[stream], time + world.minute > world.now { continue }
                late.heads.insert(stream)
                if world.random.chance(60) { late.reads.insert(stream) }
            }
        }
        self.late = late
    }

    private func cut() throws(RecordStoreError) {
        if cutPercent > 0, world.random.chance(cutPercent) { throw .unreachable("cut") }
    }

    private func shown(_ late: Set<RecordStream>) -> OpenRecordStore {
        var records = remote.copy(of: device)
        for stream in late {
            for sequence in records[stream]?.keys.sorted() ?? [] {
                let address = RecordAddress(stream, sequence)
                if (remote.born[address] ?? 0) + world.minute > world.now { records[address] = nil }
            }
        }
        return OpenRecordStore(remote.lie?(device, records) ?? records, counts: remote.counts)
    }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        try cut()
        return try shown(late.heads).heads()
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        try cut()
        try shown(late.reads).read(starts) { record throws(RecordStoreError) in
            if cutPercent > 0, world.random.chance(cutPercent), world.random.chance(10) { throw .unreachable("cut") }
            try take(record)
            for twin in remote.twins?(record) ?? [] { try take(twin) }
        }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        try cut()
        return try shown([]).record(at: address)
    }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        if records.first?.address.stream.kind == .roster, let before = remote.beforeRoster {
            remote.beforeRoster = nil
            do { try before() } catch { world.problems.append("X: \(error)") }
        }
        try cut()
        let isCut = cutPercent > 0 && world.random.chance(cutPercent)
        let reached = isCut ? world.random.number(in: 0...records.count) : records.count
        var results: [Appended] = []
        for record in records.prefix(reached) where results.last != .differs {
            if let left = remote.accepts {
                guard left > 0 else { throw .unreachable("ended") }
                remote.accepts = left - 1
            }
            results.append(remote.store(record, by: device, at: world.now))
            if results.last == .created { world.notePublished(record) }
        }
        // The acknowledgement is lost.
        if isCut { throw .unreachable("cut") }
        return results
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try cut()
        remote.remove(stream, below: sequence, at: world.now)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) {
        try cut()
        remote.remove(address, by: device)
    }
}
