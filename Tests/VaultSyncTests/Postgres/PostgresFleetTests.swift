// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync
@testable import VaultSyncPostgres

/// Devices that share a database.
@Suite(.enabled(if: PostgresServer.isInstalled))
struct PostgresFleetTests {
    /// - Parameter users: the server's user for each device.
    private static func fleet(_ users: [String], database: String) throws -> [(home: Home, fleet: Fleet)] {
        let server = try PostgresServer.shared.get()
        try server.makeDatabase(database)
        let disk = MemoryFileSystem()
        let clock = ManualClock()
        let devices = try users.enumerated().map { index, _ -> (home: Home, fleet: Fleet) in
            let home = try Home("device \(index)", on: disk, clock: clock)
            let engines = RemoteEngines([.postgres: PostgresEngine()])
            return (home, try Fleet(home.vault, environment: home.environment, engines: engines))
        }
        for (index, user) in users.enumerated() {
            let access = try server.access(user, database: database)
            let (home, fleet) = devices[index]
            guard index > 0 else {
                _ = try fleet.found(
                    access.url, credentials: access.credentials, deviceName: home.name)
                continue
            }
            let attempt = try fleet.requestToJoin(
                access.url, credentials: access.credentials, deviceName: home.name)
            _ = try devices[0].fleet.approve(attempt.code, role: .owner)
            guard try attempt.poll() else { throw SyncError.noAnswer }
        }
        return devices
    }

    private static func sync(_ device: (home: Home, fleet: Fleet)) throws {
        device.home.clock.advance(by: 1)
        let outcome = try device.fleet.sync()[0]
        if let error = outcome.error { throw error }
        if let alarm = outcome.alarms.first { throw SyncError.alarm(alarm) }
    }

    @Test func `devices of different rights share a database, and come to the same items`() throws {
        let devices = try Self.fleet(["trimmer", "writer"], database: "fleet")
        try devices[0].home.add("ada", "one")
        try devices[1].home.add("grace", String(repeating: "large ", count: 60_000))
        for device in devices + devices + devices { try Self.sync(device) }
        #expect(try devices[0].home.secrets() == devices[1].home.secrets())
        #expect(try devices[0].home.secrets().count == 2)
        #expect(try devices[0].fleet.fingerprint() == devices[1].fleet.fingerprint())
        try devices[1].home.delete("ada")
        for device in devices.reversed() + devices { try Self.sync(device) }
        #expect(try devices[0].home.secrets().keys.sorted() == ["grace"])
    }

    @Test func `records that an administrator removed come back with the next connection`() throws {
        let devices = try Self.fleet(["trimmer", "trimmer"], database: "healed")
        try devices[0].home.add("ada", "one")
        for device in devices + devices { try Self.sync(device) }
        try PostgresServer.shared.get().sql("DELETE FROM vault.record WHERE kind = 1;", in: "healed")
        let again = RemoteEngines([.postgres: PostgresEngine()])
        for (home, _) in devices {
            home.clock.advance(by: 1)
            let outcome = try Fleet(home.vault, environment: home.environment, engines: again).sync()[0]
            #expect(outcome.error == nil)
        }
        for device in devices { try Self.sync(device) }
        #expect(try devices[0].home.secrets() == devices[1].home.secrets())
    }
}
