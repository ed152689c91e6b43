// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault

@testable import VaultBrowser

/// The logins of a page among many.
struct BrowserPageTests {
    private let client: BrowserClient

    init() throws { client = try BrowserClient.associated() }

    private var vault: Vault { client.house.vault }

    /// Stores logins of hosts of their own.
    private func fill(_ numbers: Range<Int>, host: (Int) -> String = { "host\($0).example" }) throws {
        try vault.store(
            numbers.map { number in
                Item(.internetPassword(server: host(number), account: "ada\(number)", protocol: "htps"), secret: "x")
            }, replacing: false)
    }

    /// Returns the shortest time of some runs.
    private func time(runs: Int = 5, _ body: () throws -> Void) throws -> Duration {
        var least = Duration.seconds(60)
        for _ in 0..<runs {
            let start = ContinuousClock.now
            try body()
            least = min(least, ContinuousClock.now - start)
        }
        return least
    }

    @Test func `a page looks at no login of another host, be there none or one of its own`() throws {
        try fill(0..<5000)
        #expect(try client.getLogins("https://www.host77.example/").logins == ["ada77"])
        // Within the same machine and load, all of them are the measure.
        let all = try time { _ = try vault.logins(of: nil) }
        #expect(try client.getLogins("https://none.example/").errorCode == "15")
        let none = try time { _ = try client.getLogins("https://none.example/") }
        let one = try time { _ = try client.getLogins("https://www.host77.example/") }
        #expect(none < all / 8 && one < all / 8, "\(none) and \(one), and all \(all)")
        // A change is in the index at once.
        try fill(5000..<5001)
        var found: [String] = []
        let changed = try time(runs: 1) { found = try client.getLogins("https://www.host77.example/").logins }
        #expect(found == ["ada77"])
        #expect(try client.getLogins("https://host5000.example/").logins == ["ada5000"])
        #expect(changed < all / 2, "\(changed), and all \(all)")
    }

    @Test func `many logins of one host are no burden to another`() throws {
        try fill(0..<3000) { _ in "one.example" }
        try vault.keep("two.example", "grace", "x")
        let query = Query(.internetPassword, account: "ada7", server: "one.example")
        let all = try time { _ = try vault.logins(of: nil) }
        #expect(try client.getLogins("https://two.example/").logins == ["grace"])
        let other = try time { _ = try client.getLogins("https://two.example/") }
        #expect(other < all / 8, "\(other), and all \(all)")
        // Moved away, changed and deleted.
        try vault.update(matching: query, with: ItemChanges(attributes: [.server: "two.example"]))
        #expect(try client.getLogins("https://two.example/").logins == ["ada7", "grace"])
        try vault.delete(matching: Query(.internetPassword, account: "ada7"))
        try vault.delete(matching: Query(.internetPassword, server: "one.example"))
        #expect(try client.getLogins("https://one.example/").errorCode == "15")
        #expect(try client.getLogins("https://two.example/").logins == ["grace"])
    }

    @Test func `of a host's logins the last changed comes first`() throws {
        for name in ["ada", "bob", "eve"] { try vault.keep("example.com", name, "old") }
        try vault.update(
            matching: Query(.internetPassword, account: "bob", server: "example.com"), with: ItemChanges(secret: "new"))
        #expect(try client.getLogins("https://example.com/").logins == ["bob", "eve", "ada"])
    }

    @Test func `a login is found by each of its URLs, and is named and shelved as everywhere`() throws {
        try vault.add(
            Item(
                .genericPassword(service: "Bank", account: "ada"),
                userAttributes: [
                    "url": "https://one.example/in", "url.2": "https://two.example", "url.match": "never.example",
                    "folder": "Money",
                ], secret: "x"))
        for host in ["one.example", "www.two.example"] {
            let entry = try #require(try client.getLogins("https://\(host)/").entries.first)
            #expect(entry["name"] as? String == "Bank (ada)" && entry["group"] as? String == "Money")
        }
        #expect(try client.getLogins("https://never.example/").errorCode == "15")
    }

    @Test func `what is saved tells that a browser made it`() throws {
        #expect(try client.setLogin("https://example.com", "ada", "x").errorCode == nil)
        let item = try #require(try vault.first(Query(.internetPassword)))
        #expect(Maker(of: item) == .browser)
    }
}
