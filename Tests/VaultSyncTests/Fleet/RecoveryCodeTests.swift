// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The recovery code of a fleet, shown to a person before it takes effect.
struct RecoveryCodeTests {
    /// Returns the names in the folder of a fleet's records.
    private static func folder(_ disk: any VaultFileSystem) throws -> [String] {
        try disk.openDirectory(Home.remote).names()
    }

    private static func home(_ name: String, like other: Home) throws -> Home {
        try Home(name, on: other.environment.fileSystem, clock: other.clock)
    }

    @Test func `the code is shown before anything is in the folder`() throws {
        let home = try Home("a", on: MemoryFileSystem())
        try home.add("ada", "one")
        var shown = 0
        try home.fleet.found(Home.url, deviceName: "a") { _ throws(SyncError) in
            shown += 1
            #expect((try? Self.folder(home.environment.fileSystem)) == [])
            #expect((try? home.fleet.isJoined) == false)
        }
        #expect(shown == 1)
        #expect(try Self.folder(home.environment.fileSystem) == ["vlt1"])
    }

    @Test func `a code that cannot be shown founds nothing`() throws {
        let home = try Home("a", on: MemoryFileSystem())
        #expect(throws: SyncError.vault(.cancelled)) {
            try home.fleet.found(Home.url, deviceName: "a") { _ throws(SyncError) in
                throw .vault(.cancelled)
            }
        }
        #expect(try !home.fleet.isJoined && Self.folder(home.environment.fileSystem) == [])
        try home.fleet.found(Home.url, deviceName: "a")
    }

    @Test func `a folder that cannot be reached shows no code`() throws {
        let disk = FaultyFileSystem()
        let home = try Home("a", on: disk)
        disk.hide(Home.remote)
        #expect(throws: SyncError.store(.unreachable(Home.remote.string))) {
            try home.fleet.found(Home.url, deviceName: "a") { _ throws(SyncError) in
                Issue.record("shown")
            }
        }
        disk.heal()
        try home.fleet.found(Home.url, deviceName: "a")
    }

    @Test(arguments: ["/shared", "/a"])
    func `a founding that fails anywhere has shown its code, and the next try goes on`(place: String) throws {
        var founded = 0
        let all = FaultyFileSystem()
        let uses = all.fail(from: .max, below: FilePath(place))
        try Home("a", on: all).fleet.found(Home.url, deviceName: "a")
        for number in stride(from: 1, through: uses(), by: uses() / 16 + 1) {
            let disk = FaultyFileSystem()
            let home = try Home("a", on: disk)
            try home.add("ada", "one")
            var code: RecoveryCode?
            _ = disk.fail(from: number, below: FilePath(place))
            do throws(SyncError) {
                try home.fleet.found(Home.url, deviceName: "a") { code = $0 }
            } catch { #expect(error != .vault(.cancelled)) }
            disk.heal()
            // The view of another process.
            let vault = try Vault.open(
                at: FilePath("/a/v.vault"), unlockingWith: .of("correct horse"), environment: home.environment)
            let fleet = try Fleet(vault, environment: home.environment)
            if try fleet.isJoined {
                founded += 1
                home.clock.advance(by: 1)
                for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
            } else {
                try fleet.found(Home.url, deviceName: "a") { code = $0 }
            }
            let other = try Self.home("b", like: home)
            try other.fleet.join(Home.url, with: try #require(code), deviceName: "b")
            #expect(try other.secrets() == ["ada": "one"], "use \(number) of \(place)")
        }
        #expect(uses() > 10 && founded > 1)
    }

    @Test func `a new code takes the place of the old one, which lets nobody in any more`() throws {
        let homes = try Home.fleet(["a"])
        let (a, disk) = (homes[0], homes[0].environment.fileSystem)
        var codes: [RecoveryCode] = []
        for _ in 0..<2 {
            let roster = try #require(
                try a.fleet.store(at: Home.access, realm: a.fleet.membership().identity.realmID).heads().first)
            let outcomes = try a.fleet.renewRecoveryCode { code throws(SyncError) in
                codes.append(code)
                // The new code has no effect yet.
                let store = try a.fleet.store(at: Home.access, realm: roster.stream.name)
                #expect((try? store.heads().first?.last) == roster.last)
            }
            #expect(outcomes.allSatisfy { $0.error == nil && $0.alarms.isEmpty })
        }
        try a.add("ada", "one")
        try a.sync()
        let roster = try a.fleet.replica(a.fleet.membership()).roster
        #expect(roster.devices.filter { $0.role == .recovery }.count == 1 && roster.epoch == 3)
        let late = try Home("late", on: disk, clock: a.clock)
        #expect(throws: SyncError.wrongRecoveryCode) {
            try late.fleet.join(Home.url, with: codes[0], deviceName: "late")
        }
        #expect(try !late.fleet.isJoined)
        try late.fleet.join(Home.url, with: codes[1], deviceName: "late")
        #expect(try late.secrets() == ["ada": "one"])
        try a.sync()
        #expect(try a.fleet.status().devices.map(\.name) == ["a", "late"])
    }

    @Test func `the founder's code lets nobody in after another one was made`() throws {
        let disk = MemoryFileSystem()
        let a = try Home("a", on: disk)
        let first = try a.fleet.found(Home.url, deviceName: "a")
        // An intermediate epoch, whose key the first code has as well.
        let b = try Self.home("b", like: a)
        try b.fleet.join(Home.url, with: first, deviceName: "b")
        try a.sync()
        _ = try a.fleet.remove(deviceNamed: "b")
        var second: RecoveryCode?
        _ = try a.fleet.renewRecoveryCode { second = $0 }
        let c = try Self.home("c", like: a)
        #expect(throws: SyncError.wrongRecoveryCode) {
            try c.fleet.join(Home.url, with: first, deviceName: "c")
        }
        try c.fleet.join(Home.url, with: try #require(second), deviceName: "c")
        try a.sync()
        #expect(try a.fleet.status().devices.map(\.name) == ["a", "c"])
    }

    @Test func `only an owner makes another code`() throws {
        let a = try Home.fleet(["a"])[0]
        let b = try Self.home("b", like: a)
        let attempt = try b.fleet.requestToJoin(Home.url, deviceName: "b")
        _ = try a.fleet.approve(attempt.code, role: .writer)
        #expect(try attempt.poll())
        #expect(throws: SyncError.notAnOwner) {
            try b.fleet.renewRecoveryCode { _ throws(SyncError) in Issue.record("shown") }
        }
    }

    @Test func `a new code that fails anywhere leaves a fleet whose code can be made again`() throws {
        let all = FaultyFileSystem()
        let fleet = try Home.fleet(["a"], on: all)
        let uses = all.fail(from: .max, below: Home.remote)
        _ = try fleet[0].fleet.renewRecoveryCode { _ in }
        for number in stride(from: 1, through: uses(), by: uses() / 12 + 1) {
            let disk = FaultyFileSystem()
            let homes = try Home.fleet(["a", "b"], on: disk)
            let a = homes[0]
            var code: RecoveryCode?
            _ = disk.fail(from: number, below: Home.remote)
            do throws(SyncError) {
                _ = try a.fleet.renewRecoveryCode { code = $0 }
            } catch { #expect(error != .vault(.cancelled)) }
            disk.heal()
            for home in homes { try home.sync() }
            _ = try a.fleet.renewRecoveryCode { code = $0 }
            let late = try Self.home("late", like: a)
            try late.fleet.join(Home.url, with: try #require(code), deviceName: "late")
            for home in homes { try home.sync() }
            #expect(try homes[1].fleet.status().devices.map(\.name) == ["a", "b", "late"])
        }
        #expect(uses() > 20)
    }
}
