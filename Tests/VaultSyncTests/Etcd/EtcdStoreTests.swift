// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync
@testable import VaultSyncEtcd

/// The promises of a store in etcd beyond those of every store.
@Suite(.enabled(if: EtcdServer.isThere), .serialized) struct EtcdStoreTests {
    private static let log = RecordStream.logs[0]

    private static func realm() -> RealmID { Bytes16(SystemRandom().bytes(16)) }

    private static func store(_ realm: RealmID = realm()) throws -> EtcdRecordStore {
        try EtcdServer.shared.get().store(realm: realm)
    }

    @Test func `a head rises with its log, and never falls`() async throws {
        let realm = Self.realm()
        let store = try Self.store(realm)
        for sequence in [5, 3, 4, 1] as [UInt64] {
            _ = try store.append([.of(Self.log, sequence)])
            #expect(try store.heads().map(\.last) == [5])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let store = try Self.store(realm)
                    for step in 0..<10 { _ = try store.append([.of(Self.log, UInt64(6 + step * 4 + writer))]) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.heads() == [StreamHead(Self.log, first: 1, last: 45, count: 44)])
    }

    @Test func `a head that was deleted comes back with a record that is stored again`() throws {
        let realm = Self.realm()
        let store = try Self.store(realm)
        let records: [StoredRecord] = [.of(Self.log, 1), .of(Self.log, 2)]
        _ = try store.append(records)
        let head = try #require(EtcdKeys(realm).head(of: Self.log))
        try EtcdServer.shared.get().control("del", String(decoding: head, as: UTF8.self), asRoot: true)
        #expect(try store.heads().isEmpty)
        #expect(try store.append(records) == [.same, .same])
        #expect(try store.heads() == [StreamHead(Self.log, first: 1, last: 2, count: 2)])
    }

    @Test func `more streams than one transaction, and more parts than one page, are all told`() throws {
        let store = try Self.store()
        let streams = (1...130).map { RecordStream(.log, .of(UInt8($0))) }
        _ = try store.append(streams.map { .of($0, 1, count: 64) })
        _ = try store.append((1...1500).map { .of(.blob, UInt64($0), count: 64) })
        let heads = try store.heads()
        #expect(heads.map(\.stream) == streams + [.blob])
        #expect(heads.last == StreamHead(.blob, first: 1, last: 1500, count: 1500))
        #expect(try store.all(.blob).map(\.address.sequence) == Array(1...1500))
        // The parts that this connection stores are counted without another look.
        _ = try store.append([.of(.blob, 1501, count: 64)])
        #expect(try store.heads().last == StreamHead(.blob, first: 1, last: 1501, count: 1501))
        try store.remove(.blob, below: .max)
        #expect(try store.heads().map(\.stream) == streams)
    }

    @Test func `records of every length are read in pages`() throws {
        let store = try Self.store()
        let lengths = [64, 256 << 10, 100, 256 << 10, 256 << 10, 256 << 10, 256 << 10, 70]
        let records = (1...72).map { StoredRecord.of(Self.log, UInt64($0), count: lengths[$0 % lengths.count]) }
        #expect(try store.append(records).allSatisfy { $0 == .created })
        #expect(try store.append(records).allSatisfy { $0 == .same })
        #expect(try store.all(Self.log) == records)
    }

    @Test func `keys of other programs are no records`() throws {
        let realm = Self.realm()
        let store = try Self.store(realm)
        let records: [StoredRecord] = [.of(Self.log, 1), .of(Self.log, 2)]
        _ = try store.append(records)
        let base = "vlt1/\(realm.text)/"
        let stream = "\(base)1/\(Self.log.name.text)/"
        for key in [
            stream + "0000000000000001.old", stream + "0000000000000000", stream + "ffffffffffffffff", base + "h/1/x",
            base + "h/2/" + Self.log.name.text, base + "9", "vlt1/other", "vlt1/x/y",
        ] {
            try EtcdServer.shared.get().control("put", key, "12345678", asRoot: true)
        }
        #expect(try store.all(Self.log) == records)
        #expect(try store.heads().map(\.last) == [2])
        let engine = EtcdEngine()
        #expect(try engine.realms(at: EtcdServer.shared.get().access()).contains(realm))
    }

    @Test func `an engine keeps a store for each fleet, until the password changes`() throws {
        let server = try EtcdServer.shared.get()
        let engine = EtcdEngine()
        func store(_ access: RemoteAccess, _ realm: RealmID = .of(0xab)) throws -> EtcdRecordStore? {
            try engine.store(at: access, realm: realm) as? EtcdRecordStore
        }
        let first = try store(server.access())
        #expect(try store(server.access()) === first)
        #expect(try store(server.access(), .zero) !== first)
        #expect(try store(server.access(password: "other")) !== first)
    }

    @Test func `a watch tells of new entries, and ends at once`() throws {
        let realm = Self.realm()
        let store = try Self.store(realm)
        _ = try store.append([.of(Self.log, 1)])
        let hints = Hints()
        let watch = try #require(try store.watch { hints.take($0) })
        _ = try Self.store(realm).append([.of(Self.log, 2), .of(.blob, 1), .of(.roster, 1)])
        #expect(hints.next(2).sorted { "\($0)" < "\($1)" } == [.appended(Self.log, 2), .appended(.roster, 1)])
        _ = try store.append([.of(Self.log, 3)])
        #expect(hints.next(1) == [.appended(Self.log, 3)])
        let start = ContinuousClock.now
        watch.end()
        #expect(start.duration(to: .now) < .milliseconds(900))
        _ = try store.append([.of(Self.log, 4)])
        #expect(hints.isEmpty)
    }

    @Test func `two devices sync by way of etcd`() throws {
        let server = try EtcdServer()
        let (disk, clock) = (MemoryFileSystem(), ManualClock())
        let engines = RemoteEngines([.etcd: EtcdEngine()])
        let homes = try ["a", "b"].map { try Home($0, on: disk, clock: clock) }
        let fleets = try homes.map { try Fleet($0.vault, environment: $0.environment, engines: engines) }
        let access = server.access()
        _ = try fleets[0].found(
            access.url, credentials: access.credentials, deviceName: "a")
        let attempt = try fleets[1].requestToJoin(
            access.url, credentials: access.credentials, deviceName: "b")
        _ = try fleets[0].approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        try homes[0].add("ada", "one")
        try homes[0].add("large", String(repeating: "x", count: 700_000))
        for fleet in fleets {
            clock.advance(by: 1)
            for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
        }
        #expect(try homes[1].secrets()["ada"] == "one" && homes[1].secrets()["large"]?.count == 700_000)
    }
}

/// A collector of hints.
final class Hints: Sendable {
    private let hints = Mutex<[RecordHint]>([])
    private let count = DispatchSemaphore(value: 0)

    func take(_ hint: RecordHint) {
        hints.withLock { $0.append(hint) }
        count.signal()
    }

    var isEmpty: Bool { hints.withLock { $0.isEmpty } }

    /// Takes this number of hints.
    func next(_ wanted: Int) -> [RecordHint] {
        for _ in 0..<wanted where count.wait(timeout: Patience.deadline) == .timedOut { return [] }
        return hints.withLock { hints in
            let first = Array(hints.prefix(wanted))
            hints.removeFirst(first.count)
            return first
        }
    }
}
