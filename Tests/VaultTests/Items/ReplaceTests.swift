// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultCrypto

@testable import Vault

/// What a program stores again is one item.
struct ReplaceTests {
    private static let attributes = ["service": "mail", "username": "ada"]

    private static func item(
        _ secret: String, _ attributes: [String: String] = attributes, label: String = "",
        own: [Attribute: AttributeValue] = [:], fields: [String: Secret] = [:]
    ) throws -> Item {
        let given = ProgramAttributes(given: attributes)
        return Item(
            .genericPassword(service: given.service(label: label), account: given.account),
            attributes: own.merging([.label: .string(label)]) { $1 }, userAttributes: given.stored,
            secret: try Secret(text: secret), fields: fields)
    }

    @discardableResult
    private static func store(
        _ secret: String, in vault: Vault, _ attributes: [String: String] = attributes, label: String = ""
    ) throws -> ReplacedItem {
        try vault.replace(item(secret, attributes, label: label), sameAs: attributes)
    }

    /// Adds an item as earlier versions did, which looked for it first.
    private static func twin(
        _ secret: String, in vault: Vault, _ own: [Attribute: AttributeValue] = [:], fields: [String: Secret] = [:]
    ) throws {
        _ = try vault.replace(item(secret, own: own, fields: fields), sameAs: nil)
    }

    private static func secrets(_ vault: Vault) throws -> [String] {
        var query = Query(.genericPassword, service: "mail")
        query.returnsSecrets = true
        return try vault.versions(matching: query).map {
            String(decoding: $0.item.secret?.exposed ?? [], as: UTF8.self)
        }
    }

    @Test func `a store changes the item of the same attributes, of that group alone`() throws {
        let test = try TestVault()
        let vault = test.vault
        let first = try Self.store("one", in: vault)
        let other = try vault.replace(
            Self.item("other", own: [.accessGroup: "B"]), sameAs: Self.attributes)
        #expect(other.item.record?.id != first.item.record?.id && other.item.account == "ada")
        let again = try Self.store("two", in: vault, label: "Mail")
        #expect(again.item.record?.id == first.item.record?.id && again.item.label == "Mail")
        let more = try Self.store("more", in: vault, Self.attributes.merging(["k": "v"]) { $1 })
        #expect(more.item.account == "ada~2")
        #expect(try Self.store("new", in: vault, Self.attributes.merging(["k": "w"]) { $1 }).item.account == "ada~3")
    }

    @Test func `a store that changes nothing is no version, but moves the item in front of newer ones`() throws {
        let test = try TestVault()
        let vault = test.vault
        let first = try #require(try Self.store("one", in: vault).item.record)
        test.clock.advance(by: 5)
        #expect(try Self.store("one", in: vault).item.record?.version == first.version)
        let newer = try #require(
            try Self.store("newer", in: vault, Self.attributes.merging(["appid": "2"]) { $1 }).item.record)
        test.clock.advance(by: 5)
        let again = try #require(try Self.store("one", in: vault).item.record)
        #expect(again.modified > newer.modified)
        var query = Query(.genericPassword, limit: .all)
        query.face = .program(Self.attributes)
        #expect(try vault.copyMatching(query).lastChangedFirst.first?.record?.id == first.id)
        #expect(try Self.secrets(vault).filter { $0 == "one" }.count == 1)
    }

    @Test func `of twins the last changed one is kept, with what the others had`() throws {
        let test = try TestVault()
        let vault = test.vault
        try vault.setHistoryLimit(10)
        for secret in ["a", "b", "c"] {
            try Self.twin(secret, in: vault)
            test.clock.advance(by: 1)
        }
        try vault.update(
            matching: Query(.genericPassword, service: "mail", account: "ada"), with: ItemChanges(secret: "a2"))
        let stored = try Self.store("new", in: vault)
        #expect(stored.item.account == "ada" && stored.leftCount == 0)
        #expect(try vault.copyMatching(Query(.genericPassword, service: "mail")).count == 1)
        #expect(try Self.secrets(vault) == ["new", "a2", "c", "b", "a2", "a"])
    }

    @Test func `twins that differ in more than their content are left, and counted`() throws {
        let test = try TestVault()
        let vault = test.vault
        try vault.setHistoryLimit(10)
        let control = AttributeValue.data(AccessControl(.whenUnlocked, constraints: 1).encoded)
        try Self.twin("synchronizable", in: vault, [.synchronizable: 1])
        try Self.twin("class", in: vault, [.accessible: "ck"])
        try Self.twin("fields", in: vault, fields: ["pin": "1234"])
        try Self.twin("protected", in: vault, [.accessControl: control])
        test.clock.advance(by: 1)
        try Self.twin("newest", in: vault)
        let stored = try Self.store("new", in: vault)
        #expect(stored.leftCount == 4)
        let items = try vault.withViewer(Viewer(AccessGroups(["A", "B"]), isAttended: true))
            .copyMatching(Query(.genericPassword, service: "mail"))
        #expect(
            try items.map { String(decoding: try $0.openedSecret()?.exposed ?? [], as: UTF8.self) }
                == ["synchronizable", "class", "fields", "protected", "new"])
    }

    @Test func `twins stay where no history would keep what they had`() throws {
        let test = try TestVault()
        let vault = test.vault
        try vault.setHistoryLimit(0)
        try Self.twin("a", in: vault)
        try Self.twin("b", in: vault)
        #expect(try Self.store("new", in: vault).leftCount == 1)
    }

    @Test func `a person's item gets the secret, and stays the person's`() throws {
        let test = try TestVault()
        let vault = test.vault
        try vault.add(
            Item(
                .genericPassword(service: "mail", account: "ada"), attributes: [.label: "My mail"],
                userAttributes: ["tag": "x", "vault.made": "command"], secret: "old"))
        let stored = try Self.store("new", in: vault)
        #expect(stored.item.userAttributes == ["tag": "x", "vault.made": "command"])
        #expect(stored.item.label == "My mail")
        #expect(try stored.item.openedSecret()?.exposed == Array("new".utf8))
    }

    @Test(arguments: [2, 16])
    func `programs that store one login at the same moment make one item`(count: Int) throws {
        let test = try TestVault(waits: true)
        // Each has the file open on its own, as another process has.
        let vaults = try (0..<count).map { _ in try test.reopened() }
        for round in 0..<20 {
            let attributes = Self.attributes.merging(["round": "\(round)"]) { $1 }
            try atOnce(count) { number in
                _ = try Self.store("\(number)", in: vaults[number], attributes)
            }
            #expect(
                try test.vault.copyMatching(
                    Query(.genericPassword, userAttributes: ["round": "\(round)"])
                ).count == 1)
        }
    }
}
