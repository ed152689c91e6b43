// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The removal of a lost device, combined with other failures.
struct RemovalTests {
    private static let second = RemoteURL(folder: "/second")

    private static func names(_ ids: [ItemID], _ home: Home) throws -> Set<String> {
        var names: Set<String> = []
        for item in try home.vault.copyMatching(Query(.genericPassword)) {
            let reference = try #require(item.record?.persistentReference)
            guard ids.contains(ItemID(Array(reference.dropFirst(4)).span)) else { continue }
            names.insert(item.attributes[.account]?.text ?? "")
        }
        return names
    }

    private static func store(_ home: Home) throws -> any RecordStore {
        try home.fleet.store(at: Home.access, realm: try home.fleet.membership().identity.realmID)
    }

    /// Returns the content of every record in the folder that opens under a key of the removed device.
    private static func readable(by home: Home) throws -> [[UInt8]] {
        let identity = try home.fleet.membership().identity
        let store = try store(home)
        let sealer = RecordSealer(realmID: identity.realmID, random: SystemRandom())
        var contents: [[UInt8]] = []
        for head in try store.heads() where head.stream.kind == .log {
            for record in try store.all(head.stream) {
                guard let sealed = try? SealedRecord(parsing: record.bytes, .log),
                    let key = identity.epochKeys[sealed.epoch],
                    let content = try? sealer.open(sealed, at: record.address, key: key)
                else { continue }
                contents.append(content.withBytes { $0.array })
            }
        }
        return contents
    }

    private static func contains(_ text: String, _ contents: [[UInt8]]) -> Bool {
        let wanted = Array(text.utf8)
        return contents.contains { content in
            content.indices.contains { content[$0] == wanted[0] && content[$0...].starts(with: wanted) }
        }
    }

    @Test(arguments: [FilePath("/shared"), "/second"])
    func `one remote that can be reached is enough, and the other one hears of it later`(away: FilePath) throws {
        let disk = FaultyFileSystem()
        let homes = try Home.fleet(["a", "b", "c"], on: disk)
        try disk.createDirectories(Self.second.folder)
        for home in homes { try home.fleet.addRemote(Self.second) }
        try homes[0].add("ada", "one")
        for home in homes + homes { try home.sync() }
        disk.hide(away)
        let removal = try homes[0].fleet.remove(deviceNamed: "b")
        #expect(removal.failure == nil && removal.readable.count == 1)
        #expect(removal.outcomes.filter { $0.error == .store(.unreachable(away.string)) }.map(\.url.folder) == [away])
        disk.heal()
        for home in [homes[0], homes[2]] {
            home.clock.advance(by: 1)
            for outcome in try home.fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
            #expect(try home.fleet.status().devices.map(\.name) == ["a", "c"])
        }
        #expect(try homes[1].fleet.sync().map(\.error) == [.removed, .removed])
    }

    @Test(arguments: ["b", "c"], [0, 1, 2]) func `a rotten record of a log keeps nobody in`(
        author: String, kind: Int
    ) throws {
        let homes = try Home.fleet(["a", "b", "c"])
        let writer = try #require(homes.first { $0.name == author })
        try writer.add("ada", "one")
        try writer.sync()
        let store = try Self.store(writer)
        let stream = RecordStream(.log, try writer.fleet.membership().state.log)
        let last = try #require(try store.all(stream).last)
        try store.remove(last.address)
        var rotten = last.bytes
        rotten[last.bytes.count / 2] ^= 1
        if kind == 1 { rotten = Array(rotten.prefix(100)) }
        if kind == 2 { rotten = [UInt8](repeating: 0, count: 600) }
        _ = try store.append([StoredRecord(last.address, rotten)])
        #expect(try homes[0].fleet.remove(deviceNamed: "b").failure == nil)
        #expect(try homes[0].fleet.status().devices.map(\.name) == ["a", "c"])
        #expect(try homes[1].fleet.sync()[0].error == .removed)
    }

