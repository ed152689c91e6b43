// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The library's ordinary functions in a vault that belongs to a fleet.
struct EngineTests {
    private static let ada = Query(.genericPassword, service: "svc", account: "ada")

    private static func pair() throws -> [Home] {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        for home in homes { try home.sync() }
        return homes
    }

    private static func expectEqual(_ homes: [Home], _ secrets: [String: String]) throws {
        for home in homes + homes { try home.sync() }
        for home in homes { #expect(try home.secrets() == secrets) }
        #expect(try Set(homes.map { try $0.fleet.fingerprint() }).count == 1)
    }

    @Test func `a deleted item is gone for every query, and its key is free`() throws {
        let homes = try Self.pair()
        try homes[0].delete("ada")
        #expect(throws: VaultError.itemNotFound) { try homes[0].vault.copyMatching(Self.ada) }
        var tombstones = Self.ada
        tombstones.attributes[.tombstone] = .number(1)
        #expect(throws: VaultError.itemNotFound) { try homes[0].vault.copyMatching(tombstones) }
        try homes[0].add("ada", "again")
        try Self.expectEqual(homes, ["ada": "again"])
        #expect(throws: VaultError.duplicateItem) { try homes[1].add("ada", "twice") }
    }

    @Test func `a synchronizable item leaves a tombstone that a query finds, and comes back over it`() throws {
        let homes = try Home.fleet(["a", "b"])
        let item = try Item(
            .genericPassword(service: "svc", account: "ada"), attributes: [.synchronizable: .number(1)],
            secret: Secret(text: "one"))
        let added = try homes[0].vault.add(item)
        for home in homes { try home.sync() }
        var query = Self.ada
        try homes[0].vault.delete(matching: query)
        for home in homes { try home.sync() }
        for home in homes {
            #expect(throws: VaultError.itemNotFound) { try home.vault.copyMatching(query) }
            var tombstones = query
            tombstones.attributes[.tombstone] = .number(1)
            #expect(try home.vault.copyMatching(tombstones).count == 1)
        }
        let again = try homes[1].vault.add(item)
        #expect(again.record?.id == added.record?.id)
        query.returnsSecrets = true
        for home in [homes[1], homes[0]] { try home.sync() }
        #expect(try homes[0].vault.copyMatching(query).first?.secret?.text == "one")
    }

    @Test func `history, undo and restore go on, and others hear of them`() throws {
        let homes = try Self.pair()
        try homes[0].vault.setHistoryLimit(5)
        try homes[0].change("ada", "two")
        try homes[0].change("ada", "three")
        let record = try #require(try homes[0].vault.first(Self.ada)?.record)
        try homes[0].vault.undo(record, to: nil)
        try Self.expectEqual(homes, ["ada": "two"])
        try homes[0].delete("ada")
        try Self.expectEqual(homes, [:])
        let deleted = try #require(try homes[0].vault.deletedItems(matching: Self.ada).first?.item.record)
        try homes[0].vault.restoreItem(deleted)
        try Self.expectEqual(homes, ["ada": "two"])
        #expect(try homes[0].vault.versions(matching: Self.ada).count > 2)
    }

    @Test func `what another device overwrites goes into the history here`() throws {
        let homes = try Self.pair()
        try homes[1].vault.setHistoryLimit(5)
        try homes[0].change("ada", "two")
        try Self.expectEqual(homes, ["ada": "two"])
        var query = Self.ada
        query.returnsSecrets = true
        #expect(try homes[1].vault.versions(matching: query).map(\.item.secret?.text) == ["two", "one"])
    }

    @Test func `compaction, a new vault key and a look at every byte keep conflicts and deleted values`() throws {
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob", "carl"] { try homes[0].add(account, account) }
        for home in homes { try home.sync() }
        for home in homes {
            try home.change("ada", "ada by \(home.name)")
            home.clock.advance(by: 1)
        }
        try homes[0].delete("bob")
        try homes[1].change("bob", "lives")
        for home in homes + homes { try home.sync() }
        try homes[1].delete("carl")
        for home in homes {
            try home.vault.compact()
            _ = try home.vault.verify(deep: true)
            #expect(try home.vault.conflicts().first?.values.map(\.secret?.text) == ["ada by b", "ada by a"])
        }
        _ = try homes[0].vault.rekey([SlotEntry(.passphrase(.of("correct horse")), name: "p", cost: .weakest)]) { _ in }
        #expect(try homes[0].vault.conflicts().first?.values.map(\.secret?.text) == ["ada by b", "ada by a"])
        // The deleted item is kept for devices that may have edited it.
        try homes[0].change("carl", "edited")
        try Self.expectEqual(homes, ["ada": "ada by b", "bob": "lives", "carl": "edited"])
    }

    @Test func `a vault that is opened again goes on with stamps that rise`() throws {
        let disk = MemoryFileSystem()
        let homes = try Home.fleet(["a", "b"], on: disk)
        try homes[0].add("ada", "one")
        homes[0].vault.close()
        let again = try Vault.open(
            at: "/a/v.vault", unlockingWith: .of("correct horse"), environment: homes[0].environment)
        homes[0].clock.advance(by: -7200)
        try again.update(matching: Self.ada, with: ItemChanges(secret: Secret(text: "two")))
        _ = try Fleet(again, environment: homes[0].environment).sync()
        try homes[1].sync()
        #expect(try homes[1].secrets() == ["ada": "two"])
        #expect(try homes[1].vault.conflicts().isEmpty)
    }

    @Test func `a joined change is one of the sequence of changes`() async throws {
        let homes = try Self.pair()
        let changes = homes[1].vault.changes
        var iterator = changes.makeAsyncIterator()
        try homes[0].change("ada", "two")
        try homes[0].sync()
        try homes[1].sync()
        let change = await iterator.next()
        #expect(change != nil)
    }

    @Test func `a backup has no identity, and goes on as a new device`() throws {
        let disk = MemoryFileSystem()
        let homes = try Home.fleet(["a", "b"], on: disk)
        try homes[0].add("ada", "one")
        for home in homes { try home.sync() }
        _ = try homes[0].vault.backUp(to: "/a/copy.vault", replacing: false)
        // The copy lacks this item, and its own writes have later stamps.
        try homes[0].add("later", "kept")
        let copy = try Vault.open(
            at: "/a/copy.vault", unlockingWith: .of("correct horse"), environment: homes[0].environment)
        let fleet = try Fleet(copy, environment: homes[0].environment)
        #expect(throws: SyncError.notJoined) { try fleet.sync() }
        try copy.update(matching: Self.ada, with: ItemChanges(secret: Secret(text: "on the copy")))
        let attempt = try fleet.requestToJoin(Home.url, deviceName: "copy")
        _ = try homes[0].fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        for home in homes + homes { try home.sync() }
        #expect(try homes[1].secrets() == ["ada": "on the copy", "later": "kept"])
        #expect(try homes[0].secrets() == homes[1].secrets())
        try homes[0].change("later", "changed")
        for home in homes { try home.sync() }
        #expect(try homes[1].secrets()["later"] == "changed")
    }

    @Test func `a locked vault tells nothing, and nothing is lost`() throws {
        let homes = try Self.pair()
        try homes[0].change("ada", "two")
        try homes[0].vault.lock()
        #expect(try homes[0].sync().report.published == 0)
        try homes[0].vault.unlock(with: .passphrase(.of("correct horse")))
        try Self.expectEqual(homes, ["ada": "two"])
    }

    @Test func `the mark of synchronizable items narrows no sync, and its removal deletes nothing`() throws {
        let homes = try Self.pair()
        let query = Query(.genericPassword, service: "svc")
        try homes[0].vault.add(
            Item(
                .genericPassword(service: "svc", account: "marked"), attributes: [.synchronizable: .number(1)],
                secret: Secret(text: "two")))
        for home in homes { try home.sync() }
        for (account, mark) in [("ada", true), ("marked", false)] {
            try homes[0].vault.update(
                matching: Query(.genericPassword, account: account),
                with: ItemChanges(attributes: [.synchronizable: .bool(mark)]))
        }
        for home in homes { try home.sync() }
        for home in homes {
            let accounts = try home.vault.copyMatching(query).compactMap { $0.attributes[.account]?.text }
            #expect(accounts.sorted() == ["ada", "marked"])
        }
    }

    @Test func `a backup of one fleet's vault can begin another fleet`() throws {
        let homes = try Self.pair()
        try homes[1].change("ada", "two")
        try homes[0].change("ada", "one more")
        for home in homes + homes { try home.sync() }
        let environment = homes[0].environment
        _ = try homes[0].vault.backUp(to: "/a/copy.vault", replacing: false)
        let copy = try Vault.open(
            at: "/a/copy.vault", unlockingWith: .of("correct horse"), environment: environment)
        let fleet = try Fleet(copy, environment: environment)
        #expect(throws: SyncError.remoteInUse) {
            try fleet.found(Home.url, deviceName: "copy")
        }
        try environment.fileSystem.createDirectories("/other")
        _ = try fleet.found(RemoteURL(folder: "/other"), deviceName: "copy")
        try copy.update(matching: Self.ada, with: ItemChanges(secret: Secret(text: "elsewhere")))
        #expect(try fleet.sync().allSatisfy { $0.error == nil && $0.alarms.isEmpty })
        #expect(try fleet.status().conflicts == 0)
        for home in homes { try home.sync() }
        #expect(try homes[1].secrets() == ["ada": "one more"])
    }

    @Test func `what is purged or forgotten here is deleted for all`() throws {
        let homes = try Home.fleet(["a", "b"])
        let group = AccessGroups(["app", "*"])
        try homes[0].vault.withAccessGroups(group).add(
            Item(.genericPassword(service: "svc", account: "ada"), secret: Secret(text: "one")))
        for home in homes { try home.sync() }
        #expect(try homes[0].vault.withAccessGroups(group).forget(accessGroup: "app") == 1)
        for home in homes { try home.sync() }
        #expect(throws: VaultError.itemNotFound) {
            try homes[1].vault.withAccessGroups(group).copyMatching(Self.ada)
        }
    }
}
