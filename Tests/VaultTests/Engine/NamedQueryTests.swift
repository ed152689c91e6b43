// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import Vault

/// The items that a vault finds by a name.
struct NamedQueryTests {
    private static func vault(_ groups: AccessGroups = ["default", "*"]) throws -> TestVault {
        let test = try TestVault(groups: groups)
        for (service, account, group, label) in [
            ("own", "ada", "default", "Shared"), ("other", "bob", "work", "Own title"), ("own", "eve", "work", "x"),
            ("planted", "ada", "org.example.App", "Planted"), ("titled", "ada", "work", "own"),
        ] {
            try test.vault.add(
                Item(
                    .genericPassword(service: service, account: account),
                    attributes: [.accessGroup: .string(group), .label: .string(label)], secret: Secret(text: account)))
        }
        try test.vault.add(
            Item(
                .internetPassword(server: "www.bank.example", account: "ada", protocol: "htps", port: 8443),
                attributes: [.accessGroup: .string("default"), .label: .string("Bank")], secret: "bank"))
        return test
    }

    private static func found(
        _ vault: Vault, _ name: ItemName, _ itemClass: ItemClass? = nil,
        _ attributes: [Attribute: AttributeValue] = [:]
    ) throws -> [String] {
        try vault.allMatching(Query(named: name, itemClass, attributes: attributes))
            .map { "\(ItemFace($0).place) \(ItemFace($0).user)" }.sorted()
    }

    @Test func `the first group has all rules before another group has one`() throws {
        let test = try Self.vault()
        let vault = test.vault
        #expect(try Self.found(vault, ItemName("own")) == ["own ada"])
        #expect(try Self.found(vault, ItemName("own", account: "eve")) == ["own eve"])
        #expect(try Self.found(vault, ItemName("Shared")) == ["own ada"])
        #expect(try Self.found(vault, ItemName("Own title")) == ["other bob"])
        #expect(try Self.found(vault, ItemName("own", .title)) == ["titled ada"])
        #expect(try Self.found(vault, ItemName("other")) == ["other bob"])
    }

    @Test func `an application's group is looked in only if the caller names it`() throws {
        let test = try Self.vault()
        for name in ["planted", "Planted"] {
            #expect(try Self.found(test.vault, ItemName(name)) == [])
            let named = test.vault.withAccessGroups(["default", "org.example.App"])
            #expect(try Self.found(named, ItemName(name)) == ["planted ada"])
            let filter: [Attribute: AttributeValue] = [.accessGroup: .string("org.example.App")]
            #expect(try Self.found(test.vault, ItemName(name), nil, filter) == ["planted ada"])
        }
        #expect(throws: VaultError.itemNotFound) { try test.vault.copyMatching(Query(named: ItemName("planted"))) }
        #expect(try Self.found(test.vault.withAccessGroups(["work"]), ItemName("Bank")) == [])
    }

    @Test func `a host is found without its www, and filters only take away`() throws {
        let test = try Self.vault()
        let vault = test.vault
        for name in ["bank.example", "https://bank.example/login", "WWW.Bank.Example."] {
            #expect(try Self.found(vault, ItemName(name)) == ["www.bank.example ada"])
            #expect(try Self.found(vault, ItemName(name), .genericPassword) == [])
            #expect(try Self.found(vault, ItemName(name), nil, [.port: .number(8443)]) == ["www.bank.example ada"])
            #expect(try Self.found(vault, ItemName(name), nil, [.port: .number(443)]) == [])
            #expect(try Self.found(vault, ItemName(name, [.place, .title])) == [])
        }
        for name in ["bank", "example", "ank.example", "mail.bank.example"] {
            #expect(try Self.found(vault, ItemName(name)) == [])
        }
    }

