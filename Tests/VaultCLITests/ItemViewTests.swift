// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultCLI

/// Every view of every kind of item: each cell is the part of the item's face.
struct ItemViewTests {
    private static func vault() throws -> Vault { try Vault.inMemory(accessGroups: AccessGroups(["default"])) }

    private static func text(_ shown: ShownItem, isAligned: Bool = false) throws -> String {
        String(decoding: try shown.text(isAligned: isAligned).withBytes { $0.array }, as: UTF8.self)
    }

    /// The lines of a name, in a pipe.
    private static func values(_ name: String, in text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(name + "\t") }.map { String($0.dropFirst(name.count + 1)) }
    }

    @Test(arguments: ItemSample.all) func `show prints the parts of the face, and no secret`(sample: ItemSample) throws
    {
        let vault = try Self.vault()
        let item = try sample.stored(in: vault)
        let text = try Self.text(ShownItem(item, in: vault, .masked))
        let parts: [(String, [String])] = [
            ("title", [sample.title]), ("place", [sample.place]), ("user", [sample.user]), ("url", sample.urls),
            ("notes", [sample.notes ?? ""]), ("folder", [sample.folder ?? ""]), ("tag", sample.tags),
            ("kind", [sample.kind ?? ""]), ("secret", [sample.secret]),
        ]
        for (name, values) in parts {
            let lines = values.filter { !$0.isEmpty }.flatMap(\.printableLines)
            #expect(Self.values(name, in: text) == lines, "\(name)")
        }
        for field in sample.fields { #expect(Self.values("field " + field, in: text) == [ShownItem.mask]) }
        #expect(Self.values("code", in: text).count == (sample.hasCode ? 1 : 0))
        for secret in ["s3cret", "GEZDG", "4111 1111", "letmein"] { #expect(!text.contains(secret)) }
        #expect(text.split(separator: "\n").allSatisfy { $0.contains("\t") })
        #expect(!text.unicodeScalars.contains { $0.isObeyed && $0 != "\n" && $0 != "\t" })
        let aligned = try Self.text(ShownItem(item, in: vault, .masked), isAligned: true)
        #expect(!aligned.unicodeScalars.contains { $0.isObeyed && $0 != "\n" })
    }

    @Test(arguments: ItemSample.all) func `the table has the face, and a pipe the columns of scripts`(
        sample: ItemSample
    ) throws {
        let item = try sample.stored(in: Self.vault())
        let table = ItemTable([item])
        let itemClass = ClassOption(item.itemClass).rawValue
        #expect(table.rows == [[sample.title, sample.user, sample.place, itemClass].map(\.printable)])
        #expect(table.lines == (sample.columns + [itemClass]).map(\.printable).joined(separator: "\t") + "\n")
        #expect(table.text(width: 80).split(separator: "\n").count == 2)
    }

    @Test(arguments: ItemSample.all) func `JSON has the parts, and no key for what the item lacks`(
        sample: ItemSample
    ) throws {
        let item = try sample.stored(in: Self.vault())
        let bytes = try ItemOutput(item: item).json(revealing: nil).withBytes { $0.array }
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let texts: [(String, String?)] = [
            ("title", sample.title), ("place", sample.place), ("user", sample.user), ("host", sample.host),
            ("notes", sample.notes), ("folder", sample.folder), ("kind", sample.kind),
            // The older keys stay.
            ("account", sample.columns[1]), ("label", sample.columns[2]), ("comment", sample.notes),
            ("description", sample.kind),
        ]
        for (key, text) in texts { #expect(object[key] as? String == text?.present, "\(key)") }
        #expect(object["service"] as? String == sample.columns[0])
        #expect(object["urls"] as? [String] == (sample.urls.isEmpty ? nil : sample.urls))
        #expect(object["tags"] as? [String] == (sample.tags.isEmpty ? nil : sample.tags))
        #expect(object["secret"] == nil && object["fieldSecrets"] == nil)
        #expect(!String(decoding: bytes, as: UTF8.self).unicodeScalars.contains { $0.isObeyed })
    }

    @Test(arguments: ItemSample.all) func `a row of browse has the parts, and a search finds each of them`(
        sample: ItemSample
    ) throws {
        let item = try sample.stored(in: Self.vault())
        var browser = Browser()
        browser.resize(rows: 10, columns: 20_000)
        browser.show([item])
        let row = browser.rows()[1].parts.map { part in
            if case .text(let text) = part.part { text } else { "" }
        }.joined()
        let notes = sample.notes?.printableLines.joined(separator: " ") ?? ""
        let cells = [sample.title.printable, sample.user.printable, sample.place.printable, notes]
        var rest = Substring(row.dropFirst(2))
        for cell in cells where !cell.isEmpty {
            let range = try #require(rest.firstRange(of: cell), "\(cell)")
            #expect(rest[..<range.lowerBound].allSatisfy { $0 == " " })
            rest = rest[range.upperBound...]
        }
        #expect(rest.allSatisfy { $0 == " " })
        let text = SearchedText(ItemFace(item))
        let parts = [sample.title, sample.user, sample.place, sample.folder ?? "", sample.notes ?? ""]
        for part in parts + sample.urls + sample.tags {
            // A control is no letter that is typed.
            let words = part.split { !$0.isLetter && !$0.isNumber }.map(String.init)
            #expect(SearchWords(words.joined(separator: " ")).areIn(text), "\(part)")
        }
        for secret in ["s3cret", "GEZDG", "4111 1111", "letmein"] { #expect(!SearchWords(secret).areIn(text)) }
    }

    // MARK: Secrets

    @Test func `what is revealed is whole, on lines of its own, and cannot control a terminal`() throws {
        let vault = try Self.vault()
        let item = Item(
            .genericPassword(service: "s"), secret: "a\\b\tc\nd\u{1b}[2J\n",
            fields: ["pin": "1234", "file": try Secret(bytes: [0xFF, 0, 1]), "none": ""])
        try vault.add(item)
        let stored = try #require(try vault.copyMatching(Query(.genericPassword)).first)
        let shown = try ShownItem(stored, in: vault, .revealed)
        let text = try Self.text(shown)
        #expect(Self.values("secret", in: text) == ["a\\b\\tc", "d\\u{1b}[2J"])
        #expect(Self.values("field pin", in: text) == ["1234"])
        #expect(Self.values("field none", in: text) == [""])
        #expect(Self.values("field file", in: text) == ["not text: 3 bytes"])
        let aligned = try Self.text(shown, isAligned: true).split(separator: "\n").map(String.init)
        #expect(aligned.contains("secret      a\\b\\tc") && aligned.contains("            d\\u{1b}[2J"))
    }

    @Test(arguments: [.masked, .revealed] as [ShownItem.Secrets])
    func `the key of a passkey is never shown`(secrets: ShownItem.Secrets) throws {
        let sample = try #require(ItemSample.all.first { $0.testDescription == "a passkey" })
        let vault = try Self.vault()
        let text = try Self.text(ShownItem(sample.stored(in: vault), in: vault, secrets))
        #expect(Self.values("secret", in: text) == [sample.secret] && !text.contains("field "))
        #expect(Self.values("display name", in: text) == ["Ada L."] && !text.contains("passkey."))
    }

    @Test func `a bad seed does not hide the other parts`() throws {
        let vault = try Self.vault()
        try vault.add(Item(.genericPassword(service: "s"), secret: "x", fields: ["otp": "not base32!"]))
        let stored = try #require(try vault.copyMatching(Query(.genericPassword)).first)
        let text = try Self.text(ShownItem(stored, in: vault, .masked))
        #expect(Self.values("code", in: text) == ["none: the seed is neither an otpauth:// URI nor base32"])
        #expect(Self.values("secret", in: text) == [ShownItem.mask])
    }

    @Test func `what the vault knows of an item is shown`() throws {
        let vault = try Self.vault()
        try vault.setHistoryLimit(5)
        try vault.add(
            Item(
                .genericPassword(service: "s"), attributes: [.synchronizable: true],
                userAttributes: ["vault.made": "git", "team": "a\nb"], secret: "x"))
        try vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "y"))
        let stored = try #require(try vault.copyMatching(Query(.genericPassword)).first)
        let text = try Self.text(ShownItem(stored, in: vault, .masked))
        for (name, value) in [
            ("older versions", "1"), ("made by", "git"), ("synchronizable", "yes"), ("protection", "when-unlocked"),
            ("class", "generic"),
        ] { #expect(Self.values(name, in: text) == [value], "\(name)") }
        #expect(Self.values("attr team", in: text) == ["a", "b"])
        #expect(!text.contains("vault."))
    }
}
