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

/// Two synchronized homes and an event before each step of a sync in turn. In the end both homes have every
/// acknowledged item. Every sixth step is tried; with `VAULT_FLEETS`, every step.
struct EveryStepTests {
    private static let folder = InterleavedHome.folder
    private static let stride = ProcessInfo.processInfo.environment["VAULT_FLEETS"] == nil ? 6 : 1

    /// The world in which each test begins: eight items that both homes have.
    private struct World {
        let disk: SharedDisk
        let homes: [InterleavedHome]

        init(_ template: SharedDisk) {
            let disk = template.copy()
            self.disk = disk
            let random = SystemRandom()
            homes = ["a", "b"].map {
                InterleavedHome($0, on: disk, random, clock: ManualClock(now: 800_001_000, step: 0.001))
            }
        }

        /// Syncs a home with an event before one of its steps, and returns the number of steps.
        @discardableResult
        func sync(
            _ home: InterleavedHome, at moment: Int? = nil, _ body: (DiskProcess) -> Void = { _ in }
        ) throws -> Int {
            let handle = try home.openSyncing()
            var (count, isBusy) = (0, false)
            withoutActuallyEscaping(body) { body in
                handle.process.beforeStep = { process, _ in
                    guard !isBusy else { return }
                    count += 1
                    guard count == moment else { return }
                    isBusy = true
                    body(process)
                    isBusy = false
                }
                _ = try? handle.fleet.sync()
                handle.process.beforeStep = nil
            }
            home.endKilled()
            home.clock.advance(by: 120)
            return count
        }

        func add(_ account: String, at home: InterleavedHome) throws {
            try home.openVerbs().vault.add(
                Item(.genericPassword(service: "svc", account: account), secret: Secret(text: "secret of " + account)))
        }

        func loseMirror(of home: InterleavedHome) {
            disk.replaceContent(
                below: home.mirrorDirectory,
                with: disk.content(below: home.mirrorDirectory).filter { !$0.key.contains(".mirror/") })
        }

        func loseLogs() {
            disk.replaceContent(
                below: EveryStepTests.folder,
                with: disk.content(below: EveryStepTests.folder).filter { !$0.key.contains("/1/") })
        }

        func secrets(_ home: InterleavedHome) throws -> Set<String> {
            try home.view(home.openVerbs()).filter { !$0.isShadowed }.reduce(into: []) { $0.formUnion($1.values) }
        }

        /// Syncs until both homes have received everything, and compares their items.
        func expect(_ accounts: [String], _ what: String) throws {
            for _ in 0..<3 { for home in homes { try sync(home) } }
            let wanted = Set(accounts.map { "secret of " + $0 })
            for home in homes { #expect(try secrets(home) == wanted, "\(home.name), \(what)") }
            #expect(
                try homes[0].canonical(homes[0].openVerbs()) == homes[1].canonical(homes[1].openVerbs()), "\(what)")
        }
    }

    private static let first = (0..<8).map { "item \($0)" }

    private static func template() throws -> SharedDisk {
        let world = World(try InterleavedFleet.Template(["a", "b"]).disk)
        for account in first { try world.add(account, at: world.homes[0]) }
        try world.expect(first, "at first")
        for home in world.homes { home.close() }
        return world.disk
    }

    @Test func `a write before any step of a sync is told by that sync or the next`() throws {
        let template = try Self.template()
        var (moment, steps, count) = (1, 1, 0)
        while moment <= steps {
            let world = World(template)
            try world.add("pending", at: world.homes[0])
            // While the sync is in a transaction, a write is refused and not acknowledged.
            var isAcknowledged = false
            steps = try world.sync(world.homes[0], at: moment) { _ in
                isAcknowledged = (try? world.add("between", at: world.homes[0])) != nil
            }
            count += isAcknowledged ? 1 : 0
            try world.expect(
                Self.first + ["pending"] + (isAcknowledged ? ["between"] : []), "step \(moment)")
            moment += Self.stride
        }
        #expect(count * Self.stride > 40, "\(count) writes in \(moment) steps")
    }

    @Test func `with the logs and the mirror lost, a kill before any step of a sync loses nothing`() throws {
        let template = try Self.template()
        var (moment, isOver) = (1, false)
        while !isOver {
            let world = World(template)
            try world.add("pending", at: world.homes[0])
            world.loseLogs()
            world.loseMirror(of: world.homes[0])
            isOver = try world.sync(world.homes[0], at: moment) { $0.kill() } < moment
            try world.expect(Self.first + ["pending"], "step \(moment)")
            moment += Self.stride
        }
        #expect(moment > 60, "\(moment) steps")
    }

    @Test func `with the logs and all mirrors lost, the next device that joins has every item`() throws {
        let world = World(try Self.template())
        world.loseLogs()
        for home in world.homes { world.loseMirror(of: home) }
        try world.add("pending", at: world.homes[0])
        try world.expect(Self.first + ["pending"], "all is lost but the files")
        let newcomer = InterleavedHome("c", on: world.disk, SystemRandom(), clock: world.homes[0].clock)
        try newcomer.create()
        let attempt = try newcomer.openVerbs().fleet.requestToJoin(
            RemoteURL(folder: FilePath(Self.folder)), deviceName: "c")
        _ = try world.homes[0].openVerbs().fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        #expect(try world.secrets(newcomer).count == Self.first.count + 1)
    }

