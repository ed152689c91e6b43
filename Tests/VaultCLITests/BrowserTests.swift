// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultCLI

/// The browser's view and actions, without a terminal.
struct BrowserTests {
    private func items(_ names: [(String, String)]) throws -> [Item] {
        let vault = try Vault.inMemory()
        try vault.store(
            try names.map { Item(.genericPassword(service: $0.0, account: $0.1), secret: try Secret(text: "x")) },
            replacing: false)
        return try vault.copyMatching(Query(.genericPassword))
    }

    private func text(_ rows: [Row]) -> [String] {
        rows.map { row in
            String(repeating: " ", count: row.indent)
                + row.parts.map { part in
                    switch part.part {
                    case .text(let text): text
                    case .secret(let secret): secret.secretString() ?? "?"
                    }
                }.joined()
        }
    }

    private func type(_ text: String, into browser: inout Browser) {
        for scalar in text.unicodeScalars { _ = browser.take(.character(scalar)) }
    }

    @Test(arguments: [(24, 80), (12, 40), (3, 10), (50, 300)])
    func `every screen is filled to its size and no further, whatever the names`(_ rows: Int, _ columns: Int) throws {
        var browser = Browser()
        browser.resize(rows: rows, columns: columns)
        browser.show([])
        #expect(browser.rows().count == rows)
        browser.show(
            try items([
                ("evil\u{1b}[2J\u{202e}name", "a\nb"), ("漢字サービス漢字サービス漢字サービス漢字サービス漢字サービス", "ünï"),
                (String(repeating: "long ", count: 40), String(repeating: "x", count: 200)), ("e\u{301}", ""),
                ("", "y"),
            ]))
        for key in [Key.down, .down, .end, .control("r"), .home, .pageDown, .control("d")] {
            _ = browser.take(key)
            let shown = text(browser.rows())
            #expect(shown.count == rows)
            for line in shown {
                #expect(line.cells <= columns, "\(line)")
                #expect(!line.unicodeScalars.contains { $0.isObeyed }, "\(line)")
            }
        }
    }

    @Test func `what is typed narrows the list, each word of it, and is taken back`() throws {
        var browser = Browser()
        browser.show(try items([("github.com", "ada"), ("gitlab.com", "bob"), ("mail", "ada"), ("Übung", "É")]))
        #expect(browser.count == 4)
        type("git ADA", into: &browser)
        #expect(browser.count == 1 && browser.selectedItem?.service == "github.com")
        for _ in 0..<4 { _ = browser.take(.backspace) }
        #expect(browser.count == 2 && browser.search == "git")
        _ = browser.take(.escape)
        type("üb é", into: &browser)
        #expect(browser.selectedItem?.service == "Übung")
        _ = browser.take(.control("u"))
        #expect(browser.search.isEmpty && browser.count == 4)
        type("nothing like it", into: &browser)
        #expect(browser.selectedItem == nil && text(browser.rows())[1].hasPrefix("Nothing matches"))
        for key in [Key.enter, .control("y"), .control("e"), .control("d"), .up, .down, .end] {
            #expect(browser.take(key) == nil)
        }
        type("\u{1b}\u{202e}", into: &browser)
        #expect(browser.search == "nothing like it")
    }

    @Test func `a wrong letter is forgiven where the search would find nothing`() throws {
        var browser = Browser()
        browser.show(try items([("github.com", "ada"), ("gitlab.com", "bob"), ("mail", "ada")]))
        for (typed, service) in [("gihtub", "github.com"), ("gitlsb ob", "gitlab.com"), ("mial ada", "mail")] {
            type(typed, into: &browser)
            #expect(browser.count == 1 && browser.selectedItem?.service == service, "\(typed)")
            _ = browser.take(.escape)
        }
        // With a result, nothing else is guessed; and two letters are too many.
        for (typed, count) in [("gith", 1), ("gxxhub", 0), ("mxl", 0)] {
            type(typed, into: &browser)
            #expect(browser.count == count, "\(typed)")
            _ = browser.take(.escape)
        }
    }

