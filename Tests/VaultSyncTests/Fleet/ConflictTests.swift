// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Items with the same primary key that devices added without seeing each other's.
struct ShadowTests {
    private static let ada = Query(.genericPassword, service: "svc", account: "ada")

    /// Makes devices that each add an item, in order; afterwards every device knows every item.
    private static func fleet(_ names: [String]) throws -> [Home] {
        let homes = try Home.fleet(names)
        for home in homes {
            try home.add("ada", "of \(home.name)")
            home.clock.advance(by: 60)
        }
        try settle(homes)
        return homes
    }

    private static func settle(_ homes: [Home]) throws {
        for home in homes + homes { try home.sync() }
    }

    private static func expectAll(
        _ homes: [Home], _ secrets: [String: String], hidden: [String] = []
    ) throws {
        for home in homes {
            #expect(try home.secrets() == secrets, "\(home.name)")
            let found = try home.vault.conflicts().compactMap { $0.values.last?.secret?.text }
            #expect(found.sorted() == hidden, "\(home.name)")
            #expect(try home.fleet.status().conflicts == hidden.count)
        }
        #expect(try Set(homes.map { try $0.fleet.fingerprint() }).count == 1)
    }

    private static func shadow(of secret: String, on home: Home) throws -> ItemConflict {
        try #require(try home.vault.conflicts().first { $0.values.last?.secret?.text == secret })
    }

    private static func resolve(_ conflict: ItemConflict, keeping index: Int, on home: Home) throws {
        let id = try #require(conflict.item.record?.id)
        try home.vault.resolveConflict(of: id, field: "shadow", keeping: index)
    }

    @Test func `the item that is seen and the hidden one are listed with secret, device and time`() throws {
        let homes = try Home.fleet(["a", "b"])
        let times = try homes.map { home in
            try home.add("ada", "of \(home.name)")
            defer { home.clock.advance(by: 60) }
            return try #require(try home.vault.first(Self.ada)?.record?.modified.timeIntervalSinceReferenceDate)
        }
        try Self.settle(homes)
        for home in homes {
            let conflict = try #require(try home.vault.conflicts().first)
            #expect(conflict.field == "shadow")
            #expect(conflict.values.map { $0.secret?.text } == ["of b", "of a"])
            let names = try home.fleet.deviceNames()
            #expect(conflict.values.map { names[$0.log] } == ["b", "a"])
            for (value, time) in zip(conflict.values, times.reversed()) { #expect(abs(value.time - time) < 0.01) }
            let seen = try home.vault.first(Self.ada)?.record?.id
            #expect(conflict.values.map(\.item?.record?.id) == [seen, conflict.item.record?.id])
            #expect(conflict.values.allSatisfy { !$0.isRemoval && !$0.isHereOnly })
            #expect(try home.vault.conflictCount() == 1)
        }
    }

    @Test(arguments: [1, 2]) func `the one that is kept is the one that every device sees`(index: Int) throws {
        let homes = try Self.fleet(["a", "b"])
        try Self.resolve(Self.shadow(of: "of a", on: homes[0]), keeping: index, on: homes[0])
        #expect(try homes[0].secrets() == ["ada": index == 1 ? "of b" : "of a"])
        #expect(try homes[0].vault.conflicts().isEmpty)
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": index == 1 ? "of b" : "of a"])
    }

    @Test(arguments: [1, 2]) func `of three items with one key two are concerned`(index: Int) throws {
        let homes = try Self.fleet(["a", "b", "c"])
        try Self.expectAll(homes, ["ada": "of c"], hidden: ["of a", "of b"])
        try Self.resolve(Self.shadow(of: "of a", on: homes[1]), keeping: index, on: homes[1])
        #expect(try homes[1].secrets() == ["ada": index == 1 ? "of c" : "of a"])
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": index == 1 ? "of c" : "of a"], hidden: ["of b"])
        try Self.resolve(Self.shadow(of: "of b", on: homes[2]), keeping: index, on: homes[2])
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": index == 1 ? "of c" : "of b"])
    }

    /// Makes a fleet's item that a this-device item hides on this device.
    private static func hereOnly() throws -> [Home] {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].vault.add(
            Item(
                .genericPassword(service: "svc", account: "ada"), accessible: .whenUnlockedThisDeviceOnly,
                secret: "stays"))
        try homes[1].add("ada", "of b")
        try settle(homes)
        return homes
    }

    @Test func `an item of this device alone that hides the fleet's is told as such`() throws {
        let homes = try Self.hereOnly()
        #expect(try homes.map { try $0.secrets() } == [["ada": "stays"], ["ada": "of b"]])
        #expect(try homes[1].vault.conflicts().isEmpty)
        let conflict = try #require(try homes[0].vault.conflicts().first)
        #expect(conflict.values.map { $0.secret?.text } == ["stays", "of b"])
        #expect(conflict.values.map(\.isHereOnly) == [true, false])
        let names = try homes[0].fleet.deviceNames()
        #expect(conflict.values.map { names[$0.log] } == ["a", "b"])
    }