    @Test func `where no remote can be reached the removal waits, and nothing is told before it`() throws {
        let disk = FaultyFileSystem()
        let homes = try Home.fleet(["a", "b", "c"], on: disk)
        let (a, b, c) = (homes[0], homes[1], homes[2])
        try b.add("ada", "of b")
        for home in homes + homes { try home.sync() }
        #expect(Self.contains("of b", try Self.readable(by: b)))
        disk.hide(Home.remote)
        let removal = try a.fleet.remove(deviceNamed: "b")
        #expect(removal.failure == .store(.unreachable(Home.remote.string)))
        #expect(try Self.names(removal.readable, a) == ["ada"])
        #expect(try a.fleet.status().removals == ["b"])
        a.clock.advance(by: 10)
        try a.change("ada", "rotated")
        try a.add("new", "fresh")
        #expect(try a.fleet.sync().map(\.error) == [.store(.unreachable(Home.remote.string))])
        #expect(try a.fleet.status().removals == ["b"])
        disk.heal()
        try b.sync()
        try a.sync()
        #expect(try a.fleet.status().removals == [])
        #expect(try a.fleet.status().devices.map(\.name) == ["a", "c"])
        for secret in ["rotated", "fresh"] { #expect(!Self.contains(secret, try Self.readable(by: b))) }
        #expect(throws: SyncError.removed) { try b.sync() }
        for home in [c, a] { try home.sync() }
        for home in [a, c] { #expect(try home.secrets() == ["ada": "rotated", "new": "fresh"]) }
        #expect(try a.fleet.fingerprint() == c.fleet.fingerprint())
    }

    @Test func `also what lets another device in, or makes a code, removes first`() throws {
        let disk = FaultyFileSystem()
        let homes = try Home.fleet(["a", "b"], on: disk)
        let a = homes[0]
        disk.hide(Home.remote)
        #expect(try a.fleet.remove(deviceNamed: "b").failure != nil)
        try a.add("new", "fresh")
        disk.heal()
        let c = try Home("c", on: disk, clock: a.clock)
        let attempt = try c.fleet.requestToJoin(Home.url, deviceName: "c")
        _ = try a.fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        #expect(!Self.contains("fresh", try Self.readable(by: homes[1])))
        #expect(try c.secrets() == ["new": "fresh"])
    }

    @Test(arguments: ["/shared", "/a"]) func `a removal that is cut off anywhere is carried out by the next sync`(
        place: String
    ) throws {
        var waited = 0
        let all = FaultyFileSystem()
        let fleet = try Home.fleet(["a", "b"], on: all)
        let uses = all.fail(from: .max, below: FilePath(place))
        _ = try fleet[0].fleet.remove(deviceNamed: "b")
        for number in stride(from: 1, through: uses(), by: uses() / 8 + 1) {
            let disk = FaultyFileSystem()
            let homes = try Home.fleet(["a", "b", "c"], on: disk)
            let (a, b, c) = (homes[0], homes[1], homes[2])
            try b.add("ada", "of b")
            for home in homes + homes { try home.sync() }
            try a.add("own", "untold")
            _ = disk.fail(from: number, below: FilePath(place))
            var isWished = true
            do throws(SyncError) {
                _ = try a.fleet.remove(deviceNamed: "b")
            } catch { isWished = false }
            disk.heal()
            // The view of another process.
            let vault = try Vault.open(
                at: FilePath("/a/v.vault"), unlockingWith: .of("correct horse"), environment: a.environment)
            let fleet = try Fleet(vault, environment: a.environment)
            if isWished {
                let isWaiting = try !fleet.status().removals.isEmpty
                if isWaiting { waited += 1 }
            } else if try fleet.status().removals.isEmpty, try fleet.status().devices.map(\.name).contains("b") {
                _ = try fleet.remove(deviceNamed: "b")
            }
            a.clock.advance(by: 1)
            for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
            #expect(try fleet.status().devices.map(\.name) == ["a", "c"], "use \(number) of \(place)")
            // The unpublished item is also listed, since its secret was written before the removal.
            #expect(try fleet.secrets(ofDeviceNamed: "b").readable.count == 2)
            #expect(throws: SyncError.removed) { try b.sync() }
            #expect(!Self.contains("untold", try Self.readable(by: b)))
            for _ in 0..<2 {
                try c.sync()
                for outcome in try fleet.sync() { #expect(outcome.error == nil && outcome.alarms.isEmpty) }
            }
            #expect(try c.secrets() == ["ada": "of b", "own": "untold"])
            #expect(try fleet.fingerprint() == c.fleet.fingerprint())
        }
        #expect(uses() > 20 && (waited > 1 || place != "/shared"))
    }

    /// Removes a device while another owner removes one between the read of the roster and the new record.
    private static func remove(
        _ name: String, by home: Home, while other: Home, removes otherName: String
    ) throws -> SyncError? {
        try home.fleet.alone { membership throws(SyncError) in
            let replica = try home.fleet.replica(membership)
            guard let device = replica.roster.devices.first(where: { $0.name == name })?.id else { throw .noSuchDevice }
            replica.member.state.removals = [device]
            try replica.items.commit(ReplicaChange(), replica.state)
            var isFirst = true
            return try home.fleet.changeRoster(try home.fleet.membership()) { replica, store throws(SyncError) in
                if isFirst {
                    let removal = try other.fleet.remove(deviceNamed: otherName)
                    #expect(removal.failure == nil)
                }
                isFirst = false
                return try replica.remove(device, at: store)
            }.failure
        }
    }

    @Test func `of two owners that remove at once the slower one signs anew`() throws {
        let homes = try Home.fleet(["a", "b", "c", "d"])
        let (a, b) = (homes[0], homes[1])
        for home in homes { try home.add(home.name, "of \(home.name)") }
        for home in homes + homes { try home.sync() }
        let failure = try Self.remove("c", by: a, while: b, removes: "d")
        #expect(failure == nil)
        for home in [a, b, a, b] { try home.sync() }
        for home in [a, b] {
            #expect(try home.fleet.status().devices.map(\.name) == ["a", "b"])
            #expect(try home.secrets().count == 4)
        }
        #expect(try a.fleet.fingerprint() == b.fleet.fingerprint())
        for home in homes[2...] { #expect(throws: SyncError.removed) { try home.sync() } }
    }

    @Test func `of two owners that remove the same device the slower one has nothing left to do`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        let (a, b) = (homes[0], homes[1])
        try homes[2].add("ada", "of c")
        for home in homes + homes { try home.sync() }
        let failure = try Self.remove("c", by: a, while: b, removes: "c")
        #expect(failure == nil)
        for home in [a, b, a, b] { try home.sync() }
        #expect(try a.fleet.replica(a.fleet.membership()).roster.epoch == 2)
        #expect(try a.fleet.status().removals == [])
        #expect(try a.fleet.fingerprint() == b.fleet.fingerprint())
    }

    @Test func `of two owners that remove each other the faster one stays`() throws {
        let homes = try Home.fleet(["a", "b"])
        let (a, b) = (homes[0], homes[1])
        let failure = try Self.remove("b", by: a, while: b, removes: "a")
        #expect(failure == .removed)
        try b.sync()
        #expect(throws: SyncError.removed) { try a.sync() }
        #expect(try b.fleet.status().devices.map(\.name) == ["b"])
    }

    @Test(arguments: [0, 2 << 20]) func `something in the place of the roster's next record ends in no loop`(
        length: Int
    ) throws {
        let homes = try Home.fleet(["a", "b"])
        let realm = try homes[0].fleet.membership().identity.realmID
        let folder = try homes[0].environment.fileSystem.openDirectory(Home.remote).directory("vlt1")
            .directory(realm.text).directory("0").directory(realm.text)
        let name = RecordName(3).text
        try folder.openOrCreate(name).writeAll([UInt8](repeating: 0, count: length).span, at: 0)
        let failure = try homes[0].fleet.remove(deviceNamed: "b").failure
        // An empty file, which another program may have begun to write, is overwritten.
        #expect((failure == nil) == (length == 0))
        if failure != nil {
            #expect(try homes[0].fleet.status().removals == ["b"])
            try folder.remove(name)
        }
        try homes[0].sync()
        #expect(throws: SyncError.removed) { try homes[1].sync() }
    }

    @Test func `what a removed device could read is listed until it is changed`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        let (a, c) = (homes[0], homes[2])
        for name in ["ada", "bob", "eve"] { try a.add(name, "old") }
        var item = Item(.genericPassword(service: "svc", account: "field"), secret: "old")
        item.fields = ["pin": "1234"]
        try a.vault.add(item)
        for home in homes + homes { try home.sync() }
        let all: Set<String> = ["ada", "bob", "eve", "field"]
        #expect(try Self.names(a.fleet.secrets(ofDeviceNamed: "b").readable, a) == all)
        #expect(try !a.fleet.secrets(ofDeviceNamed: "b").isRemoved)
        _ = try a.fleet.remove(deviceNamed: "b")
        for home in [a, c] {
            try home.sync()
            #expect(try Self.names(home.fleet.secrets(ofDeviceNamed: "b").readable, home) == all)
            #expect(try home.fleet.secrets(ofDeviceNamed: "b").isRemoved)
        }
        a.clock.advance(by: 10)
        try a.change("ada", "new")
        try a.change("field", "new")
        try a.vault.update(
            matching: Query(.genericPassword, service: "svc", account: "bob"),
            with: ItemChanges(attributes: [.label: .string("a label")]))
        try a.delete("eve")
        try a.add("later", "new")
        for home in [a, c] {
            try home.sync()
            // The field is unchanged.
            #expect(try Self.names(home.fleet.secrets(ofDeviceNamed: "b").readable, home) == ["bob", "field"])
        }
        #expect(throws: SyncError.noSuchDevice) { try a.fleet.secrets(ofDeviceNamed: "nobody") }
        #expect(throws: SyncError.noSuchDevice) { try a.fleet.secrets(ofDeviceNamed: "recovery code") }
    }

    @Test func `a lost device is still found when another one has its name`() throws {
        let homes = try Home.fleet(["a", "b"])
        let a = homes[0]
        try a.add("ada", "old")
        for home in homes + homes { try home.sync() }
        let lost = try #require(a.fleet.status().devices.first { $0.name == "b" })
        // A member is found by its identifier as well, in any case of its letters.
        #expect(try a.fleet.secrets(ofDeviceNamed: lost.id.text.uppercased()).device.id == lost.id)
        _ = try a.fleet.remove(deviceNamed: lost.id.text)
        try a.add("later", "new")
        let again = try Home("again", on: a.environment.fileSystem, clock: a.clock)
        let attempt = try again.fleet.requestToJoin(Home.url, deviceName: "b")
        let joined = try a.fleet.approve(attempt.code, role: .writer)
        #expect(joined.name == "b" && joined.id != lost.id)
        let both = [NamedDevice(id: joined.id, isRemoved: false), NamedDevice(id: lost.id, isRemoved: true)]
        #expect(throws: SyncError.ambiguousDevice(both)) { try a.fleet.secrets(ofDeviceNamed: "b") }
        let old = try a.fleet.secrets(ofDeviceNamed: lost.id.text)
        #expect(old.isRemoved && old.device.id == lost.id)
        #expect(try Self.names(old.readable, a) == ["ada"])
        #expect(try Self.names(a.fleet.secrets(ofDeviceNamed: joined.id.text).readable, a) == ["ada", "later"])
        // Only a member can be removed, and its name means it alone.
        #expect(throws: SyncError.noSuchDevice) { try a.fleet.remove(deviceNamed: lost.id.text) }
        #expect(try a.fleet.remove(deviceNamed: "b").device.id == joined.id)
        // The device that was removed last comes first.
        let gone = [joined, lost].map { NamedDevice(id: $0.id, isRemoved: true) }
        #expect(throws: SyncError.ambiguousDevice(gone)) { try a.fleet.secrets(ofDeviceNamed: "b") }
    }

    @Test func `nobody is removed who is not there, nor by a writer, nor without a remote`() throws {
        let homes = try Home.fleet(["a", "b"])
        let a = homes[0]
        let c = try Home("c", on: a.environment.fileSystem, clock: a.clock)
        let attempt = try c.fleet.requestToJoin(Home.url, deviceName: "c")
        _ = try a.fleet.approve(attempt.code, role: .writer)
        #expect(try attempt.poll())
        #expect(throws: SyncError.notAnOwner) { try c.fleet.remove(deviceNamed: "b") }
        for name in ["a", "recovery code", "nobody"] {
            #expect(throws: SyncError.noSuchDevice) { try a.fleet.remove(deviceNamed: name) }
        }
        try a.fleet.removeRemote(Home.url)
        #expect(throws: SyncError.noSuchRemote) { try a.fleet.remove(deviceNamed: "b") }
        for home in [a, c] { #expect(try home.fleet.status().removals == []) }
    }
}