    @Test func `the indexes follow changes, deletions and other handles`() throws {
        let test = try Self.vault()
        #expect(try Self.found(test.vault, ItemName("bank.example")) == ["www.bank.example ada"])
        let other = try test.reopened(groups: ["default", "*"])
        let query = Query(.internetPassword)
        try other.update(
            matching: query, with: ItemChanges(attributes: [.server: "credit.example", .label: "Credit"]))
        #expect(try Self.found(test.vault, ItemName("bank.example")) == [])
        #expect(try Self.found(test.vault, ItemName("https://credit.example")) == ["credit.example ada"])
        #expect(try Self.found(test.vault, ItemName("Credit")) == ["credit.example ada"])
        try other.update(matching: query, with: ItemChanges(userAttributes: ["url.2": "https://loan.example/x"]))
        #expect(try test.vault.allMatching(query.face(.hosts(["loan.example"]))).count == 1)
        try other.delete(matching: query)
        for name in ["Credit", "credit.example"] { #expect(try Self.found(test.vault, ItemName(name)) == []) }
        #expect(try test.vault.allMatching(query.face(.hosts(["loan.example", "credit.example"]))).isEmpty)
    }

    @Test func `a locked item or one that asks for a person ends the search`() throws {
        let test = try Self.vault()
        try test.vault.add(
            Item(
                .genericPassword(service: "Bank"),
                attributes: [
                    .accessGroup: "default",
                    .accessControl: .data(AccessControl(requiringPresence: .whenUnlocked).encoded),
                ], secret: "x"))
        #expect(throws: VaultError.presenceRequired) { try test.vault.copyMatching(Query(named: ItemName("Bank"))) }
        #expect(try test.vault.attended().copyMatching(Query(named: ItemName("Bank"))).count == 1)
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try test.vault.copyMatching(Query(named: ItemName("own"))) }
        #expect(throws: VaultError.itemNotFound) { try test.vault.copyMatching(Query(named: ItemName("nothing"))) }
    }

    @Test func `the secret comes with the only item`() throws {
        let test = try Self.vault()
        let vault = test.vault
        var query = Query(named: ItemName("own"))
        query.returnsSecrets = true
        #expect(try vault.copyMatching(query)[0].secret?.isEqual(to: "ada") == true)
        try vault.add(
            Item(.genericPassword(service: "own", account: "kim"), attributes: [.accessGroup: "default"], secret: "k"))
        let found = try vault.copyMatching(query)
        #expect(found.map(\.account) == ["kim", "ada"] && found.allSatisfy { $0.secret == nil })
        query.name = ItemName("own", id: found[1].record?.shortID(digits: 8))
        #expect(try vault.copyMatching(query).map(\.account) == ["ada"])
    }

    @Test func `a name changes nothing by itself`() throws {
        let test = try Self.vault()
        let vault = test.vault
        let query = Query(named: ItemName("own"))
        #expect(throws: VaultError.self) { try vault.delete(matching: query) }
        #expect(throws: VaultError.self) { try vault.update(matching: query, with: ItemChanges(secret: "x")) }
        #expect(throws: VaultError.parameter(.matchKey)) {
            try vault.delete(matching: Query(.genericPassword).face(.title("Shared")))
        }
        #expect(try Self.found(vault, ItemName("own")) == ["own ada"])
    }

    @Test func `ten thousand equal titles are one answer`() throws {
        let test = try TestVault(groups: ["default", "*"])
        try test.vault.transaction { transaction in
            for number in 0..<10_000 {
                try transaction.add(
                    Item(
                        .genericPassword(service: "s\(number)"),
                        attributes: [.accessGroup: "default", .label: "Same"]))
            }
        }
        #expect(try test.vault.copyMatching(Query(named: ItemName("Same"))).count == 10_000)
        #expect(try test.vault.copyMatching(Query(named: ItemName("s7"))).count == 1)
    }
}

extension Query {
    fileprivate func face(_ condition: FaceCondition) -> Query {
        var query = self
        query.face = condition
        return query
    }
}
