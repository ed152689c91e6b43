// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultSync

/// Checks of remotes, some of which hang or deny rights.
struct RemoteChecksTests {
    /// An engine with a given store, which hangs until it is released.
    private final class Place: RemoteEngine {
        let store: any RecordStore
        private let held: DispatchSemaphore?

        init(_ store: any RecordStore = MemoryRecordStore(), until held: DispatchSemaphore? = nil) {
            (self.store, self.held) = (store, held)
        }

        func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
            held?.wait()
            return store
        }

        func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] { [] }
    }

    private struct Forbidding: RecordStore {
        let base: any RecordStore
        let refusal: RecordStoreError

        func heads() throws(RecordStoreError) -> [StreamHead] { try base.heads() }
        func read(
            _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
        ) throws(RecordStoreError) { try base.read(starts, take) }
        func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try base.record(at: address) }
        func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] { try base.append(records) }
        func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) { throw refusal }
        func remove(_ address: RecordAddress) throws(RecordStoreError) { throw refusal }
    }

    private let places = ["ssh://a/x", "etcd://b", "postgres://u@c/d"]

    private func accesses() throws -> [RemoteAccess] { try places.map { RemoteAccess(try RemoteURL($0)) } }

    @Test func `one that hangs keeps nobody waiting, and the others say what they have to`() throws {
        let held = DispatchSemaphore(value: 0)
        let refusing = Place(Forbidding(base: MemoryRecordStore(), refusal: .denied("no")))
        let engines = RemoteEngines([.ssh: Place(until: held), .etcd: Place(), .postgres: refusing])
        let checks = RemoteChecks(try accesses(), .of(1), bases: [:], engines)
        var found = checks.wait(.zero)
        while found.dropFirst().contains(where: { $0.failure != nil }) { found = checks.wait(.milliseconds(1)) }
        #expect(found.map(\.url.text) == places && !checks.isDone)
        guard case .store(.unreachable(let why))? = found[0].failure else {
            Issue.record("it has not answered")
            return
        }
        #expect(why.hasPrefix("ssh://a/x: no answer in "))
        #expect(found[1].failure == nil && found[1].mayRemove == true && found[1].isByTLS)
        #expect(found[2].failure == nil && found[2].mayRemove == false && found[2].isByTLS)
        held.signal()
        #expect(checks.wait(.seconds(600)).allSatisfy { $0.failure == nil } && checks.isDone)
    }

    @Test func `what a log has left behind and is still there is counted`() throws {
        let store = MemoryRecordStore()
        let (log, other) = (RecordStream(.log, .of(7)), RecordStream(.log, .of(8)))
        for stream in [log, other] {
            for number in 3...9 as ClosedRange<UInt64> {
                _ = try store.append([StoredRecord(RecordAddress(stream, number), [UInt8](repeating: 1, count: 600))])
            }
        }
        for (base, waiting) in [(1, 0), (3, 0), (5, 2), (9, 6), (10, 7), (40, 7)] as [(UInt64, UInt64)] {
            let remote = RemoteAccess(try RemoteURL("ssh://a/x"))
            let checks = RemoteChecks([remote], .of(1), bases: [log: base], RemoteEngines([.ssh: Place(store)]))
            #expect(checks.wait(.seconds(600)).map(\.waitingTrims) == [waiting])
        }
        #expect(try store.heads().count == 2)
    }

    @Test(arguments: [
        ("postgres://u@%2Frun%2Fpostgresql/d", false, false), ("postgres://u@localhost/d", false, false),
        ("postgres://u@localhost/d", true, true), ("postgres://u@db.example.org/d", false, true),
        ("postgres://u@localhost,db.example.org/d", false, true), ("etcd://127.0.0.1", false, false),
        ("etcd://[::1]", true, true), ("etcd://host", false, true), ("ssh://host/x", false, false),
    ]) func `which remotes are spoken to by TLS is as the engines have it`(
        url: String, hasAuthorities: Bool, isByTLS: Bool
    )
        throws
    {
        let credentials = RemoteCredentials(authorities: hasAuthorities ? "/ca.pem" : nil)
        #expect(RemoteAccess(try RemoteURL(url), credentials).isByTLS == isByTLS)
    }

    @Test func `a fleet's remotes are looked at, and one that is away is said to be`() throws {
        let homes = try Home.fleet(["a", "b"])
        let there = try homes[0].fleet.checkRemotes().wait(.seconds(600))
        #expect(there.map(\.url) == [Home.url] && there[0].failure == nil && there[0].mayRemove == true)
        let nowhere = try Fleet(homes[0].vault, environment: homes[0].environment, engines: RemoteEngines([:]))
        guard case .store(.refused)? = try nowhere.checkRemotes().wait(.seconds(600))[0].failure else {
            Issue.record("no engine reaches it")
            return
        }
    }
}
