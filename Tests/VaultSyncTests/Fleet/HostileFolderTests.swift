// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Attacks on a folder by a writer without a key.
struct HostileFolderTests {
    private static func fleet() throws -> (homes: [Home], store: DirectoryRecordStore, realm: RealmID, log: LogID) {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        for home in homes + homes { try home.sync() }
        let membership = try homes[0].fleet.membership()
        let realm = membership.identity.realmID
        let store = DirectoryRecordStore(
            Home.remote, realm: realm, createsRoot: false, on: homes[0].environment.fileSystem)
        return (homes, store, realm, membership.state.log)
    }

    private static func put(
        _ bytes: [UInt8], _ stream: RecordStream, _ number: UInt64, _ realm: RealmID, _ home: Home
    ) throws {
        let folder = try home.environment.fileSystem.openDirectory(Home.remote).directory("vlt1").directory(realm.text)
            .directory(String(stream.kind.rawValue)).directory(stream.name.text)
        try folder.openOrCreate(RecordName(number).text).writeAll(bytes.span, at: 0)
    }

    private static func rubbish(epoch: UInt32 = 1) -> [UInt8] {
        var bytes = Array("VLR1".utf8)
        bytes.append(integer: epoch)
        return bytes + [UInt8](repeating: 0, count: 1000)
    }

    @Test(arguments: [.max, 1 << 63 - 1, 1000] as [UInt64])
    func `rubbish in a device's own log makes it no copy of itself`(
        number: UInt64
    ) throws {
        let (homes, _, realm, log) = try Self.fleet()
        try Self.put(Self.rubbish(), RecordStream(.log, log), number, realm, homes[0])
        for (round, home) in (homes + homes).enumerated() {
            try home.add("item \(round)", "secret \(round)")
            home.clock.advance(by: 10)
            let outcome = try home.fleet.sync()[0]
            #expect(outcome.error == nil && !outcome.report.newLog)
            if home.name == "a" {
                // Numbers outside the range of records name no record; the other device removes the rest.
                let isThere = RecordAddress.sequences.contains(number) && round < homes.count
                #expect(outcome.alarms.map(\.kind) == (isThere ? [.damaged] : []))
                #expect(outcome.alarms.map(\.sequence) == (isThere ? [number] : []))
            }
        }
        #expect(try homes[0].fleet.membership().state.log == log)
        for home in homes { _ = try home.fleet.sync() }
        #expect(try homes[1].secrets()["item 2"] == "secret 2")
        #expect(try homes[0].secrets()["item 3"] == "secret 3")
    }

    @Test func `an own record that was altered is called so, and is no reason to begin anew`() throws {
        let (homes, store, realm, log) = try Self.fleet()
        let stream = RecordStream(.log, log)
        let last = try #require(try store.sequences(of: stream).last)
        let bytes = try #require(try store.record(at: RecordAddress(stream, last)))
        var altered = bytes
        altered[bytes.count / 2] ^= 1
        try Self.put(altered, stream, last, realm, homes[0])
        try homes[0].add("bob", "two")
        homes[0].clock.advance(by: 1)
        let outcome = try homes[0].fleet.sync()[0]
        #expect(outcome.alarms.map(\.kind) == [.damaged] && outcome.alarms.map(\.sequence) == [last])
        #expect(outcome.error == nil && !outcome.report.newLog)
        try Self.put(bytes, stream, last, realm, homes[0])
        for home in homes { try home.sync() }
        #expect(try homes[1].secrets() == ["ada": "one", "bob": "two"])
    }

    @Test(arguments: [0, 1, 2, 3, 99] as [UInt32])
    func `one file at the roster's next number removes nobody, and stops nothing but changes of the roster`(
        epoch: UInt32
    ) throws {
        let (homes, store, realm, _) = try Self.fleet()
        let stream = RecordStream(.roster, realm)
        let next = RecordAddress(stream, try #require(try store.sequences(of: stream).last) + 1)
        var bytes = Self.rubbish(epoch: epoch)
        // Adds a farewell of zeros.
        bytes[10] = 1
        try homes[0].add("bob", "two")
        _ = try store.append([StoredRecord(next, bytes)])
        for home in homes + homes {
            home.clock.advance(by: 1)
            let outcome = try home.fleet.sync()[0]
            #expect(outcome.error == nil && outcome.alarms.map(\.kind) == [.damaged])
            #expect(outcome.alarms.map(\.log) == [nil] && outcome.alarms.map(\.sequence) == [next.sequence])
            #expect(try !home.fleet.status().isRemoved)
            #expect(try home.fleet.mirror(of: realm).bytes(at: next) == nil)
        }
        #expect(try homes[1].secrets() == ["ada": "one", "bob": "two"])
        // The file may be an altered change of another owner, so no other record takes its place.
        #expect(try homes[0].fleet.remove(deviceNamed: "b").failure != nil)
        #expect(throws: SyncError.self) {
            try homes[0].fleet.renewRecoveryCode { _ throws(SyncError) in Issue.record("a code was shown") }
        }
        #expect(try store.record(at: next) == bytes)
        try store.remove(next)
        try homes[0].sync()
        #expect(throws: SyncError.removed) { try homes[1].sync() }
    }

    @Test func `rubbish beyond every number of others' logs and of the roster is no harm`() throws {
        let (homes, _, realm, log) = try Self.fleet()
        for stream in [RecordStream(.roster, realm), RecordStream(.log, log)] {
            for number in [.max, 1 << 63 - 1, 1 << 32] as [UInt64] {
                try Self.put(Self.rubbish(), stream, number, realm, homes[0])
            }
        }
        for _ in 0..<2 {
            try homes[0].change("ada", "two")
            for home in homes {
                home.clock.advance(by: 100)
                #expect(try home.fleet.sync()[0].error == nil)
            }
        }
        #expect(try homes[1].secrets()["ada"] == "two")
    }
}
