// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto

/// Additions of items. The names in parentheses are those of Apple's `kSecAttr…` values.
struct AddTests {
    @Test
    func `an item that lacks its class's attribute name, or gives a wrong type, is refused and nothing is stored`()
        throws
    {
        let test = try TestVault()
        let refused: [(Attribute, AttributeValue, VaultError)] = [
            (.server, "h", .noSuchAttribute("srvr")), (.port, 80, .noSuchAttribute("port")),
            (.account, true, .parameter(.attributeValue("acct"))),
            (.account, .date(.now), .parameter(.attributeValue("acct"))),
            (.label, .bool(false), .parameter(.attributeValue("labl"))),
            (.creationDate, "yesterday", .parameter(.attributeValue("cdat"))),
            (.creator, .data([1]), .parameter(.attributeValue("crtr"))),
            (.accessible, "bogus", .parameter(.attributeValue("pdmn"))),
            (.accessGroup, 5, .parameter(.attributeValue("agrp"))), (.accessGroup, "Z", .accessGroupDenied),
            (.accessGroup, "A.*", .accessGroupDenied), (.sha1, .data([1]), .parameter(.attributeValue("sha1"))),
        ]
        for (attribute, value, error) in refused {
            let item = try Item.generic("s", "a", "x", [attribute: value])
            #expect(throws: error, "\(attribute)") { try test.vault.add(item) }
        }
        #expect(throws: VaultError.itemNotFound) { try test.vault.copyMatching(Query(.genericPassword)) }
    }

    @Test func `an empty name of a user attribute is refused`() throws {
        let test = try TestVault()
        var item = try Item.generic("s", "a")
        item.userAttributes = ["": "v"]
        #expect(throws: VaultError.parameter(.userAttributeName)) { try test.vault.add(item) }
        item.userAttributes = [String(repeating: "n", count: 256): "v"]
        #expect(throws: VaultError.parameter(.userAttributeName)) { try test.vault.add(item) }
        item.userAttributes = [String(repeating: "n", count: 255): "v"]
        try test.vault.add(item)
    }

