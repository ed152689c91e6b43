// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import Vault

/// The attributes by which programs on the bus find items.
struct ProgramAttributesTests {
    private func given(_ values: [String: String]) -> ProgramAttributes { ProgramAttributes(given: values) }

    private static let network = "org.gnome.keyring.NetworkPassword"

    private static func generic(
        _ user: [String: String] = [:], service: String = "mail", account: String = "ada", label: String? = nil
    ) -> Item {
        Item(
            .genericPassword(service: service, account: account),
            attributes: label.map { [.label: .string($0)] } ?? [:], userAttributes: user)
    }

    private static func internet(_ user: [String: String] = [:]) -> Item {
        Item(
            .internetPassword(server: "git.example", account: "ada", protocol: "htps", port: 8443), userAttributes: user
        )
    }

    // MARK: Views

    @Test(
        arguments: [
            // A person's attributes are served beside the derived ones, and hide none of them.
            (generic(["tag": "x"]), ["service": "mail", "username": "ada", "tag": "x"], false),
            (generic(["service": "other", "username": "eve"]), ["service": "mail", "username": "ada"], false),
            (
                generic([
                    "vault.import": "bitwarden:1", "folder": "f", "tags": "a\nb", "url": "u", "url.2": "u",
                    "formAction": "f", "favorite": "1",
                ]), ["service": "mail", "username": "ada"], false
            ),
            (
                generic(["vault.made": "command", "xdg:schema": "x"]),
                ["service": "mail", "username": "ada", "xdg:schema": "x"], false
            ),
            (
                internet(["xdg:schema": "x", "user": "eve", "note": "n"]),
                [
                    "protocol": "https", "server": "git.example", "port": "8443", "user": "ada", "xdg:schema": network,
                    "note": "n",
                ], false
            ),
            // A program's attributes are served alone.
            (
                generic([
                    "service": "mail", "appid": "1", "tag": "x", "vault.attributes": "appid\nservice",
                    "vault.made": "program",
                ]), ["service": "mail", "appid": "1"], true
            ),
            (generic(["a b": "1", "vault.attributes": "a%20b"]), ["a b": "1"], true),
            (generic(["k": "v", "vault.attributes": ""]), [:], true),
            // Items of earlier versions have no mark.
            (generic(["xdg:schema": "x", "k": "v", "vault.content-type": "t"]), ["xdg:schema": "x", "k": "v"], true),
            (
                generic(["service": "mail", "username": "ada", "k": "v"], account: "ada~2"),
                ["service": "mail", "username": "ada", "k": "v"], true
            ),
            (generic(["vault.import": "secret-service:login/1", "folder": "Login", "k": "v"]), ["k": "v"], true),
        ] as [(Item, [String: String], Bool)])
    func `programs see what a program has set, else what the item is`(
        item: Item, values: [String: String], areGiven: Bool
    ) {
        let attributes = ProgramAttributes(of: item)
        #expect(attributes.values == values)
        #expect(attributes.areGiven == areGiven)
    }

    @Test func `what a program stores again is what it gave, or what the item is without a person's attributes`() {
        let mine = given(["service": "mail", "username": "ada"])
        #expect(ProgramAttributes(of: Self.generic(["tag": "x"])).areStored(againWith: mine))
        #expect(!ProgramAttributes(of: Self.generic(["tag": "x"])).areStored(againWith: given(["service": "mail"])))
        let made = Self.generic(given(["k": "v"]).stored.merging(["tag": "x"]) { $1 })
        #expect(ProgramAttributes(of: made).areStored(againWith: given(["k": "v"])))
        #expect(!ProgramAttributes(of: made).areStored(againWith: given(["k": "v", "tag": "x"])))
        #expect(!given(["k": "\u{e9}"]).areStored(againWith: given(["k": "e\u{301}"])))
    }

