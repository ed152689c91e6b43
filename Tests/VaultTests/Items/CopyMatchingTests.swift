// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto

struct CopyMatchingTests {
    @Test func `a query that makes no sense is refused whether or not something would match`() throws {
        let test = try TestVault()
        var host = Query(.genericPassword)
        host.hostOrSubdomain = "h"
        var referenceAndMore = Query(persistentReference: Array("genp".utf8) + [UInt8](repeating: 0x40, count: 16))
        referenceAndMore.attributes[.account] = "a"
        let cases: [(Query, VaultError)] = [
            (Query(nil), .parameter(.classMissing)), (Query(.genericPassword, server: "h"), .noSuchAttribute("srvr")),
            (Query(.genericPassword, attributes: [.account: true]), .parameter(.attributeValue("acct"))),
            (Query(.genericPassword, attributes: [.creationDate: "x"]), .parameter(.attributeValue("cdat"))),
            (Query(.genericPassword, attributes: [.accessGroup: "Z"]), .accessGroupDenied),
            (Query(.genericPassword, attributes: [.accessible: "bogus"]), .parameter(.attributeValue("pdmn"))),
            (host, .unimplemented), (referenceAndMore, .parameter(.attributesWithReference)),
            (Query(persistentReference: Array("junk".utf8)), .parameter(.persistentReference)),
            (
                Query(persistentReference: Array("xxxx".utf8) + [UInt8](repeating: 0, count: 16)),
                .parameter(.persistentReference)
            ),
            (Query(persistentReference: Array("apls".utf8) + [UInt8](repeating: 0, count: 16)), .noSuchClass),
            (Query(persistentReference: Array("genp".utf8) + [UInt8](repeating: 0, count: 16)), .itemNotFound),
        ]
        for (query, error) in cases { #expect(throws: error) { try test.vault.copyMatching(query) } }
        #expect(throws: VaultError.accessGroupDenied) {
            try test.vault.withAccessGroups(AccessGroups([])).copyMatching(Query(.genericPassword))
        }
    }

