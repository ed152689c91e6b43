// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultSync

/// Trims of a device that may append to a remote and may not remove.
struct TrimRightsTests {
    private static func log(of home: Home) throws -> RecordStream {
        RecordStream(.log, try home.fleet.membership().state.log)
    }

    /// Returns the first number of a device's log at the remote and in its mirror.
    private static func firsts(of home: Home) throws -> (remote: UInt64?, mirror: UInt64?) {
        let (realm, log) = (try home.fleet.membership().identity.realmID, try log(of: home))
        let heads = try home.fleet.store(at: Home.access, realm: realm).heads()
        return (
            heads.first { $0.stream == log }?.first,
            try home.fleet.mirror(of: realm).numbers(of: log).min()
        )
    }

    @Test(arguments: [
        RecordStoreError.denied("no"), .inputOutput(.permissionDenied, "/shared"),
        .inputOutput(.notPermitted, "/shared"),
    ])
    func `a trim waits where a device may not remove, and is done once it may`(refusal: RecordStoreError) throws {
        let homes = try Home.fleet(["a", "b"])
        let engine = AppendingEngine(FolderEngine(homes[0].environment), refusal)
        let fleet = try Fleet(
            homes[0].vault, environment: homes[0].environment, engines: RemoteEngines([.file: engine]))
        try homes[0].add("ada", "one")
        for round in 0..<40 {
            try homes[0].change("ada", String(repeating: "\(round % 10)", count: 50_000))
            homes[0].clock.advance(by: 1)
            for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
            try homes[1].sync()
        }
        // The device has announced a later beginning of the log.
        #expect(try #require(homes[0].fleet.membership().state.logs[log(of: homes[0]).name]).base > 1)
        let waiting = try Self.firsts(of: homes[0])
        #expect(waiting.remote == 1 && waiting.mirror == 1)
        try homes[0].sync()
        let done = try Self.firsts(of: homes[0])
        #expect(try #require(done.remote) > 1 && done.mirror == done.remote)
        try homes[1].sync()
        #expect(try homes[0].secrets() == homes[1].secrets())
    }

    private func log(of home: Home) throws -> RecordStream { try Self.log(of: home) }
}

/// A folder that only accepts new records.
private struct AppendingEngine: RemoteEngine {
    private let base: FolderEngine
    private let refusal: RecordStoreError

    init(_ base: FolderEngine, _ refusal: RecordStoreError) { (self.base, self.refusal) = (base, refusal) }

    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        AppendingStore(try base.store(at: remote, realm: realm), refusal)
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] { try base.realms(at: remote) }
}

private struct AppendingStore: RecordStore {
    private let base: any RecordStore
    private let refusal: RecordStoreError

    init(_ base: any RecordStore, _ refusal: RecordStoreError) { (self.base, self.refusal) = (base, refusal) }

    func heads() throws(RecordStoreError) -> [StreamHead] { try base.heads() }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) { try base.read(starts, take) }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try base.record(at: address) }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] { try base.append(records) }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) { throw refusal }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { throw refusal }
}
