// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

struct FleetTests {
    @Test func `what is added on one device is on the other`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        try homes[0].sync()
        try homes[1].sync()
        #expect(try homes[1].secrets() == ["ada": "one"])
        try homes[1].change("ada", "two")
        try homes[1].sync()
        try homes[0].sync()
        #expect(try homes[0].secrets() == ["ada": "two"])
        try homes[0].delete("ada")
        try homes[0].sync()
        try homes[1].sync()
        #expect(try homes[1].secrets() == [:])
        #expect(try homes[0].fleet.fingerprint() == homes[1].fleet.fingerprint())
    }

    @Test func `items that were there before are told`() throws {
        let disk = MemoryFileSystem()
        let clock = ManualClock()
        let (a, b) = (try Home("a", on: disk, clock: clock), try Home("b", on: disk, clock: clock))
        try a.add("ada", "one")
        try b.add("bob", "two")
        _ = try a.fleet.found(Home.url, deviceName: "a")
        let attempt = try b.fleet.requestToJoin(Home.url, deviceName: "b")
        #expect(try !attempt.poll())
        #expect(try a.fleet.joinRequest(for: attempt.code) == "b")
        #expect(try a.fleet.approve(attempt.code, role: .owner).name == "b")
        #expect(try attempt.poll())
        try a.sync()
        #expect(try a.secrets() == ["ada": "one", "bob": "two"])
        #expect(try b.secrets() == ["ada": "one", "bob": "two"])
    }

    @Test func `two edits of one secret are both kept until a person decides`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        try homes[0].sync()
        try homes[1].sync()
        try homes[0].change("ada", "left")
        homes[1].clock.advance(by: 1)
        try homes[1].change("ada", "right")
        for home in homes + homes { try home.sync() }
        for home in homes {
            #expect(try home.secrets() == ["ada": "right"], "the later one counts")
            let conflict = try #require(try home.vault.conflicts().first)
            #expect(conflict.field == "secret")
            #expect(conflict.values.map(\.secret?.text) == ["right", "left"])
        }
        let item = try #require(try homes[1].vault.conflicts().first?.item.record)
        try homes[1].vault.resolveConflict(of: item.id, field: "secret", keeping: 2)
        #expect(try homes[1].secrets() == ["ada": "left"])
        for home in [homes[1], homes[0]] { try home.sync() }
        for home in homes {
            #expect(try home.secrets() == ["ada": "left"])
            #expect(try home.vault.conflicts().isEmpty)
        }
    }

    @Test func `an edit beats a deletion that did not know of it`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        try homes[0].sync()
        try homes[1].sync()
        try homes[0].delete("ada")
        try homes[1].change("ada", "two")
        for home in homes + homes { try home.sync() }
        for home in homes { #expect(try home.secrets() == ["ada": "two"]) }
    }

    @Test func `of two items with one key one is seen, and the other when the key is free`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "first")
        homes[0].clock.advance(by: 1)
        try homes[1].add("ada", "second")
        for home in homes + homes { try home.sync() }
        for home in homes {
            #expect(try home.secrets() == ["ada": "second"])
            #expect(try home.vault.conflicts().map(\.field) == ["shadow"])
        }
        try homes[0].vault.update(
            matching: Query(.genericPassword, service: "svc", account: "ada"),
            with: ItemChanges(attributes: [.account: .string("moved")]))
        #expect(try homes[0].secrets() == ["ada": "first", "moved": "second"])
        for home in homes { try home.sync() }
        #expect(try homes[1].secrets() == ["ada": "first", "moved": "second"])
    }

    @Test func `what is of this device alone never leaves, nor its name`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].vault.add(
            Item(
                .genericPassword(service: "svc", account: "here"), accessible: .whenUnlockedThisDeviceOnly,
                secret: "stays"))
        try homes[0].add("ada", "one")
        for home in homes { try home.sync() }
        #expect(try homes[1].secrets() == ["ada": "one"])
        try homes[0].vault.update(
            matching: Query(.genericPassword, service: "svc", account: "ada"),
            with: ItemChanges(attributes: [.accessible: .string("aku")]))
        for home in homes { try home.sync() }
        #expect(try homes[0].secrets() == ["ada": "one", "here": "stays"])
        #expect(try homes[1].secrets() == [:])
    }

    @Test func `a removed device hears nothing more, and is told so`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        try homes[2].add("carl", "one")
        try homes[2].sync()
        let removal = try homes[0].fleet.remove(deviceNamed: "c")
        #expect(removal.readable.count == 1)
        try homes[0].add("ada", "secret")
        for home in [homes[0], homes[1]] { try home.sync() }
        #expect(try !homes[2].fleet.status().isRemoved && homes[2].fleet.status().copiesNewItems)
        for _ in 0..<2 {
            #expect(throws: SyncError.removed) { try homes[2].sync() }
            #expect(try homes[2].fleet.status().isRemoved && !homes[2].fleet.status().copiesNewItems)
        }
        #expect(try homes[2].secrets() == ["carl": "one"])
        #expect(try homes[1].secrets() == ["ada": "secret", "carl": "one"])
        #expect(try homes[1].fleet.status().devices.map(\.name) == ["a", "b"])
    }

    @Test func `the recovery code lets a new machine in when no other is left`() throws {
        let disk = MemoryFileSystem()
        let a = try Home("a", on: disk)
        let code = try a.fleet.found(Home.url, deviceName: "a")
        try a.add("ada", "one")
        try a.sync()
        let b = try Home("b", on: disk, clock: a.clock)
        #expect(throws: SyncError.wrongRecoveryCode) {
            let other = try RecoveryCode(SystemRandom())
            try b.fleet.join(Home.url, with: other, deviceName: "b")
        }
        try b.fleet.join(Home.url, with: code, deviceName: "b")
        #expect(try b.secrets() == ["ada": "one"])
    }

    @Test func `large values, fields and attributes of every kind come whole`() throws {
        let homes = try Home.fleet(["a", "b"])
        let large = String(repeating: "x", count: 700_000)
        var item = Item(
            .genericPassword(service: "svc", account: "ada"),
            attributes: [.label: .string("Läbel"), .creator: .number(7), .generic: .data([0, 1])],
            secret: try Secret(text: large))
        item.userAttributes = ["team": "blue"]
        item.fields = ["otp": try Secret(text: "otpauth://x"), "pin": "1234"]
        try homes[0].vault.add(item)
        for home in homes { try home.sync() }
        var query = Query(.genericPassword, service: "svc")
        query.returnsSecrets = true
        let copy = try #require(try homes[1].vault.copyMatching(query).first)
        #expect(copy.secret?.text == large)
        #expect(copy.fields.mapValues(\.text) == ["otp": "otpauth://x", "pin": "1234"])
        #expect(copy.userAttributes == ["team": "blue"])
        #expect(copy.attributes[.label]?.text == "Läbel")
        #expect(copy.attributes[.creator] == .number(7))
        try homes[1].vault.update(
            matching: Query(.genericPassword, service: "svc"), with: ItemChanges(fields: ["pin": "5678"]))
        for home in [homes[1], homes[0]] { try home.sync() }
        #expect(try homes[0].vault.copyMatching(query).first?.fields["pin"]?.text == "5678")
        #expect(try homes[0].secrets()["ada"] == large)
    }

    @Test func `a long name that a device has already leaves room for a number`() throws {
        let name = String(repeating: "é", count: 127)
        let homes = try Home.fleet(["a"])
        for number in 1...2 {
            let home = try Home("b\(number)", on: homes[0].environment.fileSystem, clock: homes[0].clock)
            let attempt = try home.fleet.requestToJoin(Home.url, deviceName: name)
            let device = try homes[0].fleet.approve(attempt.code, role: .writer)
            #expect(device.name == (number == 1 ? name : String(repeating: "é", count: 120) + " 2"))
        }
    }
}
