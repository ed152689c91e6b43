// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Concurrent roster changes of two owners, unseen by each other, or their imitation by an attacker without a key.
struct RosterForkTests {
    /// The folder of one realm, which can be split into two that know nothing of each other.
    private struct Folder {
        let store: any RecordStore
        let roster: RecordStream

        init(_ home: Home) throws {
            let realm = try home.fleet.membership().identity.realmID
            store = try home.fleet.store(at: Home.access, realm: realm)
            roster = RecordStream(.roster, realm)
        }

        func content() throws -> [StoredRecord] { try store.heads().flatMap { try store.all($0.stream) } }

        func replace(with records: [StoredRecord]) throws {
            for head in try store.heads() { try store.remove(head.stream, below: .max) }
            _ = try store.append(records)
        }

        /// Replaces the bytes of a record of the roster.
        func alter(_ sequence: UInt64, _ body: (inout [UInt8]) -> Void) throws -> [UInt8] {
            let address = RecordAddress(roster, sequence)
            let honest = try #require(try store.record(at: address))
            var bytes = honest
            body(&bytes)
            try store.remove(address)
            _ = try store.append([StoredRecord(address, bytes)])
            return honest
        }
    }

    enum Change: CaseIterable {
        case removesOther, removesThird, removesFourth, approves, renewsCode

        func make(by home: Home, of other: Home) throws {
            switch self {
            case .removesOther: #expect(try home.fleet.remove(deviceNamed: other.name).failure == nil)
            case .removesThird: #expect(try home.fleet.remove(deviceNamed: "c").failure == nil)
            case .removesFourth: #expect(try home.fleet.remove(deviceNamed: "d").failure == nil)
            case .approves:
                let guest = try Home("guest of \(home.name)", on: home.environment.fileSystem, clock: home.clock)
                let attempt = try guest.fleet.requestToJoin(
                    Home.url, deviceName: guest.name)
                _ = try home.fleet.approve(attempt.code, role: .owner)
            case .renewsCode: _ = try home.fleet.renewRecoveryCode { _ throws(SyncError) in }
            }
        }
    }

    private static func alarm(at home: Home) throws -> Alarm? {
        home.clock.advance(by: 1)
        guard case .alarm(let alarm)? = try home.fleet.sync()[0].error else { return nil }
        return alarm
    }

    @Test(arguments: Change.allCases, Change.allCases)
    func `whatever two owners change out of each other's sight, both are told that the roster is forked`(
        mine: Change, theirs: Change
    ) throws {
        for extra in mine == theirs ? 0..<3 : 0..<1 {
            let homes = try Home.fleet(["a", "b", "c", "d"])
            let (a, b) = (homes[0], homes[1])
            let folder = try Folder(a)
            let before = try folder.content()
            try mine.make(by: a, of: b)
            // The chains may differ in length.
            if extra == 1 { try Change.renewsCode.make(by: a, of: b) }
            let ofA = try folder.content()
            try folder.replace(with: before)
            try theirs.make(by: b, of: a)
            if extra == 2 { try Change.renewsCode.make(by: b, of: a) }
            let ofB = try folder.content()
            for (home, records) in [(a, ofB), (b, ofA)] {
                try folder.replace(with: records)
                let alarm = try Self.alarm(at: home)
                #expect(alarm?.kind == .forked && alarm?.log == nil && alarm?.sequence == 5, "\(home.name) \(extra)")
                // No record replaced the other chain.
                #expect(try folder.store.all(folder.roster) == records.filter { $0.address.stream == folder.roster })
            }
        }
    }