    @Test func `the generic schema is none, and any other is one`() {
        let generic = ["k": "v", "xdg:schema": "org.freedesktop.Secret.Generic"]
        let (plain, other) = (["k": "v"], ["k": "v", "xdg:schema": "x"])
        #expect(given(generic).areStored(againWith: given(plain)) && !given(plain).areStored(againWith: given(other)))
        #expect(given(plain).areFound(by: generic) && !given(other).areFound(by: generic))
        #expect(given(other).areFound(by: plain))
    }

    // MARK: Keys

    @Test func `service and account come of the first name that there is`() {
        #expect(given(["domain": "d", "server": "s"]).service(label: "L") == "s")
        #expect(given(["xdg:schema": "x", "service": ""]).service(label: "L") == "x")
        #expect(given([:]).service(label: "L") == "L")
        #expect(given([:]).service(label: HiddenItems.collectionService) == "")
        #expect(given(["login": "l", "user": "u"]).account == "u")
        #expect(given([:]).account == "")
    }

    @Test func `an account that was made unique still comes of the attributes`() {
        let ada = given(["username": "ada"])
        for account in ["ada", "ada~2", "ada~17"] { #expect(ada.gave(account: account)) }
        for account in ["adam", "ada~", "ada~x", "eve", ""] { #expect(!ada.gave(account: account)) }
    }

    // MARK: Changes

    @Test func `a program's attributes replace its own, and leave a person's`() {
        let item = Self.generic(
            given(["service": "mail", "username": "ada", "old": "1"]).stored.merging(["tag": "x"]) { $1 })
        let changes = given(["service": "post", "username": "ada"]).changes(of: item)
        #expect(changes.userAttributes["old"] == .some(nil) && changes.userAttributes.index(forKey: "tag") == nil)
        #expect(changes.userAttributes["vault.attributes"] == "service\nusername")
        #expect(changes.userAttributes["vault.made"] == "program")
        #expect(changes.attributes == [.service: "post", .account: "ada"])
        // A person has renamed the item.
        #expect(
            given(["service": "post"]).changes(of: Self.generic(given(["service": "mail"]).stored, account: "eve"))
                .attributes.isEmpty)
    }

    @Test func `attributes that are derived change what they come from`() {
        let changes = given(["server": "new.example", "protocol": "ftp", "port": "x", "user": "ada", "note": "n"])
            .changes(of: Self.internet(["gone": "1"]))
        #expect(changes.attributes == [.server: "new.example", .protocolName: "ftp "])
        #expect(changes.userAttributes == ["gone": nil, "note": "n"])
    }

    // MARK: The index

    @Test func `a search finds exactly the items that have the attributes, wherever they come from`() throws {
        let test = try TestVault()
        var random = Numbers(state: 7)
        let (names, values) = (
            ["service", "username", "user", "server", "port", "protocol", "xdg:schema", "k"], ["1", "2", "https"]
        )
        func some() -> [String: String] {
            Dictionary(
                names.filter { _ in Bool.random(using: &random) }.map { ($0, values.randomElement(using: &random)!) }
            ) { $1 }
        }
        var items: [Item] = []
        for number in 0..<120 {
            let user = Bool.random(using: &random) ? some() : given(some()).stored
            let key: ItemKey =
                Bool.random(using: &random)
                ? .genericPassword(
                    service: ["1", "2", ""].randomElement(using: &random)!, account: "\(number % 3)")
                : .internetPassword(
                    server: ["1", "2"].randomElement(using: &random)!, account: "\(number % 3)", protocol: "htps",
                    port: number)
            if let added = try? test.vault.add(Item(key, userAttributes: user)) { items.append(added) }
        }
        for _ in 0..<300 {
            let wanted = some()
            for itemClass in [ItemClass.genericPassword, .internetPassword] {
                var query = Query(itemClass, limit: .all)
                query.face = .program(wanted)
                let found = (try? test.vault.copyMatching(query)) ?? []
                let expected = items.filter {
                    $0.itemClass == itemClass && ProgramAttributes(of: $0).areFound(by: wanted)
                }
                #expect(found.map(\.record?.id) == expected.map(\.record?.id), "\(wanted)")
            }
        }
    }
}

/// Numbers that are the same in every run.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
