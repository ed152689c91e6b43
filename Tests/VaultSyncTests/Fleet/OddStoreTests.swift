// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Remotes that lose acknowledgements, and remotes that never finish.
struct OddStoreTests {
    private static func fleet(_ home: Home, _ oddity: Oddity) throws -> Fleet {
        let engine = OddEngine(FolderEngine(home.environment), oddity)
        return try Fleet(home.vault, environment: home.environment, engines: RemoteEngines([.file: engine]))
    }

    @Test func `a fleet is founded, joined and synced while every acknowledgement is lost once`() throws {
        let disk = MemoryFileSystem()
        let clock = ManualClock()
        let homes = try ["a", "b"].map { try Home($0, on: disk, clock: clock) }
        let fleets = try homes.map { try Self.fleet($0, .repeatsAppends) }
        _ = try fleets[0].found(Home.url, deviceName: "a")
        let attempt = try fleets[1].requestToJoin(Home.url, deviceName: "b")
        _ = try fleets[0].approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        try homes[0].add("ada", "one")
        try homes[1].add("grace", "two")
        for fleet in fleets + fleets {
            clock.advance(by: 1)
            for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
        }
        for home in homes { #expect(try home.secrets() == ["ada": "one", "grace": "two"]) }
    }

    @Test func `a list of devices without end is given up by a device that joins`() throws {
        let disk = MemoryFileSystem()
        let founder = try Home("a", on: disk)
        let code = try founder.fleet.found(Home.url, deviceName: "a")
        let joining = try Home("b", on: disk)
        let error = #expect(throws: SyncError.self) {
            try Self.fleet(joining, .endlessRoster).join(
                Home.url, with: code, deviceName: "b")
        }
        guard case .alarm(let alarm)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(alarm.kind == .damaged)
        #expect(try !joining.fleet.isJoined)
    }
}

private enum Oddity {
    case repeatsAppends, endlessRoster
}

private struct OddEngine: RemoteEngine {
    private let base: FolderEngine
    private let oddity: Oddity

    init(_ base: FolderEngine, _ oddity: Oddity) { (self.base, self.oddity) = (base, oddity) }

    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        OddStore(try base.store(at: remote, realm: realm), oddity)
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] { try base.realms(at: remote) }
}

private struct OddStore: RecordStore {
    private let base: any RecordStore
    private let oddity: Oddity

    init(_ base: any RecordStore, _ oddity: Oddity) { (self.base, self.oddity) = (base, oddity) }

    func heads() throws(RecordStoreError) -> [StreamHead] { try base.heads() }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        guard oddity == .endlessRoster, let start = starts.first(where: { $0.stream.kind == .roster }) else {
            return try base.read(starts, take)
        }
        let junk = [UInt8](repeating: 7, count: 1 << 20)
        for number in max(start.sequence, 1)... { try take(StoredRecord(RecordAddress(start.stream, number), junk)) }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try base.record(at: address) }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        let first = try base.append(records)
        return oddity == .repeatsAppends ? try base.append(records) : first
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try base.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { try base.remove(address) }
}
