// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault

@testable import VaultBrowser
@testable import VaultDoorKit

/// The user's answers for the logins of a site.
struct BrowserConsentTests {
    @Test func `after a no the same owner's other hosts do not ask at once, and none gets a login`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        try client.house.vault.keep("example.org", "ada", "s3cret")
        client.house.says(.dismissed)
        let asked = client.house.questions.count
        for number in 0..<60 {
            #expect(try client.getLogins("https://\(number).example.com/").errorCode == "6")
        }
        #expect(client.house.questions.count == asked + 1)
        client.house.says(.done)
        #expect(try client.getLogins("https://www.example.com/").errorCode == "6")
        // Another owner is not held up.
        #expect(try client.getLogins("https://example.org/").logins == ["ada"])
        #expect(client.house.questions.count == asked + 2)
    }

    /// A page with a yes, and one that asks although it has the same host.
    @Test(arguments: [
        ("https://example.com/", "http://example.com/"), ("http://example.com/", "https://example.com/"),
        ("https://example.com/", "https://example.com:8443/"), ("https://example.com:8443/", "https://example.com/"),
        ("http://example.com:8080/", "http://example.com/"), ("http://localhost/", "http://localhost:8080/"),
        ("https://example.com:8443/", "http://example.com:8443/"),
    ])
    func `a yes is that of one scheme and port, and the next one asks`(known: String, other: String) throws {
        let client = try BrowserClient.associated()
        for url in [known, other] {
            let page = try #require(WebPage(url))
            try client.house.vault.add(
                Item(
                    .internetPassword(
                        server: page.host.text, account: url, protocol: page.scheme == "http" ? "http" : "htps",
                        port: page.port), secret: "s3cret"))
        }
        #expect(try client.getLogins(known).logins == [known])
        client.house.says(.dismissed)
        let asked = client.house.questions.count
        #expect(try client.getLogins(other).errorCode == "6")
        #expect(client.house.questions.count == asked + 1)
        #expect(client.house.questions.last?.description.contains { $0.contains(other.dropLast()) } == true)
        #expect(try client.getLogins(known).logins == [known])
        // Nor is the one-time password of the other one given.
        let uuid = try #require(try client.house.vault.logins(of: nil).first { $0.face.user == other }).uuid
        #expect(try client.send("get-totp", ["uuid": uuid]).errorCode == "6")
    }

    @Test(arguments: [
        ("example.com", "https://example.com/", true), ("example.com", "https://example.com:443/", true),
        ("localhost", "http://localhost/", true), ("127.0.0.1", "http://127.0.0.1/", true),
        ("example.com", "http://example.com/", false), ("example.com", "https://example.com:8443/", false),
        ("localhost", "http://localhost:8080/", false),
    ])
    func `an answer for a host alone is for https, and for http of this machine`(
        host: String, url: String, counts: Bool
    ) throws {
        let client = try BrowserClient.associated()
        let page = try #require(WebPage(url))
        for isAllowed in [true, false] {
            let word = isAllowed ? "yes" : "no"
            try client.house.vault.update(
                matching: Query(.genericPassword, service: BrowserAssociation.service),
                with: ItemChanges(userAttributes: ["vault.site:\(host)": word]))
            let found = try #require(try BrowserAssociation.find(client.id, in: client.house.vault))
            #expect(found.answer(for: page) == (counts ? isAllowed : nil))
        }
    }

    @Test func `answers are forgotten by URL, or all of a host`() throws {
        let client = try BrowserClient.associated()
        let vault = client.house.vault
        func association() throws -> BrowserAssociation {
            try #require(try BrowserAssociation.find(client.id, in: vault))
        }
        for url in ["https://a.example", "http://a.example", "https://a.example:8443", "https://b.example"] {
            try association().keep(true, for: try #require(WebPage(url)), in: vault)
        }
        #expect(
            try association().sites.keys.sorted() == [
                "a.example", "b.example", "http://a.example", "https://a.example:8443",
            ])
        for text in ["http://b.example", "https://a.example:1", "c.example", "example", "https://"] {
            #expect(try !association().forget(text, in: vault), "\(text)")
        }
        #expect(try association().forget("http://A.example/x", in: vault))
        #expect(try association().sites.keys.sorted() == ["a.example", "b.example", "https://a.example:8443"])
        #expect(try association().forget("A.example", in: vault))
        #expect(try association().sites.keys.sorted() == ["b.example"])
    }

    @Test func `a yes is that of one host, and the next one asks`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        let asked = client.house.questions.count
        for host in ["example.com", "www.example.com", "example.com", "www.example.com"] {
            #expect(try client.getLogins("https://\(host)/").logins == ["ada"])
        }
        #expect(client.house.questions.count == asked + 2)
        // The answers, not the rest, decide for a host that has one.
        client.house.says(.dismissed)
        #expect(try client.getLogins("https://new.example.com/").errorCode == "6")
        #expect(try client.getLogins("https://example.com/").logins == ["ada"])
    }
}
