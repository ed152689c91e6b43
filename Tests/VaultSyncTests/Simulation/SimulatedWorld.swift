// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A value given to a field of an item.
struct Write: Hashable {
    let item: ItemID
    let field: FieldID
    let dot: Dot
}

/// The ground truth beside the protocol: the author of each write, and the writes that the author had seen.
final class SimulatedWorld {
    struct Written {
        let author: String
        let value: [UInt8]
        /// The writes that this write replaced, directly or indirectly.
        let past: Set<Dot>
    }

    struct KeyWritten: Hashable {
        let item: ItemID
        let key: [UInt8]
    }

    /// Rules that a negative control removes.
    enum Rule: CaseIterable {
        case vouching, removalRetelling, retellingBeforeTrim, sums, orderOfCollisions, lateErasing, latePurging
        case conflicts, editsBeforeDeletions

        /// The rules that fleets without a scripted scenario soon need.
        static let played: [Rule] = [
            .vouching, .retellingBeforeTrim, .orderOfCollisions, .conflicts, .editsBeforeDeletions,
        ]
    }

    /// The randomness of events.
    let random: SeededRandom
    /// The randomness of keys, nonces and names.
    let names: SeededRandom
    let realmID: RealmID
    var broken: Set<Rule> = []
    /// The time, in milliseconds since 1970.
    var now: UInt64 = 1_800_000_000_000
    let unit: UInt64 = 15_000
    let minute: UInt64 = 60_000
    var isTorn = false
    var mostTips = LogTip.limit
    var entryLength = 900
    var remoteCount = 1
    /// The percentage of secrets that are too large for an entry.
    var largePercent = 0

    var writes: [Write: Written] = [:]
    var published: Set<Write> = []
    /// Effects of restored files: writes known only to them, and writes that continue as another item.
    var lostByRestore: Set<Write> = []
    var moved: Set<Write> = []
    var restamped: Set<ItemID> = []
    var keysWritten: Set<KeyWritten> = []
    var epochKeys: [UInt32: Secret] = [:]
    var stats: [String: Int] = [:]
    /// Problems that must not occur in any run.
    var problems: [String] = []
    private var counter = 0

    init(_ seed: String) {
        random = SeededRandom(seed)
        names = SeededRandom("names of " + seed)
        realmID = Bytes16(names.bytes(16))
    }

    func count(_ name: String, _ number: Int = 1) { stats[name, default: 0] += number }

    func freshText() -> [UInt8] {
        counter += 1
        return Array("v\(counter)".utf8)
    }

    /// Notes the content of a record that reaches a remote.
    func notePublished(_ record: StoredRecord) {
        guard record.address.stream.kind == .log, let entry = entry(in: record) else { return }
        for item in entry.items {
            for (field, values) in item.fields {
                for dot in values.keys { published.insert(Write(item: item.id, field: field, dot: dot)) }
            }
        }
    }

    func entry(in record: StoredRecord) -> LogEntry<Range<Int>>? {
        let sealer = RecordSealer(realmID: realmID, random: names)
        guard let sealed = try? SealedRecord(parsing: record.bytes, .log), let key = epochKeys[sealed.epoch],
            let content = try? sealer.open(sealed, at: record.address, key: key)
        else { return nil }
        return content.withBytes { bytes in
            try? LogEntry(parsing: bytes.extracting(0..<bytes.count - SigningKey.signatureLength))
        }
    }

    /// Returns the items of a record, with their secrets.
    func states(in record: StoredRecord) throws -> [ItemState<Secret>] {
        let sealer = RecordSealer(realmID: realmID, random: names)
        let sealed = try SealedRecord(parsing: record.bytes, .log)
        guard let key = epochKeys[sealed.epoch], let entry = entry(in: record) else { return [] }
        let content = try sealer.open(sealed, at: record.address, key: key)
        return try entry.items.map { try $0.map { Secret(try content.copy(of: $0)) } }
    }

    /// Returns every dot that the live values of a field know, including their own.
    func seen(_ state: ItemState<Secret>, _ field: FieldID) -> Set<Dot> {
        var seen: Set<Dot> = []
        for dot in state.fields[field]?.keys ?? [] {
            seen.insert(dot)
            seen.formUnion(writes[Write(item: state.id, field: field, dot: dot)]?.past ?? [])
        }
        return seen
    }

    func seen(_ items: MemoryItems) -> Set<Write> {
        var all: Set<Write> = []
        for (id, entry) in items.items {
            for field in entry.state.fields.keys {
                for dot in seen(entry.state, field) { all.insert(Write(item: id, field: field, dot: dot)) }
            }
        }
        return all
    }
}

extension FieldValue<Secret> {
    /// The value in the form that tests compare.
    var exposed: [UInt8] {
        switch self {
        case .plain(let bytes): bytes
        case .secret(let secret): secret.exposed
        case .none, .blob, .erased: []
        }
    }
}
