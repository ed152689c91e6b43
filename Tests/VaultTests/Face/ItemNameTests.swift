// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Vault

struct ItemNameTests {
    private static func login(
        _ server: String, _ account: String, label: String? = nil, user: [String: String] = [:]
    ) -> Item {
        var item = Item(.internetPassword(server: server, account: account), userAttributes: user, secret: "x")
        item[.label] = label.map(AttributeValue.string)
        return item
    }

    private static let items = [
        Item(.genericPassword(service: "amazon", account: "ada"), attributes: [.label: "Books"], secret: "x"),
        login("www.amazon.example", "ada", label: "Shop"),
        login("amazon.example", "eve", label: "www.amazon.example"),
        login("mail.example", "bob~2"),
        Item(
            .genericPassword(service: "app", account: "kim~2"), attributes: [.label: "amazon"],
            userAttributes: ["vault.attributes": "user", "user": "kim"], secret: "x"),
    ]

    private static func found(_ name: ItemName) -> [String] {
        name.meant(among: items).map { "\(ItemFace($0).place) \($0.account ?? "")" }
    }

    @Test(arguments: ["", "Amazon", "AMAZON", "books", "amazon.", "shop ", "example", "https://", "*"])
    func `nothing is nearly the name of an item`(_ name: String) { #expect(Self.found(ItemName(name)) == []) }

    @Test func `the first rule that finds any decides`() {
        #expect(Self.found(ItemName("amazon")) == ["amazon ada"])
        #expect(Self.found(ItemName("www.amazon.example")) == ["www.amazon.example ada"])
        #expect(Self.found(ItemName("Books")) == ["amazon ada"])
        #expect(Self.found(ItemName("mail.example (bob~2)")) == ["mail.example bob~2"])
    }

    @Test(arguments: [
        "https://amazon.example/x?y", "AMAZON.example.", "http://www.amazon.example:443", "https://ada@Amazon.Example",
    ])
    func `a host is named in any spelling, with its www or without`(_ name: String) {
        #expect(Self.found(ItemName(name)) == ["www.amazon.example ada", "amazon.example eve"])
        #expect(Self.found(ItemName(name, [.place, .title])) == [])
    }

    @Test func `a rule that is not taken finds nothing`() {
        #expect(Self.found(ItemName("Books", .place)) == [])
        #expect(Self.found(ItemName("amazon", .title)) == ["app kim~2"])
        #expect(Self.found(ItemName("Shop", [.place, .host])) == [])
        #expect(ItemName("x").orderedRules == [.place, .title, .host])
        #expect(ItemName("x", .title).orderedRules == [.title])
    }

    @Test func `an account is the attribute or the user`() {
        for account in ["kim", "kim~2"] { #expect(Self.found(ItemName("app", account: account)) == ["app kim~2"]) }
        for account in ["", "Kim", "kim~3"] { #expect(Self.found(ItemName("app", account: account)) == []) }
        #expect(Self.found(ItemName("amazon.example", account: "ada", .host)) == ["www.amazon.example ada"])
        // An account decides about the rule, too.
        #expect(Self.found(ItemName("amazon", account: "kim")) == ["app kim~2"])
    }

    @Test func `canonically equivalent names are different ones`() throws {
        let item = Item(.genericPassword(service: "caf\u{e9}"))
        #expect(ItemName("cafe\u{301}").meant(among: [item]).isEmpty)
        #expect(ItemName("caf\u{e9}").meant(among: [item]).count == 1)
    }

    @Test func `an identifier is named by its first digits, in either case`() throws {
        let vault = try Vault.inMemory()
        let item = try vault.add(Item(.genericPassword(service: "s"), secret: "x"))
        let id = try #require(item.record).shortID(digits: 32)
        #expect(id.count == 32 && item.record?.shortID(digits: 8) == String(id.prefix(8)))
        for digits in [1, 8, 32] {
            #expect(ItemName("s", id: String(id.prefix(digits)).uppercased()).meant(among: [item]).count == 1)
        }
        for other in ["x", id + "0", String(id.dropFirst()) + "-"] {
            #expect(ItemName("s", id: other).meant(among: [item]).isEmpty)
        }
        // An item that no vault has stored has none.
        #expect(ItemName("amazon", id: "").meant(among: Self.items).isEmpty)
    }

    @Test func `the last changed item is the first, and of two of one time the newer`() throws {
        let test = try TestVault()
        for account in ["a", "b", "c"] { try test.vault.add(.generic("s", account)) }
        let query = Query(.genericPassword)
        #expect(try test.vault.copyMatching(query).lastChangedFirst.map(\.account) == ["c", "b", "a"])
        test.clock.advance(by: 5)
        try test.vault.update(
            matching: Query(.genericPassword, account: "b"), with: ItemChanges(attributes: [.label: "l"]))
        #expect(try test.vault.copyMatching(query).lastChangedFirst.map(\.account) == ["b", "c", "a"])
    }
}