    @Test(arguments: [
        (30, ["Mail of work", "ada"]), (60, ["Mail of work", "ada"]), (80, ["Mail of work", "ada", "mail.example"]),
        (120, ["Mail of work", "ada", "mail.example", "behind the door"]),
    ])
    func `a row shows as many parts as there is room for`(_ columns: Int, _ parts: [String]) throws {
        let vault = try Vault.inMemory()
        try vault.add(
            Item(
                .internetPassword(server: "mail.example", account: "ada"),
                attributes: [.label: "Mail of work", .comment: "behind\nthe door"], secret: "x"))
        var browser = Browser()
        browser.resize(rows: 5, columns: columns)
        browser.show(try vault.copyMatching(Query(.internetPassword)))
        let row = try #require(text(browser.rows()).dropFirst().first)
        let cells = row.dropFirst(2).split(separator: "   ").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(cells.filter { !$0.isEmpty } == parts)
    }

    @Test func `what is selected stays so when the list changes, and is marked without colour`() throws {
        var browser = Browser()
        let all = try items([("a", "1"), ("b", "2"), ("c", "3")])
        browser.show(all)
        _ = browser.take(.down)
        #expect(text(browser.rows())[2].hasPrefix("> b"))
        browser.show(Array(all.reversed()))
        #expect(browser.selectedItem?.service == "b")
        browser.show([all[0]])
        #expect(browser.selectedItem?.service == "a")
    }

    @Test func `a delete is asked for, and only y does it`() throws {
        var browser = Browser()
        browser.show(try items([("a", "1")]))
        for key in [Key.character("n"), .enter, .escape, .character("x")] {
            #expect(browser.take(.control("d")) == nil)
            #expect(text(browser.rows()).last?.hasPrefix("Delete a, account 1? y/n") == true)
            #expect(browser.take(key) == nil && browser.search.isEmpty)
        }
        _ = browser.take(.control("d"))
        guard case .delete(let item)? = browser.take(.character("y")) else {
            Issue.record("it was not deleted")
            return
        }
        #expect(item.service == "a")
        guard case .undo? = browser.take(.control("z")) else {
            Issue.record("nothing was taken back")
            return
        }
    }

    @Test func `a secret is shown with its fields, wrapped and escaped, until the next key`() throws {
        var browser = Browser()
        browser.resize(rows: 12, columns: 40)
        browser.show(try items([("a", "1")]))
        let long = String(repeating: "0123456789", count: 10)
        browser.reveal([
            ("secret", try Secret(text: "one\ntwo\u{1b}[2J\ttabbed 漢字\u{202e}")), ("otp", try Secret(text: long)),
            ("marks", try Secret(text: "a" + String(repeating: "\u{301}", count: 2_000))),
            ("none", try Secret(text: "")),
            ("binary", try Secret(bytes: [0xFF, 0xFE])),
        ])
        var shown: [String] = []
        for _ in 0..<90 {
            let lines = text(browser.rows())
            #expect(lines.count == 12 && lines.allSatisfy { $0.cells <= 40 })
            shown += lines
            _ = browser.take(.down)
        }
        let all = shown.joined(separator: "\n")
        for expected in [
            "  one", "  two\\u{1b}[2J\\ttabbed 漢字\\u{202e}", "  01234567890123456789012345678901234567", "  (empty)",
            "  (2 bytes that are no text)",
        ] { #expect(all.contains(expected), "\(expected)") }
        _ = browser.take(.character("x"))
        #expect(text(browser.rows())[0].hasPrefix("Search:") && browser.search.isEmpty)
    }

    @Test func `ten thousand items are searched and drawn`() throws {
        var browser = Browser()
        browser.show(try items((0..<10_000).map { ("service \($0)", "account \($0 % 100)") }))
        type("9999", into: &browser)
        #expect(browser.count == 1)
        _ = browser.take(.escape)
        _ = browser.take(.end)
        #expect(text(browser.rows()).contains { $0.hasPrefix("> service 9999") })
    }
}

extension Browser.Action? {
    fileprivate static func == (action: Browser.Action?, _: _OptionalNilComparisonType) -> Bool {
        if case .none = action { true } else { false }
    }
}
