// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
@testable import Vault
import VaultCrypto
import VaultFormat
import VaultStorage
@testable import VaultSync
import VaultSystem

/// The other features of a vault, in a vault that belongs to a fleet.
struct FleetFeatureTests {
    private static let ada = Query(.genericPassword, service: "svc", account: "ada")
    private static let day = 86_400.0

    private static func settle(_ homes: [Home]) throws { for home in homes + homes { try home.sync() } }

    private static func secret(_ vault: Vault, _ query: Query = ada) throws -> [String?] {
        var query = query
        query.returnsSecrets = true
        return try vault.copyMatching(query).map { $0.secret?.text }
    }

    /// Joins a device whose vault is another file on the same machine, and syncs every device.
    private static func join(_ vault: Vault, of home: Home, to homes: [Home]) throws {
        let fleet = try Fleet(vault, environment: home.environment)
        #expect(throws: SyncError.notJoined) { try fleet.sync() }
        let attempt = try fleet.requestToJoin(Home.url, deviceName: "again")
        _ = try homes[0].fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        for _ in 0..<2 {
            for home in homes { try home.sync() }
            #expect(try fleet.sync().allSatisfy { $0.error == nil && $0.alarms.isEmpty })
        }
        #expect(try Set(homes.map { try $0.fleet.fingerprint() } + [fleet.fingerprint()]).count == 1)
    }

    // MARK: Older versions