    @Test func `two kills in a row while a file goes on under a new log lose nothing`() throws {
        let template = try Self.template()
        for (first, second) in [(30, 10), (60, 25), (90, 40), (120, 60), (150, 90), (180, 120), (45, 160), (75, 200)] {
            let world = World(template)
            // A copy of the file continues elsewhere: this home's log is ahead of the copy's.
            let copy = world.disk.node("/a/v.vault")?.bytes ?? []
            try world.add("told", at: world.homes[0])
            try world.sync(world.homes[0])
            world.homes[0].close()
            world.disk.set("/a/v.vault", world.disk.makeNode(copy))
            world.disk.replaceContent(
                below: world.homes[0].mirrorDirectory,
                with: world.disk.content(below: world.homes[0].mirrorDirectory).filter { !$0.key.hasSuffix(".anchor") })
            try world.add("pending", at: world.homes[0])
            try world.sync(world.homes[0], at: first) { $0.kill() }
            try world.sync(world.homes[0], at: second) { $0.kill() }
            try world.expect(Self.first + ["told", "pending"], "steps \(first), \(second)")
        }
    }

    // MARK: Altered folders

    /// Returns the path of the last record of a home's log.
    private static func lastRecord(of home: InterleavedHome, _ world: World) throws -> String {
        let log = try home.openVerbs().fleet.membership().state.log.text
        return try #require(world.disk.content(below: folder).keys.filter { $0.contains(log) }.max())
    }

    @Test(arguments: 4..<8) func `an altered epoch shuts no device off a log, once the folder is healed`(
        place: Int
    ) throws {
        let world = World(try Self.template())
        let (a, b) = (world.homes[0], world.homes[1])
        try world.add("pending", at: a)
        try world.sync(a)
        let path = try Self.lastRecord(of: a, world)
        let honest = try #require(world.disk.node(path)?.bytes)
        var altered = honest
        altered[place] ^= 64
        world.disk.set(path, world.disk.makeNode(altered))
        let outcome = try b.openVerbs().fleet.sync()[0]
        #expect(!outcome.alarms.contains { $0.kind == .forked } && outcome.error == nil)
        world.disk.set(path, world.disk.makeNode(honest))
        b.clock.advance(by: 60)
        #expect(try b.openVerbs().fleet.sync()[0].alarms.isEmpty)
        try world.expect(Self.first + ["pending"], "byte \(place)")
    }

    @Test func `an altered byte of a record that a device has is called altered, and put right`() throws {
        let world = World(try Self.template())
        let (a, b) = (world.homes[0], world.homes[1])
        let path = try Self.lastRecord(of: a, world)
        let honest = try #require(world.disk.node(path)?.bytes)
        for place in [0, 5, 20, 100, honest.count - 1] {
            var altered = honest
            altered[place] ^= 1
            world.disk.set(path, world.disk.makeNode(altered))
            b.clock.advance(by: 60)
            #expect(try b.openVerbs().fleet.sync()[0].alarms.map(\.kind) == [.damaged], "byte \(place)")
            #expect(world.disk.node(path)?.bytes == honest, "byte \(place)")
        }
        try world.expect(Self.first, "all was put right")
    }

    @Test func `a lost part of a large value is said at once, and comes back`() throws {
        let world = World(try Self.template())
        let (a, b) = (world.homes[0], world.homes[1])
        let text = String(repeating: "large ", count: 50_000)
        try a.openVerbs().vault.add(
            Item(.genericPassword(service: "svc", account: "large"), secret: Secret(text: text)))
        try world.sync(a)
        let parts = world.disk.content(below: Self.folder).keys.filter { $0.contains("/2/") }.sorted()
        #expect(parts.count == 2)
        world.disk.set(parts[1], nil)
        let alarms = try b.openVerbs().fleet.sync()[0].alarms
        #expect(alarms.map(\.kind) == [.withheld] && alarms.first?.what.hasPrefix("part 2 of the large value") == true)
        for home in [a, b] { #expect(try home.openVerbs().fleet.sync()[0].alarms.isEmpty) }
        #expect(try world.secrets(b).contains(text))
        // The author's mirror is lost too; another home restores the record.
        world.disk.set(parts[0], nil)
        world.loseMirror(of: a)
        for home in [b, a] { #expect(try home.openVerbs().fleet.sync()[0].alarms.isEmpty) }
        #expect(world.disk.node(parts[0]) != nil)
    }

    @Test func `what no member wrote does not enter the mirror, however much there is`() throws {
        let world = World(try Self.template())
        let b = world.homes[1]
        let before = world.disk.content(below: b.mirrorDirectory).count
        let realm = try b.openVerbs().fleet.membership().identity.realmID.text
        let random = SeededRandom("junk")
        for stream in 0..<20 {
            let directory = "\(Self.folder)/vlt1/\(realm)/1/\(Bytes16(random.bytes(16)).text)"
            world.disk.makeDirectory(directory)
            for number in 1...50 {
                let bytes = Array("VLR1".utf8) + [UInt8(1 + stream % 2), 0, 0, 0] + random.bytes(600)
                world.disk.set(directory + "/" + RecordName(UInt64(number)).text, world.disk.makeNode(bytes))
            }
        }
        let outcome = try b.openVerbs().fleet.sync()[0]
        #expect(outcome.error == nil && !outcome.alarms.isEmpty && outcome.alarms.allSatisfy { $0.kind == .damaged })
        #expect(world.disk.content(below: b.mirrorDirectory).count == before)
        try world.add("pending", at: world.homes[0])
        try world.sync(world.homes[0])
        try world.sync(b)
        #expect(try world.secrets(b).contains("secret of pending"))
    }
}
