// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultStorage

/// The engine's rules do not depend on the storage of records: with a dictionary they are those of a vault.
struct RecordSourceTests {
    /// Records in memory, without a file, a key or a log. A value's handle is a number, where a file has an offset.
    private final class MemoryRecords: RecordSource {
        struct State {
            var records: [Record?] = []
            var places: [ItemID: Int] = [:]
            var past: [ItemID: [Record]] = [:]
            var last: [ItemID: UInt64] = [:]
            var values: [UInt64: Secret] = [:]
            var historyLimit = 0
            var ordinal: UInt64 = 1
        }

        var state = State()
        let random = SeededRandom("identifiers")
        weak var observer: (any RecordObserver)?
        var now = 0.0

        func place(of id: ItemID) -> Int? { state.places[id] }
        func record(at place: Int) -> Record? { state.records[place] }
        func encodedRecord(at place: Int) -> ArraySlice<UInt8>? { state.records[place].map { $0.encoded()[...] } }
        var recordEnd: Int { state.records.count }
        func forEachRecord(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void) {
            for (place, record) in state.records.enumerated() {
                if let record { body(place, record.itemClass, record.attributes.bytes.span) }
            }
        }
        var settings: Record? { state.records.compactMap { $0 }.first { $0.itemClass == nil } }
        var historyLimit: Int { state.historyLimit }
        func versions(of id: ItemID) -> [Record] { state.past[id] ?? [] }
        var lastVersions: [Record] { state.past.values.compactMap(\.last) }
        var ownLog: OwnLog? { nil }
        func nextStamp() -> UInt64 { 0 }
        func logs() -> LogNumbers { LogNumbers() }
        func keptVersions(of id: ItemID) -> [Record] { [] }
        func lastVersion(of id: ItemID) -> UInt64 { state.last[id] ?? 0 }
        func canUse(_ protection: Accessibility) -> Bool { true }
        var hasPassphrase: Bool { true }
        func isAbsentHere(_ record: Record) -> Bool { false }
        func requireKnownDevice() {}
        func value(of record: Record) -> Secret? { record.value.flatMap { state.values[$0.offset] } }

        /// Makes all of the body's changes, or none.
        func write<R>(_ body: (inout MemorySession) throws(VaultError) -> R) throws(VaultError) -> R {
            let before = state
            var session = MemorySession(records: self)
            do throws(VaultError) { return try body(&session) } catch {
                state = before
                observer?.recordsWereReset()
                throw error
            }
        }
    }

    private struct MemorySession: RecordSession, ~Copyable {
        let records: MemoryRecords

        func makeItemID() -> ItemID { ItemID(random: records.random.bytes(16)) }
        var nextOrdinal: UInt64 { records.state.ordinal }
        func identifyDevice() -> [16 of UInt8] { .init(repeating: 7) }

        mutating func stage(_ record: Record, _ value: ValueChange) -> Record {
            var record = record
            switch value {
            case .keep: break
            case .none: (record.value, record.valueVersion) = (nil, 0)
            case .set(let secret):
                let handle = UInt64(records.state.values.count + 1)
                records.state.values[handle] = secret
                record.value = ValueLocation(offset: handle, length: 0, tag: .init(repeating: 0))
                record.valueVersion = record.version
            }
            records.state.ordinal += 1
            if record.itemClass == nil {
                records.state.historyLimit = VaultSettings.historyLimit(in: record.encoded().span) ?? 0
            }
            guard record.kind != .past else {
                records.state.past[record.id, default: []].append(record)
                records.state.past[record.id] = records.state.past[record.id]?.suffix(records.state.historyLimit)
                return record
            }
            let place = records.state.places[record.id] ?? records.state.records.count
            if place == records.state.records.count { records.state.records.append(nil) }
            let old = records.state.records[place]
            records.state.records[place] = record.kind == .put ? record : nil
            records.state.places[record.id] = record.kind == .put ? place : nil
            records.state.last[record.id] = record.version
            records.observer?.record(at: place, changedFrom: old, to: records.state.records[place])
            return record
        }
    }

    /// A source without secrets: items are compared by the results of the query.
    private final class NoSource: SecretSource {
        func secret(of record: ItemRecord, field: String?) -> Secret? { nil }
    }

    private func outcome(_ body: () throws(VaultError) -> [Item]) -> [String] {
        do throws(VaultError) {
            return try body().map { item in
                let secret = item.secret.map { secret in secret.withBytes { String(decoding: $0.array, as: UTF8.self) }
                }
                let names: [Attribute] = [.service, .account, .label, .accessGroup, .synchronizable, .tombstone]
                return "\(item.itemClass) \(names.map { "\(item[$0] as AttributeValue?)" }) \(secret ?? "none")"
            }
        } catch { return ["\(error)"] }
    }