    @Test func `attributes match exactly, by their bytes, and all together`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x", [.accessible: "ck", .creator: 7]))
        let found: [[Attribute: AttributeValue]] = [
            [:], [.account: "a"], [.account: .data([97])], [.service: "s", .account: "a"], [.accessible: "ck"],
            [.creator: "7"],
            [.synchronizable: 0], [.synchronizable: false], [.accessGroup: "A"],
        ]
        for attributes in found {
            #expect(test.vault.count(Query(.genericPassword, attributes: attributes)) == 1, "\(attributes)")
        }
        let missed: [[Attribute: AttributeValue]] = [
            [.account: "A"], [.account: "a "], [.accessible: "ak"], [.service: "s", .account: "b"], [.label: ""],
            [.creator: "07"],
            [.synchronizable: true], [.accessGroup: "B"], [.tombstone: 1],
        ]
        for attributes in missed {
            #expect(test.vault.count(Query(.genericPassword, attributes: attributes)) == 0, "\(attributes)")
        }
        #expect(test.vault.count(Query(.internetPassword, account: "a")) == 0)
    }

    @Test func `an account left out is the empty one`() throws {
        let test = try TestVault()
        try test.vault.add(Item(ItemKey(.genericPassword, [.service: "s"])))
        #expect(test.vault.count(Query(.genericPassword, account: "")) == 1)
    }

    @Test func `a number equals its four bytes, and a larger one equals itself alone`() throws {
        let test = try TestVault()
        try test.vault.add(Item(ItemKey(.genericPassword, [.account: 5])))
        #expect(test.vault.count(Query(.genericPassword, attributes: [.account: .data([5, 0, 0, 0])])) == 1)
        #expect(test.vault.count(Query(.genericPassword, attributes: [.account: "5"])) == 0)
        #expect(test.vault.count(Query(.genericPassword, attributes: [.account: .number(5 + 1 << 32)])) == 0)
    }

    @Test func `items come in the order of their creation and up to the limit`() throws {
        let test = try TestVault()
        for name in ["c", "a", "b"] { try test.vault.add(Item.generic("s", name)) }
        func accounts(_ limit: Query.Limit?) -> [String] {
            ((try? test.vault.copyMatching(Query(.genericPassword, service: "s", limit: limit))) ?? []).compactMap {
                $0[.account]?.text
            }
        }
        #expect(accounts(nil) == ["c", "a", "b"])
        #expect(accounts(.all) == ["c", "a", "b"])
        #expect(accounts(.one) == ["c"])
        #expect(accounts(.count(2)) == ["c", "a"])
        #expect(accounts(.count(10)) == ["c", "a", "b"])
        #expect(accounts(.count(-1)) == ["c", "a", "b"])
        #expect(throws: VaultError.itemNotFound) {
            try test.vault.copyMatching(Query(.genericPassword, limit: .count(0)))
        }
        try test.vault.update(
            matching: Query(.genericPassword, account: "c"), with: ItemChanges(attributes: [.label: "L"]))
        try test.vault.compact()
        #expect(accounts(nil) == ["c", "a", "b"])
    }

    @Test func `a host matches itself and what is below it`() throws {
        let test = try TestVault()
        for server in ["example.com", "www.example.com", "notexample.com"] {
            try test.vault.add(Item(.internetPassword(server: server)))
        }
        var query = Query(.internetPassword)
        query.hostOrSubdomain = "example.com"
        #expect(
            try test.vault.copyMatching(query).compactMap { $0[.server]?.text } == ["example.com", "www.example.com"])
    }

    @Test func `a text is looked for in service, server, account and label`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("mail.example", "ada"))
        try test.vault.add(Item.generic("other", "grace", "x", [.label: "Example"]))
        var query = Query(.genericPassword)
        for (text, count) in [("example", 2), ("EXAMPLE", 2), ("mail.example", 1), ("ada", 1), ("none", 0)] {
            query.text = text
            #expect(test.vault.count(query) == count, "\(text)")
        }
    }

    @Test func `user attributes are searched by equality`() throws {
        let test = try TestVault()
        var item = try Item.generic("s", "a")
        item.userAttributes = ["env": "prod", "team": ""]
        try test.vault.add(item)
        #expect(test.vault.count(Query(.genericPassword, userAttributes: ["env": "prod"])) == 1)
        #expect(test.vault.count(Query(.genericPassword, userAttributes: ["env": "prod", "team": ""])) == 1)
        #expect(test.vault.count(Query(.genericPassword, userAttributes: ["env": "test"])) == 0)
        #expect(test.vault.count(Query(.genericPassword, userAttributes: ["none": ""])) == 0)
        try test.vault.update(
            matching: Query(.genericPassword), with: ItemChanges(userAttributes: ["env": "test", "team": nil]))
        #expect(
            try test.vault.copyMatching(Query(.genericPassword, userAttributes: ["env": "test"]))[0].userAttributes == [
                "env": "test"
            ])
    }

    @Test func `a persistent reference finds its item whatever became of it`() throws {
        let test = try TestVault()
        let reference = try #require(try test.vault.add(Item.generic("s", "a")).record?.persistentReference)
        #expect(reference.count == 20)
        #expect(Array(reference[..<4]) == Array("genp".utf8))
        try test.vault.update(
            matching: Query(.genericPassword),
            with: ItemChanges(attributes: [.service: "s2", .account: "b"], secret: "new"))
        try test.vault.compact()
        let item = try test.reopened().copyMatching(Query(persistentReference: reference))[0]
        #expect(item[.service] == "s2")
        #expect(item.record?.persistentReference == reference)
        #expect(throws: VaultError.itemNotFound) {
            try test.vault.withAccessGroups(AccessGroups(["C"])).copyMatching(Query(persistentReference: reference))
        }
        var other = Query(persistentReference: reference)
        other.itemClass = .internetPassword
        #expect(throws: VaultError.noSuchClass) { try test.vault.copyMatching(other) }
        other.itemClass = .genericPassword
        #expect(test.vault.count(other) == 1)
    }

    @Test func `an item of a group that is not the caller's does not exist`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x", [.accessGroup: "B"]))
        let other = test.vault.withAccessGroups(AccessGroups(["A", "C"]))
        #expect(other.count(Query(.genericPassword)) == 0)
        #expect(throws: VaultError.accessGroupDenied) {
            try other.delete(matching: Query(.genericPassword, attributes: [.accessGroup: "B"]))
        }
        #expect(throws: VaultError.itemNotFound) { try other.delete(matching: Query(.genericPassword)) }
        #expect(test.vault.withAccessGroups(AccessGroups(["*"])).count(Query(.genericPassword)) == 1)
        #expect(throws: VaultError.accessGroupDenied) {
            try other.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessGroup: "B"]))
        }
    }

    @Test func `what a query finds can be asked for again with all it returned`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "x", [.label: "L", .creator: 3, .comment: .data([0xff])]))
        #expect(test.vault.count(Query(.genericPassword, attributes: item.attributes)) == 1)
    }

    @Test func `a secret is read as it was found, or not at all`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "one"))
        #expect(try item.text == "one")
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.label: "L"]))
        #expect(try item.text == "one")
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "two"))
        #expect(throws: VaultError.itemChanged) { try item.text }
        try test.vault.delete(matching: Query(.genericPassword))
        #expect(throws: VaultError.itemNotFound) { try item.text }
    }

    @Test func `a locked vault refuses items that need it unlocked, and keeps the others`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "always", "ck", [.accessible: "ck"]))
        try test.vault.add(Item.generic("s", "unlocked", "ak"))
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try test.vault.copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.locked) { try test.vault.copyMatching(Query(.genericPassword, account: "unlocked")) }
        #expect(try test.vault.copyMatching(Query(.genericPassword, account: "always"))[0].text == "ck")
        #expect(throws: VaultError.itemNotFound) {
            try test.vault.copyMatching(Query(.genericPassword, account: "none"))
        }
        // Locked takes precedence over duplicate.
        #expect(throws: VaultError.locked) { try test.vault.add(Item.generic("s", "unlocked")) }
        #expect(throws: VaultError.locked) {
            try test.vault.update(
                matching: Query(.genericPassword, account: "unlocked"), with: ItemChanges(secret: "y"))
        }
        try test.vault.add(Item.generic("s", "new", "x", [.accessible: "ck"]))
        #expect(try test.vault.delete(matching: Query(.genericPassword, account: "unlocked")) == 1)
    }

    @Test func `two items of one key, in two groups, are each locked by their own class`() throws {
        let test = try TestVault()
        for (group, accessible) in [("A", "ak"), ("B", "ck")] {
            try test.vault.add(
                Item.generic("s", "a", group, [.accessGroup: .string(group), .accessible: .string(accessible)]))
        }
        try test.vault.lock()
        let (a, b) = (test.vault.withAccessGroups(["A"]), test.vault.withAccessGroups(["B"]))
        let query = Query(.genericPassword)
        #expect(throws: VaultError.locked) { try a.copyMatching(query) }
        #expect(try b.copyMatching(query).map { try $0.text } == ["B"])
        #expect(try a.lockedCount(matching: query) == 1 && b.lockedCount(matching: query) == 0)
        // A locked vault moves no item into or out of a group whose class key it lacks.
        #expect(throws: VaultError.locked) {
            try test.vault.update(
                matching: Query(.genericPassword, attributes: [.accessGroup: "A"]),
                with: ItemChanges(attributes: [.accessGroup: "B"]))
        }
    }

    @Test func `a number is no text to look for, whatever its bytes spell`() throws {
        let vault = try Vault.inMemory()
        try vault.add(Item(.genericPassword(service: "numbers"), attributes: [.account: 97, .label: .real(2.5)]))
        try vault.add(Item(.genericPassword(service: "numbers", account: "a")))
        var query = Query(.genericPassword)
        for (text, count) in [("a", 1), ("@", 0), ("\u{4}", 0), ("num", 2)] {
            query.text = text
            #expect(vault.count(query) == count, "\(text)")
        }
    }

    @Test func `the oldest item that matches is the one of a query for one, in whatever order they came`() throws {
        let vault = try Vault.inMemory()
        for account in ["c", "a", "b"] { try vault.add(.generic("one", account, account)) }
        try vault.update(
            matching: Query(.genericPassword, service: "one", account: "c"),
            with: ItemChanges(attributes: [.label: "l"]))
        for query in [Query(.genericPassword), Query(.genericPassword, service: "one")] {
            var query = query
            query.limit = .one
            #expect(try vault.copyMatching(query).map { $0[.account] } == ["c"])
            query.limit = .count(2)
            #expect(try vault.copyMatching(query).map { $0[.account] } == ["c", "a"])
        }
    }
}
