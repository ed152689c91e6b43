// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// A record that a rewrite keeps.
enum LiveRecord {
    /// By its place in the table.
    case current(Int)
    /// An older version, by its index among those of its item.
    case past(ItemID, Int)

    func encoded(in records: RecordTable) -> [UInt8]? {
        switch self {
        case .current(let place): records.read(place) { $0.array($0.indices) }
        case .past(let id, let index): records.past[id]?[index].encoded()
        }
    }
}

/// Compares what a rewritten file says with what it was to say, and notes where the values lie.
struct ReadBack {
    private let layout: [LiveRecord]
    /// As they were laid down.
    private var records: RecordTable
    private var next = 0
    /// Operations that were committed since the copy was begun, in order.
    private var later: [[UInt8]] = []
    private var moved = MovedValues()

    init(_ layout: [LiveRecord], of records: RecordTable) {
        self.layout = layout
        self.records = records
        moved.places = [(old: UInt64, new: UInt64)](repeating: (0, 0), count: records.end)
    }

    /// What comes behind the records.
    mutating func goOn(with later: [[UInt8]]) { self.later = later }

    /// Ends the comparison, and lets go of the records: whoever changes them next must be their only holder.
    ///
    /// - Throws: `.damaged(.readBack)` when something is missing.
    mutating func end() throws(StorageError) -> MovedValues {
        records = RecordTable()
        guard next == layout.count + later.count else { throw .damaged(.readBack) }
        return moved
    }

    /// - Throws: `.damaged(.readBack)`.
    mutating func take(_ operation: Span<UInt8>) throws(StorageError) {
        defer { next += 1 }
        guard next >= layout.count else { return try take(operation, layout[next]) }
        guard next - layout.count < later.count else { throw .damaged(.readBack) }
        let expected = later[next - layout.count]
        guard Operation.areEqualButForOffset(operation, expected.span) else { throw .damaged(.readBack) }
        let id = Operation.id(of: operation)
        switch Operation.kind(of: operation) {
        case .past:
            moved.past[VersionKey(Operation(checked: operation))] = (
                Operation.offset(of: expected.span), Operation.offset(of: operation)
            )
        case .delete:
            moved.deleted.insert(id)
            moved.hasSuperseded = true
        case .put:
            moved.hasSuperseded = true
            if Operation.hasValue(operation) { moved.later[id] = (Operation.valueVersion(of: operation), Operation.offset(of: operation)) }
        }
    }

    private mutating func take(_ operation: Span<UInt8>, _ record: LiveRecord) throws(StorageError) {
        let offset = Operation.offset(of: operation)
        switch record {
        case .current(let place):
            let old = records.read(place) { expected in
                Operation.areEqualButForOffset(operation, expected) ? Operation.offset(of: expected) : nil
            }
            guard let old, let old else { throw .damaged(.readBack) }
            moved.places[place] = (old, offset)
        case .past:
            guard let expected = record.encoded(in: records), Operation.areEqualButForOffset(operation, expected.span) else {
                throw .damaged(.readBack)
            }
            moved.past[VersionKey(Operation(checked: operation))] = (Operation.offset(of: expected.span), offset)
        }
    }
}

/// Reads boxes of values, many at a time where they lie in the order in which they are asked for.
struct BoxReader {
    private static let windowLength = 256 << 10

    let file: any VaultFile
    private var window: [UInt8] = []
    private var start = 0
    private var end: Int { start + window.count }

    init(file: any VaultFile) { self.file = file }

    /// Nonce and box of an operation's value, whose tag is the one that the operation names; empty without a value.
    mutating func box(of operation: Span<UInt8>) throws(StorageError) -> [UInt8] {
        guard let value = Operation.value(of: operation) else { return [] }
        let (offset, length) = (Int(value.offset), Int(value.length))
        if offset < start || offset + length > end {
            // What is near the last one is likely to be followed by its neighbours.
            let isNear = offset >= start && offset < end + BoxReader.windowLength / 4
            let wanted = isNear ? max(length, BoxReader.windowLength) : length
            window = try attempt(.read) { [file] () throws(Errno) in try file.read(wanted, at: offset) }
            start = offset
        }
        guard offset + length <= end else { throw .damaged(.value(Operation.id(of: operation))) }
        let box = window.span.extracting(offset - start..<offset - start + length)
        guard isEqualInConstantTime(box.extracting(Layout.nonceLength..<Layout.boxOverhead), value.tag.span) else {
            throw .damaged(.value(Operation.id(of: operation)))
        }
        return box.array(box.indices)
    }
}