    @Test func `the days of an item that another device has deleted begin when this one hears of it`() throws {
        let homes = try Home.fleet(["a", "b"])
        let (vault, clock) = (homes[1].vault, homes[1].clock)
        try vault.setHistoryLimit(5)
        try vault.setDeletedItemsLimit(30)
        try homes[0].add("ada", "one")
        try Self.settle(homes)
        try homes[0].delete("ada")
        try homes[0].sync()
        clock.advance(by: 20 * Self.day)
        try Self.settle(homes)
        var revealing = Self.ada
        revealing.returnsSecrets = true
        let deleted = try #require(try vault.deletedItems(matching: revealing).first?.item)
        #expect(deleted.secret?.text == "one")
        clock.advance(by: 29 * Self.day)
        try homes[1].sync()
        #expect(try vault.deletedItems(matching: Self.ada).count == 1)
        clock.advance(by: 2 * Self.day)
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: Self.ada) }
        #expect(throws: VaultError.itemNotFound) { try vault.restoreItem(#require(deleted.record)) }
        try homes[1].add("bob", "two")
        let before = try vault.verify(deep: true).versions
        try vault.lock()
        try vault.unlock(with: .passphrase(.of("correct horse")))
        #expect(try vault.verify(deep: true).versions == before - 1)
        try Self.settle(homes)
        for home in homes { #expect(try home.secrets() == ["bob": "two"]) }
    }

    @Test func `an edit that did not know of a deletion brings all of the item back, also after its days`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        try homes[0].vault.add(
            Item(
                .genericPassword(service: "svc", account: "ada"), secret: Secret(text: "one"),
                fields: ["pin": Secret(text: "1234")]))
        for home in homes {
            try home.vault.setHistoryLimit(5)
            try home.vault.setDeletedItemsLimit(1)
        }
        try Self.settle(homes)
        try homes[0].delete("ada")
        try homes[2].vault.update(matching: Self.ada, with: ItemChanges(attributes: [.label: "edited"]))
        for home in homes[..<2] + homes[..<2] { try home.sync() }
        homes[0].clock.advance(by: 10 * Self.day)
        for home in homes[..<2] {
            try home.add("of \(home.name)", "x")
            try home.vault.lock()
            try home.vault.unlock(with: .passphrase(.of("correct horse")))
            #expect(throws: VaultError.itemNotFound) { try home.vault.deletedItems(matching: Self.ada) }
        }
        try Self.settle(homes)
        for home in homes {
            let item = try #require(try home.vault.first(Self.ada))
            #expect(try item.openedSecret()?.text == "one" && item.openedSecret(field: "pin")?.text == "1234")
            #expect(item.label == "edited")
        }
        #expect(try Set(homes.map { try $0.fleet.fingerprint() }).count == 1)
    }

    @Test func `an item that was deleted elsewhere and is brought back here is there for all`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[1].vault.setHistoryLimit(5)
        for (account, mark) in [("ada", false), ("marked", true)] {
            try homes[0].vault.add(
                Item(
                    .genericPassword(service: "svc", account: account), attributes: [.synchronizable: .bool(mark)],
                    secret: Secret(text: "one")))
        }
        try Self.settle(homes)
        try homes[0].vault.delete(matching: Query(.genericPassword, service: "svc"))
        try Self.settle(homes)
        for version in try homes[1].vault.deletedItems(matching: Query(.genericPassword, service: "svc")) {
            try homes[1].vault.restoreItem(#require(version.item.record))
        }
        try Self.settle(homes)
        for home in homes { #expect(try home.secrets() == ["ada": "one", "marked": "one"]) }
    }

    // MARK: Protection of items

    @Test func `an item that demands a person does so on every device, its older versions too`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[1].vault.setHistoryLimit(5)
        let control = AttributeValue.data(AccessControl(.whenUnlocked, constraints: 1).encoded)
        var item = Item(.genericPassword(service: "svc", account: "ada"), secret: try Secret(text: "one"))
        item[.accessControl] = control
        try homes[0].vault.add(item)
        try homes[0].add("later", "two")
        try Self.settle(homes)
        try homes[0].vault.update(
            matching: Query(.genericPassword, account: "later"),
            with: ItemChanges(attributes: [.accessControl: control], secret: Secret(text: "three")))
        try Self.settle(homes)
        for account in ["ada", "later"] {
            let query = Query(.genericPassword, account: account)
            #expect(throws: VaultError.presenceRequired) { try homes[1].vault.copyMatching(query) }
            #expect(throws: VaultError.presenceRequired) { try homes[1].vault.versions(matching: query) }
        }
        #expect(try Self.secret(homes[1].vault.attended()) == ["one"])
        try homes[0].vault.delete(matching: Query(.genericPassword, service: "svc"))
        try Self.settle(homes)
        #expect(throws: VaultError.presenceRequired) {
            try homes[1].vault.deletedItems(matching: Query(.genericPassword, account: "later"))
        }
    }

    @Test func `a protection class that one device gives an item holds on the other, locked`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        try homes[0].add("bob", "two")
        try Self.settle(homes)
        try homes[0].vault.update(matching: Self.ada, with: ItemChanges(attributes: [.accessible: "ck"]))
        try Self.settle(homes)
        try homes[1].vault.lock()
        #expect(try Self.secret(homes[1].vault) == ["one"])
        #expect(throws: VaultError.locked) {
            try homes[1].vault.copyMatching(Query(.genericPassword, service: "svc", account: "bob"))
        }
        try homes[1].vault.unlock(with: .passphrase(.of("correct horse")))
        try homes[0].vault.update(matching: Self.ada, with: ItemChanges(attributes: [.accessible: "ak"]))
        try Self.settle(homes)
        try homes[1].vault.lock()
        #expect(throws: VaultError.locked) { try homes[1].vault.copyMatching(Self.ada) }
    }

    @Test func `items of one key in two groups are no conflict, and one that moves takes no other's place`() throws {
        let homes = try Home.fleet(["a", "b"])
        let groups = homes.map { $0.vault.withAccessGroups(["work", "home"]) }
        for (vault, group) in zip(groups, ["work", "home"]) {
            try vault.add(
                Item(
                    .genericPassword(service: "svc", account: "ada"), attributes: [.accessGroup: .string(group)],
                    secret: Secret(text: group)))
        }
        try Self.settle(homes)
        for vault in groups {
            #expect(try Set(Self.secret(vault)) == ["work", "home"] && vault.conflicts().isEmpty)
            #expect(try Self.secret(vault.withAccessGroups(["home"])) == ["home"])
        }
        var work = Self.ada
        work.attributes[.accessGroup] = "work"
        try groups[0].update(matching: work, with: ItemChanges(attributes: [.account: "moved"]))
        try groups[0].update(
            matching: Query(.genericPassword, account: "moved"), with: ItemChanges(attributes: [.accessGroup: "home"]))
        try Self.settle(homes)
        for vault in groups {
            #expect(throws: VaultError.itemNotFound) { try vault.copyMatching(work) }
            #expect(try Self.secret(vault) == ["home"])
            #expect(try Self.secret(vault, Query(.genericPassword, account: "moved")) == ["work"])
        }
    }

    // MARK: Other files

    /// Returns the vault of a device, salvaged after the loss of a frame.
    ///
    /// - Parameter lost: The index of the lost frame; `nil` loses none.
    /// - Returns: The vault; `nil` if there are fewer frames.
    private static func salvaged(_ home: Home, withoutFrame lost: Int?) throws -> Vault? {
        if let lost {
            let file = try home.environment.fileSystem.openDirectory("/b").open("v.vault", writable: true)
            let size = try file.status().size
            var place = Layout.firstFrame
            for _ in 0..<lost where place + 4 < size {
                let length = try file.read(4, at: place)
                place += length.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            guard place + 4 < size else { return nil }
            let none = [UInt8](repeating: 0xff, count: 4)
            _ = try file.write(none.span, at: place)
        }
        let secret = UnlockingSecret.passphrase(try .of("correct horse"))
        _ = try DamagedVault(at: "/b/v.vault", environment: home.environment)
            .salvage(with: secret, to: "/b/saved.vault", accepts: { _ in true })
        return try LockedVault(at: "/b/saved.vault", environment: home.environment).unlock(with: secret)
    }

    @Test func `an item that was deleted is counted by no backup, restoration or check`() throws {
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob"] { try homes[0].add(account, "one") }
        try Self.settle(homes)
        try homes[0].delete("bob")
        try Self.settle(homes)
        for home in homes {
            let directory = FilePath("/\(home.name)")
            let copy = directory.appending("copy.vault")
            #expect(try home.vault.verify(deep: true).items == 1)
            #expect(try home.vault.backUp(to: copy, replacing: false) == 1)
            let restored = try LockedVault(at: copy, environment: home.environment)
                .restore(with: .passphrase(.of("correct horse")), to: directory.appending("restored.vault"))
            #expect(restored == 1)
        }
    }

    @Test func `a copy for others does not know what the fleet has deleted`() throws {
        func tombstones(_ vault: Vault) throws -> Int {
            try vault.readReplica { table in
                var count = 0
                table.forEachBrief { if $0.isTombstone { count += 1 } }
                return count
            }
        }
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob"] { try homes[0].add(account, "one") }
        try Self.settle(homes)
        // The other device has not read of the deletion, so that the record and its value have to stay.
        try homes[0].delete("bob")
        #expect(try tombstones(homes[0].vault) == 1)
        for (name, withHistory, count) in [("/a/whole.vault" as FilePath, true, 1), ("/a/given.vault", false, 0)] {
            #expect(try homes[0].vault.backUp(to: name, withHistory: withHistory) == 1)
            let copy = try LockedVault(at: name, environment: homes[0].environment).unlock(
                with: .passphrase(.of("correct horse")))
            #expect(try tombstones(copy) == count)
            #expect(try Home.secrets(of: copy) == ["ada": "one"])
            copy.close()
        }
    }

    @Test(arguments: [nil, 2, 5, 8, 9, 11])
    func `what is salvaged of a fleet's vault joins anew, and gets all that was lost`(lost: Int?) throws {
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob", "carl"] { try homes[0].add(account, "one") }
        try Self.settle(homes)
        for home in homes {
            try home.change("ada", "by \(home.name)")
            home.clock.advance(by: 1)
        }
        try homes[0].delete("bob")
        try Self.settle(homes)
        let vault = try #require(try Self.salvaged(homes[1], withoutFrame: lost))
        try Self.join(vault, of: homes[1], to: [homes[0]])
        for secrets in [try homes[0].secrets(), try Home.secrets(of: vault)] {
            #expect(secrets == ["ada": "by b", "carl": "one"])
        }
    }

    @Test func `a backup that is restored in a fleet's vault's place joins anew, and hears what it lacks`() throws {
        let homes = try Home.fleet(["a", "b"])
        for account in ["ada", "bob"] { try homes[0].add(account, "one") }
        try Self.settle(homes)
        let secret = UnlockingSecret.passphrase(try .of("correct horse"))
        let home = homes[1]
        try home.vault.backUp(to: "/b/copy.vault")
        try homes[0].add("later", "two")
        try homes[0].change("ada", "three")
        try home.change("bob", "told")
        try Self.settle(homes)
        home.vault.close()
        try LockedVault(at: "/b/copy.vault", environment: home.environment).restore(
            with: secret, to: "/b/v.vault", replacing: true, accepts: { _ in true })
        let vault = try LockedVault(at: "/b/v.vault", environment: home.environment).unlock(with: secret)
        try Self.join(vault, of: home, to: [homes[0]])
        #expect(try homes[0].secrets() == ["ada": "three", "bob": "told", "later": "two"])
        #expect(try Self.secret(vault, Query(.genericPassword, account: "later")) == ["two"])
    }
}