    @Test func `over records in a dictionary every verb does what it does over a file`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.setHistoryLimit(2)
        let records = MemoryRecords()
        let engine = ItemEngine(records)
        let source = NoSource()
        try records.write { (session) throws(VaultError) in
            try engine.setHistoryLimit(2, deletedDays: nil, in: &session)
        }
        let (groups, viewer) = (AccessGroups.standard, Viewer(.standard))
        let random = SeededRandom("records elsewhere")
        var answers: Set<String> = []
        for step in 0..<2_000 {
            let (service, account) = ("s\(random.uniform(3))", "a\(random.uniform(3))")
            var item = Item(
                .genericPassword(service: service, account: account),
                attributes: random.chance(50) ? [.label: .string("l\(random.uniform(3))")] : [:])
            if random.chance(70) { item.secret = try Secret(text: "secret \(step)") }
            if random.chance(20) { item.attributes[.synchronizable] = true }
            var query = Query(.genericPassword, service: service)
            query.returnsSecrets = true
            query.synchronizableAny = random.chance(70)
            if random.chance(30) { query.attributes[.account] = .string(account) }
            var changes = ItemChanges(attributes: [.label: .string("m\(random.uniform(3))")])
            if random.chance(20) { changes.attributes[.account] = .string("a\(random.uniform(3))") }
            if random.chance(40) { changes.secret = try Secret(text: "changed \(step)") }
            let (mine, other): ([String], [String])
            switch random.uniform(7) {
            case 0:
                mine = outcome { () throws(VaultError) in [try vault.add(item)] }
                other = outcome { () throws(VaultError) in
                    [
                        try records.write { (session) throws(VaultError) in
                            try engine.add(item, groups, for: source, in: &session)
                        }
                    ]
                }
            case 1:
                mine = outcome { () throws(VaultError) in [try vault.set(item)] }
                other = outcome { () throws(VaultError) in
                    [
                        try records.write { (session) throws(VaultError) in
                            try engine.set(item, viewer, for: source, in: &session)
                        }
                    ]
                }
            case 2:
                mine = outcome { () throws(VaultError) in
                    _ = try vault.update(matching: query, with: changes)
                    return try vault.copyMatching(query)
                }
                other = outcome { () throws(VaultError) in
                    _ = try records.write { (session) throws(VaultError) in
                        try engine.update(matching: query, with: changes, viewer, in: &session)
                    }
                    return try engine.copyMatching(query, viewer, for: source)
                }
            case 3:
                mine = outcome { () throws(VaultError) in
                    _ = try vault.delete(matching: query)
                    return []
                }
                other = outcome { () throws(VaultError) in
                    _ = try records.write { (session) throws(VaultError) in
                        try engine.delete(matching: query, groups, in: &session)
                    }
                    return []
                }
            case 4:
                mine = outcome { () throws(VaultError) in try vault.versions(matching: query).map(\.item) }
                other = outcome { () throws(VaultError) in
                    try engine.versions(matching: query, viewer, for: source).map(\.item)
                }
            case 5:
                mine = outcome { () throws(VaultError) in
                    guard let record = try vault.copyMatching(query).first?.record else { return [] }
                    return [try vault.undo(record, to: nil)]
                }
                other = outcome { () throws(VaultError) in
                    guard let record = try engine.copyMatching(query, viewer, for: source).first?.record else {
                        return []
                    }
                    return [
                        try records.write { (session) throws(VaultError) in
                            try engine.undo(record.itemID, to: nil, viewer, for: source, in: &session)
                        }
                    ]
                }
            default:
                mine = outcome { () throws(VaultError) in
                    guard let record = try vault.deletedItems(matching: query).first?.item.record else { return [] }
                    return [try vault.restoreItem(record)]
                }
                other = outcome { () throws(VaultError) in
                    let deleted = try engine.deleted(matching: query, viewer, for: source)
                    guard let record = deleted.first?.item.record else { return [] }
                    return [
                        try records.write { (session) throws(VaultError) in
                            try engine.restore(record.itemID, viewer, for: source, in: &session)
                        }
                    ]
                }
            }
            try #require(mine == other, "step \(step)")
            answers.formUnion(mine)
        }
        #expect(answers.contains("duplicateItem") && answers.count > 500)
    }
}