    @Test(arguments: [1, 2]) func `between this device's own and the fleet's either can be kept`(index: Int) throws {
        let homes = try Self.hereOnly()
        try Self.resolve(Self.shadow(of: "of b", on: homes[0]), keeping: index, on: homes[0])
        try Self.settle(homes)
        #expect(try homes[0].secrets() == ["ada": index == 1 ? "stays" : "of b"])
        #expect(try homes[1].secrets() == (index == 1 ? [:] : ["ada": "of b"]))
        for home in homes { #expect(try home.vault.conflicts().isEmpty) }
        #expect(try homes[0].fleet.fingerprint() == homes[1].fleet.fingerprint())
    }

    @Test func `deleting this device's own item shows the fleet's again`() throws {
        let homes = try Self.hereOnly()
        try homes[0].delete("ada")
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": "of b"])
    }

    @Test func `telling the fleet of this device's own item leaves one conflict everywhere`() throws {
        let homes = try Self.hereOnly()
        try homes[0].vault.update(
            matching: Self.ada, with: ItemChanges(attributes: [.accessible: .string("ak")]))
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": "stays"], hidden: ["of b"])
    }

    @Test func `named fields and attributes come with both items`() throws {
        let homes = try Home.fleet(["a", "b"])
        for home in homes {
            try home.vault.add(
                Item(
                    .genericPassword(service: "svc", account: "ada"), attributes: [.label: .string("by \(home.name)")],
                    secret: "same", fields: ["pin": Secret(text: "pin \(home.name)")]))
            home.clock.advance(by: 1)
        }
        try Self.settle(homes)
        let items = try #require(try homes[0].vault.conflicts().first).values.map(\.item)
        #expect(items.map { $0?.secret?.text } == ["same", "same"])
        #expect(items.map { $0?.fields["pin"]?.text } == ["pin b", "pin a"])
        #expect(items.map { $0?[.label]?.text } == ["by b", "by a"])
    }

    @Test func `a number that the conflict does not have, and an item that is not hidden, are refused`() throws {
        let homes = try Self.fleet(["a", "b"])
        let conflict = try Self.shadow(of: "of a", on: homes[0])
        for index in [0, 3, -1] {
            #expect(throws: VaultError.parameter(.limit)) { try Self.resolve(conflict, keeping: index, on: homes[0]) }
        }
        let seen = try #require(try homes[0].vault.first(Self.ada)?.record?.id)
        #expect(throws: VaultError.itemNotFound) {
            try homes[0].vault.resolveConflict(of: seen, field: "shadow", keeping: 1)
        }
        try Self.expectAll(homes, ["ada": "of b"], hidden: ["of a"])
    }

    @Test func `what was given up goes into the history of this device`() throws {
        let homes = try Self.fleet(["a", "b"])
        try homes[0].vault.setHistoryLimit(5)
        try Self.resolve(Self.shadow(of: "of a", on: homes[0]), keeping: 2, on: homes[0])
        let deleted = try homes[0].vault.deletedItems(matching: Self.ada)
        #expect(deleted.count == 1)
        try Self.settle(homes)
        try Self.expectAll(homes, ["ada": "of a"])
    }

    @Test func `a locked vault lists no values, and an item that demands a person takes one`() throws {
        let homes = try Home.fleet(["a", "b"])
        for home in homes {
            var item = Item(.genericPassword(service: "svc", account: "ada"))
            item.secret = try Secret(text: "of \(home.name)")
            item[.accessControl] = .data(AccessControl(.whenUnlocked, constraints: 1).encoded)
            try home.vault.add(item)
            home.clock.advance(by: 1)
        }
        try Self.settle(homes)
        #expect(throws: VaultError.presenceRequired) { try homes[0].vault.conflicts() }
        #expect(try homes[0].vault.conflictCount() == 1)
        let attended = homes[0].vault.attended()
        #expect(try attended.conflicts().first?.values.map { $0.secret?.text } == ["of b", "of a"])
        try homes[0].vault.lock()
        #expect(try attended.conflicts().isEmpty)
        #expect(try homes[0].vault.conflictCount() == 0)
        let id = try #require(try homes[1].vault.attended().conflicts().first?.item.record?.id)
        #expect(throws: VaultError.locked) { try attended.resolveConflict(of: id, field: "shadow", keeping: 2) }
    }

    @Test func `an item knows of its own conflicts alone`() throws {
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob", "carl"] { try homes[0].add(account, "one") }
        try Self.settle(homes)
        for home in homes {
            try home.change("ada", "by \(home.name)")
            try home.change("bob", "the same")
            try home.add("dora", "of \(home.name)")
            home.clock.advance(by: 1)
        }
        try Self.settle(homes)
        let vault = homes[0].vault
        func hasConflict(_ account: String) throws -> Bool {
            let query = Query(.genericPassword, service: "svc", account: account)
            return try vault.hasConflict(try #require(try vault.first(query)?.record?.id))
        }
        #expect(try ["ada", "bob", "carl", "dora"].map(hasConflict) == [true, false, false, true])
        #expect(try vault.conflictCount() == 2)
        #expect(try vault.conflicts().count == 2)
    }
}

/// The conflict counts that a sync reports.
struct ConflictCountTests {
    @Test func `a sync that brings a conflict counts it`() throws {
        let homes = try Home.fleet(["a", "b"])
        func synced(_ home: Home) -> SyncResult {
            SyncResult(syncing: home.vault, environment: home.environment, withFingerprint: false)
        }
        for home in homes { try home.add("ada", "of \(home.name)") }
        #expect(homes.map { synced($0).conflicts } == [0, 1])
        #expect(synced(homes[0]).conflicts == 1)
        try homes[0].vault.lock()
        #expect(synced(homes[0]).conflicts == nil)
    }
}