    @Test func `what is too large is refused before anything is written`() throws {
        let test = try TestVault()
        let large = Item(
            .genericPassword(service: "s"), secret: try Secret(bytes: [UInt8](repeating: 1, count: (16 << 20) + 1)))
        #expect(throws: VaultError.storage(.valueTooLarge)) { try test.vault.add(large) }
        let wordy = try Item.generic("s", "a", "x", [.comment: .string(String(repeating: "c", count: 65_536))])
        #expect(throws: VaultError.storage(.attributesTooLarge)) { try test.vault.add(wordy) }
        #expect(try test.directory.read("test.vault").count == 12288)
        try test.vault.add(
            Item(.genericPassword(service: "s"), secret: try Secret(bytes: [UInt8](repeating: 1, count: 16 << 20))))
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].withSecret { $0.count } == 16 << 20)
    }

    @Test func `an item gets the defaults of its class`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item(ItemKey(.genericPassword, [.account: "a"])))
        #expect(item[.service] == "")
        #expect(item[.accessible] == "ak")
        #expect(item[.accessGroup] == "A")
        #expect(item[.synchronizable] == .number(0))
        #expect(item[.label] == nil && item[.comment] == nil && item[.generic] == nil)
        #expect(item.record?.version == 1)
        #expect(item.record?.created == item.record?.modified)
        let key = try test.vault.add(Item(ItemKey(.key, [.applicationLabel: .data([1])])))
        for attribute in [Attribute.keyClass, .type, .creator, .keySizeInBits, .effectiveKeySize] {
            #expect(key[attribute] == .number(0))
        }
        #expect(key[.applicationTag] == "")
        #expect(key[.startDate] == .date(Date(timeIntervalSinceReferenceDate: 0)))
        let certificate = try test.vault.add(Item(.certificate(issuer: [1], serialNumber: [2]), secret: "der"))
        #expect(certificate[.accessible] == "dk")
    }

    @Test func `a new item keeps the dates that it brings, unless they lie ahead`() throws {
        let test = try TestVault()
        let dates = [1, 2, 1e12].map { AttributeValue.date(Date(timeIntervalSinceReferenceDate: $0)) }
        let item = try test.vault.add(
            Item.generic("s", "a", "x", [.creationDate: dates[0], .modificationDate: dates[1]]))
        #expect(item[.creationDate] == dates[0] && item[.modificationDate] == dates[1])
        let ahead = try test.vault.add(
            Item.generic("s", "b", "x", [.creationDate: dates[2], .modificationDate: dates[2]]))
        #expect(ahead[.creationDate] != dates[2] && ahead[.creationDate] == ahead[.modificationDate])
        // The modification date is the day of the change, unless the caller gives an earlier date that is later than
        // the creation.
        let key = ItemKey.genericPassword(service: "s", account: "a")
        let third = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 3))
        for (given, isKept) in [(third, true), (dates[1], false), (dates[2], false)] {
            try test.vault.update(
                matching: Query(key), with: ItemChanges(attributes: [.modificationDate: given], secret: "y"))
            #expect(try (test.vault.first(key)?[.modificationDate] == given) == isKept)
        }
    }

    @Test func `yes and no become numbers`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "x", [.isInvisible: true, .isNegative: false]))
        #expect(item[.isInvisible] == .number(1))
        #expect(item[.isNegative] == .number(0))
    }

    @Test func `a value keeps the caller's type`() throws {
        let test = try TestVault()
        try test.vault.add(Item(ItemKey(.internetPassword, [.server: .data(Array("string".utf8)), .account: 7])))
        let item = try test.vault.copyMatching(Query(.internetPassword, server: "string"))[0]
        #expect(item[.server] == .data(Array("string".utf8)))
        #expect(item[.account] == .number(7))
    }

    @Test func `no secret differs from an empty one`() throws {
        let test = try TestVault()
        try test.vault.add(Item(.genericPassword(service: "none")))
        try test.vault.add(Item.generic("empty", "", ""))
        #expect(try test.vault.copyMatching(Query(.genericPassword, service: "none"))[0].withSecret { $0.count } == nil)
        #expect(try test.vault.copyMatching(Query(.genericPassword, service: "empty"))[0].withSecret { $0.count } == 0)
    }

    @Test func `only the attributes of the primary key make items different`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "abc"))
        for twin in [
            try Item.generic(
                "s", "abc", "y", [.label: "other", .comment: "c", .generic: "g", .accessible: "ck", .creator: 1]),
            Item(ItemKey(.genericPassword, [.service: "s", .account: .data(Array("abc".utf8))])),
        ] {
            #expect(throws: VaultError.duplicateItem) { try test.vault.add(twin) }
        }
        try test.vault.add(Item.generic("s", "ABC"))
        try test.vault.add(Item.generic("s", "abc", "x", [.synchronizable: true]))
        try test.vault.add(Item.generic("s", "abc", "x", [.accessGroup: "B"]))
        try test.vault.add(Item(ItemKey(.genericPassword, [.service: "s"])))
        #expect(throws: VaultError.duplicateItem) { try test.vault.add(Item.generic("s", "")) }
    }

    @Test func `each attribute of an internet password's key makes another item`() throws {
        let test = try TestVault()
        let key: [Attribute: AttributeValue] = [
            .account: "a", .securityDomain: "d", .server: "h", .protocolName: "http", .authenticationType: "dflt",
            .port: 80, .path: "/",
        ]
        try test.vault.add(Item(ItemKey(.internetPassword, key)))
        for (attribute, other) in [
            (Attribute.port, AttributeValue.number(81)), (.path, "/x"), (.protocolName, "htps"),
            (.authenticationType, "form"),
            (.securityDomain, "e"), (.server, "i"), (.account, "b"),
        ] {
            try test.vault.add(Item(ItemKey(.internetPassword, key.merging([attribute: other]) { $1 })))
        }
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.add(Item(ItemKey(.internetPassword, key.merging([.port: "80", .label: "l"]) { $1 })))
        }
        #expect(test.vault.count(Query(.internetPassword)) == 8)
    }

    @Test func `a certificate and a key have keys of their own`() throws {
        let test = try TestVault()
        try test.vault.add(Item(.certificate(issuer: [1], serialNumber: [2]), secret: "one"))
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.add(Item(.certificate(issuer: [1], serialNumber: [2]), secret: "two"))
        }
        try test.vault.add(Item(.certificate(issuer: [1], serialNumber: [3])))
        try test.vault.add(Item(ItemKey(.key, [.applicationLabel: .data([1]), .creator: 1])))
        try test.vault.add(Item(ItemKey(.key, [.applicationLabel: .data([1]), .creator: 2])))
        #expect(throws: VaultError.noSuchAttribute("acct")) {
            try test.vault.add(Item(ItemKey(.certificate, [.account: "a"])))
        }
    }

    @Test func `set adds, then updates and keeps the identity`() throws {
        let test = try TestVault()
        let first = try test.vault.set(Item.generic("s", "a", "one", [.label: "L"]))
        let second = try test.vault.set(Item.generic("s", "a", "two"))
        #expect(second.record?.id == first.record?.id)
        #expect(second.record?.version == 2)
        #expect(second[.label] == "L")
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "two")
    }
}
