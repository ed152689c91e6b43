// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Vault

struct ItemFaceTests {
    private static func generic(
        _ service: String, _ account: String = "", _ attributes: [Attribute: AttributeValue] = [:],
        user: [String: String] = [:]
    ) -> ItemFace {
        ItemFace(
            Item(.genericPassword(service: service, account: account), attributes: attributes, userAttributes: user))
    }

    private static func internet(
        _ server: String, _ account: String = "", protocol name: String? = nil, port: Int? = nil, path: String? = nil,
        user: [String: String] = [:]
    ) -> ItemFace {
        ItemFace(
            Item(
                .internetPassword(server: server, account: account, protocol: name, port: port, path: path),
                userAttributes: user))
    }

    // MARK: Title

    @Test func `a title is never empty`() {
        #expect(Self.generic("").title == "password")
        #expect(Self.generic("", "", [.itemDescription: "card", .label: ""]).title == "card")
        #expect(Self.generic("", "ada").title == "ada")
        #expect(ItemFace(Item(.key(applicationLabel: [1]))).title == "key")
        #expect(ItemFace(Item(.certificate(issuer: [1], serialNumber: [2]))).title == "certificate")
    }

    @Test func `a title is the label, else the place with the user`() {
        #expect(Self.generic("s", "a", [.label: "L"]).title == "L")
        #expect(Self.generic("s").title == "s")
        #expect(Self.internet("h.example", "a").title == "h.example (a)")
    }

    // MARK: Host and URLs

    @Test(arguments: [
        ("word", nil), ("two words", nil), ("host.example", "host.example"), ("HOST.Example.", "host.example"),
        ("https://u@host.example:8/x", "host.example"), ("https://word/", "word"), ("10.0.0.1", "10.0.0.1"),
        ("[::1]:80", "[0:0:0:0:0:0:0:1]"), ("", nil),
    ])
    func `a service is a host if it cannot be anything else`(_ service: String, _ host: String?) {
        #expect(Self.generic(service).host?.text == host)
    }

    @Test func `an imported attachment is for no page, and a path of that name is`() {
        #expect(Self.generic("g.example/attachment", user: ["vault.import": "bitwarden:1/a.txt"]).places == [])
        #expect(Self.generic("g.example/attachment").host?.text == "g.example")
    }

    @Test func `the host is the server's, else that of the first URL, else the service's`() {
        let urls = ["url.2": "https://b.example", "url": "https://a.example/"]
        #expect(Self.internet("s.example", user: urls).host?.text == "s.example")
        #expect(Self.generic("g.example", user: urls).host?.text == "a.example")
        let hosts = Self.generic("g.example", user: urls).places.map(\.host.text)
        #expect(hosts == ["a.example", "b.example", "g.example"])
        #expect(Self.generic("g.example", user: ["url": "no address"]).host?.text == "g.example")
    }

    @Test func `URLs are those of the server and as they were written, in the order of their numbers`() {
        let further = ["url.10": "https://c.example", "url.2": "https://b.example", "url.x": "https://no.example"]
        #expect(
            Self.internet("s.example", protocol: "htps", port: 8443, path: "/p", user: further).urls == [
                "https://s.example:8443/p", "https://b.example", "https://c.example",
            ])
        // The server is written with its host.
        let written = Self.internet("s.example", protocol: "htps", path: "/p", user: ["url": "https://s.example/p?q#f"])
        #expect(written.urls == ["https://s.example/p?q#f"])
        let other = ["url": "https://other.example/"]
        #expect(Self.internet("s.example", user: other).urls == ["s.example", "https://other.example/"])
        #expect(Self.generic("s.example").urls == ["https://s.example"] && Self.generic("word").urls == [])
        #expect(Self.internet("s.example", protocol: "htps", path: "git/p").urls == ["https://s.example/git/p"])
    }

    // MARK: Other parts

    @Test func `the user is what the program gave, without the number of a further item`() {
        let given = ["vault.attributes": "username", "username": "bob"]
        #expect(Self.generic("s", "bob~2", user: given).user == "bob")
        #expect(Self.generic("s", "bob~x", user: given).user == "bob~x")
        #expect(Self.generic("s", "changed", user: given).user == "changed")
        #expect(Self.generic("s", "bob~2").user == "bob~2")
        #expect(Self.generic("s", "bob~2", user: ["username": "bob"]).user == "bob~2")
    }

    @Test func `what is empty is absent, and tags are lines`() {
        let user = ["folder": "", "tags": "a\n\nb c"]
        let face = Self.generic("s", "a", [.comment: "", .itemDescription: ""], user: user)
        #expect(face.comment == nil && face.kind == nil && face.folder == nil && face.made == nil)
        #expect(face.tags == ["a", "b c"])
    }

    @Test func `the other attributes are those without a name of their own`() {
        let user = [
            "vault.import": "x:1", "vault.content-type": "t", "folder": "f", "tags": "t", "url": "u", "url.2": "v",
            "url.match": "host", "team": "web", "a": "1",
        ]
        #expect(Self.generic("s", user: user).others.map(\.name) == ["a", "team", "url.match"])
    }

    // MARK: Secrets

    @Test func `an item with nothing but fields has no secret, and an empty one without fields is one`() throws {
        let vault = try Vault.inMemory()
        for (service, secret, fields) in [
            ("card", nil, ["number": "1"]), ("empty", "", [:]), ("none", nil, [:]), ("both", "x", ["number": "1"]),
        ] as [(String, Secret?, [String: Secret])] {
            try vault.add(Item(.genericPassword(service: service), secret: secret, fields: fields))
            let item = try #require(try vault.copyMatching(Query(.genericPassword, service: service)).first)
            let found = try ItemFace(item).openedSecret()?.secretString()
            #expect(found == ["empty": "", "both": "x"][service], "\(service)")
        }
    }

    @Test(arguments: ["letmein", "hunter2", "np", "GEZDGNBVGY3TQOJQ", "OTPAUTH://totp/x?secret=A", " otpauth://totp/"])
    func `no password is read as a seed`(_ secret: String) throws {
        let item = Item(.genericPassword(service: "s"), secret: try Secret(text: secret))
        #expect(try ItemFace(item).oneTimePasswordSeed() == nil)
    }

    @Test func `a seed is the field, else a secret that is its URI`() throws {
        let uri: Secret = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ"
        let inSecret = Item(.genericPassword(service: "s"), secret: uri)
        #expect(try ItemFace(inSecret).oneTimePasswordSeed()?.secretString() == uri.secretString())
        let inField = Item(.genericPassword(service: "s"), secret: uri, fields: ["otp": "np"])
        #expect(try ItemFace(inField).oneTimePasswordSeed()?.secretString() == "np")
        #expect(try ItemFace(Item(.genericPassword(service: "s"))).oneTimePasswordSeed() == nil)
    }

    @Test func `a host is compared without www, which is a name of its own at the end`() throws {
        for (text, host) in [
            ("www.a.example", "a.example"), ("a.example", "a.example"), ("www.example", "www.example"),
            ("wwww.a.example", "wwww.a.example"),
        ] { #expect(try #require(WebPlace(text)).host.withoutWWW == host) }
    }
}