    @Test func `one of two lists is kept for all, and a device that followed the other one joins anew`() throws {
        let homes = try Home.fleet(["a", "b", "c", "d"])
        let (a, b, c) = (homes[0], homes[1], homes[2])
        for home in homes { try home.add(home.name, "of \(home.name)") }
        for home in homes + homes { try home.sync() }
        let folder = try Folder(a)
        let before = try folder.content()
        try Change.removesFourth.make(by: a, of: b)
        let ofA = try folder.content()
        try folder.replace(with: before)
        try Change.renewsCode.make(by: b, of: a)
        try folder.replace(with: ofA)
        try c.sync()
        #expect(try Self.alarm(at: b)?.kind == .forked)
        // The folder holds a's list: resolving changes nothing, and does no harm.
        try a.fleet.resolveRoster()
        for home in [a, c] { try home.sync() }
        #expect(try a.fleet.remove(deviceNamed: "b").failure == nil)
        #expect(try Self.alarm(at: b)?.kind == .forked)
        try b.add("later", "of b alone")
        let guest = try Home("b2", on: a.environment.fileSystem, clock: a.clock)
        for (account, secret) in try b.secrets() { try guest.add(account, secret) }
        let attempt = try guest.fleet.requestToJoin(Home.url, deviceName: "b")
        _ = try a.fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        for home in [guest, a, c, guest] { try home.sync() }
        let wanted = ["a": "of a", "b": "of b", "c": "of c", "d": "of d", "later": "of b alone"]
        for home in [a, c, guest] {
            #expect(try home.secrets() == wanted)
            #expect(try home.fleet.status().devices.map(\.name) == ["a", "c", "b"])
        }
    }

