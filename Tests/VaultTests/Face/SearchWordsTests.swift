// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Vault

struct SearchWordsTests {
    private static let item = Item(
        .internetPassword(server: "mail.example.com", account: "Ada", protocol: "htps", port: 8443, path: "/Login"),
        attributes: [.label: "Post für Zoë", .comment: "Door code\nis upstairs", .itemDescription: "Web login"],
        userAttributes: [
            "folder": "Work/Ελλάδα", "tags": "red\nStraße", "url": "https://other.example/x", "team": "Café",
            "vault.made": "command", "vault.import": "bitwarden:77",
        ], secret: "s3cret", fields: ["pin": "4711"])
    private static let text = SearchedText(ItemFace(item))

    @Test(arguments: ["s3cret", "4711", "pin", "command", "bitwarden", "vault.made", "folder", "tags", "mail nothing"])
    func `secrets, fields and what only the product uses are not looked at`(_ words: String) {
        #expect(!SearchWords(words).areIn(Self.text))
    }

    @Test(arguments: [
        "", " ", "POST", "zoe", "zo\u{eb}", "zoe\u{308}", "FUR", "f\u{fc}r", "ada", "mail.example", "upstairs door",
        "8443/login", "https://mail", "other.example/X", "work", "\u{3b5}\u{3bb}\u{3bb}\u{3b1}\u{3b4}\u{3b1}",
        "\u{395}\u{39b}\u{39b}\u{386}\u{394}\u{391}", "strasse", "stra\u{df}e", "team", "cafe", "CAFE\u{301}", "web",
        "  ada \t example\u{a0}red ",
    ])
    func `words are found in any part, in any order and spelling`(_ words: String) {
        #expect(SearchWords(words).areIn(Self.text))
    }

    @Test(arguments: ["\u{304c}", "\u{434}\u{306}"])
    func `marks that make another letter of a script stay, and those of Cyrillic do not`(_ letter: String) {
        let text = SearchedText(ItemFace(Item(.genericPassword(service: "\u{304b} \u{434}"))))
        #expect(SearchWords(letter).areIn(text) == (letter != "\u{304c}"))
    }

    @Test(arguments: [
        "upstirs", "uppstairs", "upstaixs", "xpstairs", "pustairs", "upsatirs", "exampel", "mial.example", "caffe",
        "loginn", "upstaits ada",
    ])
    func `one letter is forgiven`(_ words: String) {
        #expect(!SearchWords(words).areIn(Self.text) && SearchWords(words).areNearlyIn(Self.text))
    }

    @Test(arguments: ["xdb", "upstxixs", "tairz", "exampel nothing", "dxx", "47111"])
    func `two letters are not, nor a short word, nor the middle of one`(_ words: String) {
        #expect(!SearchWords(words).areNearlyIn(Self.text))
    }

    @Test func `each letter of a word may be the wrong one`() {
        let text = SearchedText(ItemFace(Item(.genericPassword(service: "github"))))
        let letters = Array("github")
        for place in letters.indices {
            var other = letters
            other[place] = "x"
            #expect(SearchWords(String(other)).areNearlyIn(text))
            var less = letters
            less.remove(at: place)
            #expect(SearchWords(String(less)).areNearlyIn(text))
            var more = letters
            more.insert("x", at: place)
            #expect(SearchWords(String(more)).areNearlyIn(text))
        }
    }

    @Test func `a vault finds by words what any part of an item has, of every class`() throws {
        let vault = try Vault.inMemory()
        try vault.add(Self.item)
        try vault.add(
            Item(.genericPassword(service: "a"), userAttributes: ["vault.attributes": "x", "x": "y"], secret: "ada"))
        for (words, count) in [("zoe ada", 1), ("CAFE 8443", 1), ("zoe qq", 0), ("vault", 0), ("", 1)] {
            var query = Query(.internetPassword)
            query.text = words
            #expect(try vault.copyMatching(orNone: query).count == count, "\(words)")
        }
        var query = Query(.genericPassword)
        query.text = "ada"
        #expect(try vault.copyMatching(orNone: query).isEmpty)
    }
}

extension ItemStore {
    fileprivate func copyMatching(orNone query: Query) throws -> [Item] {
        do { return try copyMatching(query) } catch VaultError.itemNotFound { return [] }
    }
}
