// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync
@testable import VaultSyncEtcd
@testable import VaultSyncPostgres

/// The information that a server's disk and log give its operator: random names of realm and logs, sizes, counts and
/// times.
struct ServerSecrecyTests {
    private struct Device {
        let home: Home
        let fleet: Fleet
    }

    /// Makes a fleet of two devices, with items of every kind.
    private static func fleet(_ engines: RemoteEngines, _ access: RemoteAccess) throws -> [Device] {
        let (disk, clock) = (MemoryFileSystem(), ManualClock())
        let devices = try ["laptop of Ada", "phone of Bob"].map { name in
            let home = try Home(name, on: disk, clock: clock)
            return Device(home: home, fleet: try Fleet(home.vault, environment: home.environment, engines: engines))
        }
        _ = try devices[0].fleet.found(
            access.url, credentials: access.credentials, deviceName: devices[0].home.name)
        let attempt = try devices[1].fleet.requestToJoin(
            access.url, credentials: access.credentials, deviceName: devices[1].home.name)
        _ = try devices[0].fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        var item = Item(
            .genericPassword(service: "a service of many", account: "account number 1"),
            attributes: [.label: .string("label of labels"), .comment: .string("a comment there")],
            secret: try Secret(text: "secret number 1, and long"))
        item.userAttributes = ["team-attribute": "blue-and-green"]
        item.fields = ["pin-of-item": try Secret(text: "9876543210")]
        try devices[0].home.vault.add(item)
        try devices[1].home.add("large account", String(repeating: "very large ", count: 9000))
        for device in devices + devices + devices {
            clock.advance(by: 1)
            #expect(try device.fleet.sync()[0].error == nil)
        }
        #expect(try devices[0].home.secrets().count == 1)
        return devices
    }

    private static let texts = [
        "laptop of Ada", "phone of Bob", "a service of many", "account number 1", "label of labels", "a comment there",
        "secret number 1, and long", "team-attribute", "blue-and-green", "pin-of-item", "9876543210", "large account",
        "very large very large",
    ]

    /// - Parameter found: the content of every file of the server.
    private static func expectNothing(of devices: [Device], in found: [[UInt8]]) throws {
        for text in texts { Traces.expectAbsent(Array(text.utf8), text, in: found) }
        let memberships = try devices.map { try $0.fleet.membership() }
        let ids = try devices[0].fleet.deviceNames().keys.compactMap { memberships[0].state.logs[$0]?.device }
        #expect(ids.count == 2)
        for id in ids { Traces.expectAbsent((0..<16).map { id.bytes[$0] }, "a device's name", in: found) }
        for membership in memberships {
            let (signing, box) = membership.identity.device
            for key in [signing, box] {
                Traces.expectAbsent((0..<32).map { key.bytes[$0] }, "a public key", in: found)
            }
            for key in membership.identity.epochKeys.values {
                Traces.expectAbsent(key.exposed, "an epoch's key", in: found)
            }
        }
        for item in try devices[0].home.vault.copyMatching(Query(.genericPassword)) {
            let id = try #require(item.record?.id)
            Traces.expectAbsent(withUnsafeBytes(of: id.uuid) { Array($0) }, "an item's name", in: found)
        }
        // Checks that the search covers the place of the records.
        let realm = memberships[0].identity.realmID
        let digits = Array(realm.text.utf8)
        #expect(found.contains { Traces.contains($0, digits) })
    }

    /// Returns the files that a server has written since then, without the zeros of preallocation.
    private static func files(below path: FilePath, since start: Date) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        let all = FileManager.default.enumerator(atPath: path.string)
        while let name = all?.nextObject() as? String {
            let url = URL(filePath: path.appending(name).string)
            let status = try FileManager.default.attributesOfItem(atPath: url.path())
            guard status[.type] as? FileAttributeType == .typeRegular,
                let modified = status[.modificationDate] as? Date, modified >= start
            else { continue }
            var bytes = [UInt8](try Data(contentsOf: url))
            bytes.removeLast(bytes.count - ((bytes.lastIndex { $0 != 0 } ?? -1) + 1))
            found.append(bytes)
        }
        return found
    }

    @Test(.enabled(if: PostgresServer.isInstalled))
    func `a database and the log of all its statements name no item, no secret, no device and no key`() throws {
        let server = try PostgresServer()
        try server.sql("ALTER SYSTEM SET log_statement = 'all';", in: "postgres")
        try server.sql("SELECT pg_reload_conf();", in: "postgres")
        let start = Date()
        let devices = try Self.fleet(RemoteEngines([.postgres: PostgresEngine()]), try server.access())
        try server.sql("CHECKPOINT;", in: "postgres")
        try server.kill()
        let log = try Data(contentsOf: URL(filePath: server.directory.path.appending("server.log").string))
        #expect(Traces.contains([UInt8](log), Array("INSERT INTO vault.record".utf8)))
        let found = try Self.files(below: server.directory.path.appending("data"), since: start) + [[UInt8](log)]
        try Self.expectNothing(of: devices, in: found)
        Traces.expectAbsent(Array("\(PostgresServer.password)".utf8), "the password", in: found)
    }

    @Test(.enabled(if: EtcdServer.isThere))
    func `the data of etcd and its log name no item, no secret, no device and no key`() throws {
        let start = Date()
        let server = try EtcdServer(EtcdServer.Options(logsAll: true))
        let devices = try Self.fleet(RemoteEngines([.etcd: EtcdEngine()]), server.access())
        server.kill()
        let log = try Data(contentsOf: URL(filePath: server.path("log")))
        #expect(log.count > 1000)
        let found = try Self.files(below: server.directory.path.appending("data"), since: start) + [[UInt8](log)]
        // Before version 3.5, etcd itself logs the password of its user.
        try Self.expectNothing(of: devices, in: found)
    }
}