    @Test func `a list that is kept replaces the other one, and those who followed neither go on`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        let (a, b, c) = (homes[0], homes[1], homes[2])
        let folder = try Folder(a)
        let before = try folder.content()
        try Change.renewsCode.make(by: a, of: b)
        try folder.replace(with: before)
        try Change.renewsCode.make(by: b, of: a)
        #expect(try Self.alarm(at: a)?.kind == .forked)
        try a.fleet.resolveRoster()
        try a.add("ada", "one")
        for home in [a, c, a] { try home.sync() }
        #expect(try c.secrets() == ["ada": "one"])
        #expect(try Self.alarm(at: b)?.kind == .forked)
    }

    /// Each offset with information for a reader, and an offset in each sealed part.
    @Test(arguments: [0, 4, 8, 20, 170, -1], [1, 3, 4] as [UInt64])
    func `an altered record of the roster is put right by a device that has it, and stops nothing`(
        place: Int, sequence: UInt64
    ) throws {
        let homes = try Home.fleet(["a", "b", "c"])
        #expect(try homes[0].fleet.remove(deviceNamed: "c").failure == nil)
        for home in homes.prefix(2) { try home.sync() }
        let folder = try Folder(homes[0])
        let honest = try folder.alter(sequence) { $0[place < 0 ? $0.count - 1 : place] ^= 4 }
        for home in homes.prefix(2) {
            try home.add(home.name, "of \(home.name)")
            home.clock.advance(by: 1)
            let outcome = try home.fleet.sync()[0]
            #expect(outcome.error == nil && outcome.alarms.allSatisfy { $0.kind == .damaged && $0.log == nil })
        }
        // Each sync reads the last record; a newcomer reads an earlier one.
        if sequence == 4 {
            #expect(try folder.store.record(at: RecordAddress(folder.roster, sequence)) == honest)
        }
        for home in homes.prefix(2) { try home.sync() }
        for home in homes.prefix(2) { #expect(try home.secrets() == ["a": "of a", "b": "of b"]) }
    }

    @Test func `an altered beginning of the roster is put right by the owner who lets a device in`() throws {
        let homes = try Home.fleet(["a", "b"])
        let folder = try Folder(homes[0])
        let honest = try folder.alter(1) { $0[$0.count - 1] ^= 1 }
        let guest = try Home("c", on: homes[0].environment.fileSystem, clock: homes[0].clock)
        let attempt = try guest.fleet.requestToJoin(Home.url, deviceName: "c")
        _ = try homes[0].fleet.approve(attempt.code, role: .writer)
        #expect(try folder.store.record(at: RecordAddress(folder.roster, 1)) == honest)
        #expect(try attempt.poll())
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a device that lost its mirror meets an altered roster, and another device puts it right`(
        sequence: UInt64
    ) throws {
        let homes = try Home.fleet(["a", "b", "c"])
        let (a, b) = (homes[0], homes[1])
        let folder = try Folder(a)
        let honest = try folder.alter(sequence) { $0[4] ^= 1 }
        let mirror = try b.fleet.mirrorStore(of: b.fleet.membership().identity.realmID)
        for head in try mirror.heads() { try mirror.remove(head.stream, below: .max) }
        b.clock.advance(by: 1)
        #expect(throws: SyncError.self) { try b.sync() }
        try a.add("ada", "one")
        try a.sync()
        #expect(try folder.store.record(at: RecordAddress(folder.roster, sequence)) == honest)
        try b.sync()
        #expect(try b.secrets() == ["ada": "one"])
    }

    @Test func `a change of another owner that was altered on the way is not replaced by a second one`() throws {
        let homes = try Home.fleet(["a", "b", "c", "d"])
        let (a, b) = (homes[0], homes[1])
        let folder = try Folder(a)
        try Change.removesThird.make(by: a, of: b)
        let honest = try folder.alter(5) { $0[$0.count - 1] ^= 1 }
        for _ in 0..<2 { #expect(try b.fleet.remove(deviceNamed: "d").failure != nil) }
        #expect(throws: SyncError.self) { try b.fleet.renewRecoveryCode { _ throws(SyncError) in } }
        #expect(throws: SyncError.self) { try b.sync() }
        a.clock.advance(by: 1)
        #expect(try a.fleet.sync()[0].alarms.map(\.kind) == [.damaged])
        #expect(try folder.store.record(at: RecordAddress(folder.roster, 5)) == honest)
        for home in [b, a, b] { try home.sync() }
        #expect(try a.fleet.status().devices.map(\.name) == ["a", "b"])
    }

    @Test func `rubbish beside a true record, as a program that copies folders names it, removes nothing`() throws {
        let homes = try Home.fleet(["a", "b"])
        let (a, b) = (homes[0], homes[1])
        try a.add("ada", "one")
        for home in homes + homes { try home.sync() }
        let folder = try Folder(a)
        let log = RecordStream(.log, try a.fleet.membership().state.log)
        for (stream, count) in [
            (folder.roster, 2), (log, Int(try #require(try folder.store.all(log).last).address.sequence)),
        ] {
            let place = try a.environment.fileSystem.openDirectory(Home.remote).directory("vlt1")
                .directory(folder.roster.name.text).directory(String(stream.kind.rawValue)).directory(stream.name.text)
            for number in 1...count {
                let name = RecordName(UInt64(number)).text + ".sync-conflict-20261124-120000-ABCDEFG"
                try place.openOrCreate(name).writeAll(
                    (Array("VLR1".utf8) + [1, 0, 0, 0] + [UInt8](repeating: 7, count: 900)).span, at: 0)
            }
        }
        let before = try folder.content().count
        for home in homes + homes {
            try home.add("by \(home.name) \(home.clock.now)", "secret")
            _ = try home.fleet.sync()
            home.clock.advance(by: 1)
            for sequence in 1...2 as ClosedRange<UInt64> {
                #expect(try folder.store.record(at: RecordAddress(folder.roster, sequence)).map(\.count) ?? 0 > 0)
            }
        }
        for home in homes + homes { _ = try home.fleet.sync() }
        #expect(try folder.content().count >= before)
        #expect(try a.fleet.fingerprint() == b.fleet.fingerprint())
    }

    @Test func `a device that lost its mirror takes no chain that ends elsewhere than its own`() throws {
        let homes = try Home.fleet(["a", "b", "c", "d"])
        let (a, b, c) = (homes[0], homes[1], homes[2])
        let folder = try Folder(a)
        let before = try folder.content()
        try Change.approves.make(by: b, of: a)
        let losing = try folder.content()
        try folder.replace(with: before)
        try Change.approves.make(by: a, of: b)
        try Change.removesFourth.make(by: a, of: b)
        try c.sync()
        let kept = try folder.content()
        let mirror = try c.fleet.mirrorStore(of: c.fleet.membership().identity.realmID)
        for head in try mirror.heads() { try mirror.remove(head.stream, below: .max) }
        // The operator shows the discarded list.
        try folder.replace(with: losing)
        c.clock.advance(by: 1)
        #expect(throws: SyncError.self) { try c.sync() }
        try folder.replace(with: kept)
        for home in [c, a, c] { try home.sync() }
        #expect(try c.fleet.status().devices.map(\.name) == a.fleet.status().devices.map(\.name))
    }
}
