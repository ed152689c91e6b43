// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Parts of entries that refer to parts of others.
struct KeePassReferenceTests {
    private static func read(_ entries: String..., meta: String = "") throws -> ImportedLogins {
        let reader = try KeePassXML()
        try reader.parse { try $0(Array(ImportSamples.file(entries.joined(), meta: meta).utf8).span) }
        return reader.imported
    }

    private static func entry(_ id: String, _ parts: (String, String)...) -> String {
        "<Entry><UUID>\(id)</UUID>" + parts.map { ImportSamples.string($0, $1) }.joined() + "</Entry>"
    }

    /// The identifier of the entry that the others refer to, in base64 and hexadecimal.
    private static let id = "RsmxT71Kv0u7JgxhkLrSDA=="
    private static let digits = "46C9B14FBD4ABF4BBB260C6190BAD20C"
    private static let target = entry(
        id, ("Title", "Main"), ("UserName", "ada"), ("Password", "s3cret"), ("URL", "https://x.example"),
        ("Notes", "of main"), ("Serial", "4711"))

    @Test(arguments: [
        ("I", digits), ("i", digits.lowercased()), ("T", "Main"), ("T", "MAIN"), ("U", "ada"), ("P", "s3cret"),
        ("A", "https://x.example"), ("N", "of main"), ("O", "4711"),
    ])
    func `each part is found by each other part`(_ searched: String, _ text: String) throws {
        let expected = [
            ("T", "Main"), ("U", "ada"), ("P", "s3cret"), ("A", "https://x.example"), ("N", "of main"),
            ("I", Self.digits),
        ]
        for (wanted, value) in expected {
            let reference = "{REF:\(wanted)@\(searched):\(text)}"
            let imported = try Self.read(
                Self.entry("u2", ("Title", "Other"), ("Password", "<\(reference)>".replacing("<", with: "("))),
                Self.target)
            #expect(imported.logins[0].password?.text == "(\(value)>" && imported.skipped.isEmpty)
        }
    }

    @Test func `references of references are followed, and a password stays one wherever it is used`() throws {
        let imported = try Self.read(
            Self.entry(
                "u2", ("Title", "Two"), ("UserName", "{ref:u@i:\(Self.digits)}"), ("Password", "{REF:P@T:Main}"),
                ("URL", "https://{REF:U@T:Main}.example"), ("Notes", "see {REF:P@T:Main}"),
                ("open", "{REF:U@T:Main}/{REF:U@T:Main}"), ("hidden", "{REF:P@T:Three}")),
            Self.entry("u3", ("Title", "Three"), ("Password", "{REF:P@T:Two}!")), Self.target)
        let login = imported.logins[0]
        #expect(login.user == "ada" && login.password?.text == "s3cret" && login.urls == ["https://ada.example"])
        #expect(login.notes.isEmpty && login.texts == ["notes": "see s3cret", "hidden": "s3cret!"])
        #expect(login.named == ["open": "ada/ada"] && imported.skipped.isEmpty)
        // Also those of the recycle bin.
        let bin = try Self.read(
            "</Group><Group><UUID>bin</UUID>" + Self.target + "</Group><Group><UUID>h</UUID><Name>H</Name>"
                + Self.entry("u2", ("Title", "x"), ("Password", "{REF:P@T:Main}")),
            meta: "<RecycleBinUUID>bin</RecycleBinUUID>")
        #expect(bin.logins.map { $0.password?.text } == ["s3cret"])
    }

    @Test(arguments: [
        ("{REF:P@T:Nobody}", "leads to no entry"), ("{REF:P@T:Self}", "leads back to itself"),
        ("{REF:O@T:Self}", "names no part of an entry"), ("{REF:P@T:}", "leads to no entry"),
    ])
    func `a reference that leads nowhere stays, and is reported by the name of its field`(
        _ reference: String, _ flaw: String
    ) throws {
        let imported = try Self.read(Self.entry("u", ("Title", "Self"), ("Password", reference)))
        #expect(imported.logins[0].password?.text == reference)
        #expect(imported.skipped.map(\.reason) == ["the reference in its password \(flaw), and stays as it is"])
        #expect(imported.skipped.map(\.place) == ["entry 1"])
    }

    @Test func `a password in a user name is not shown, and what is no reference stays`() throws {
        let imported = try Self.read(
            Self.entry(
                "u", ("Title", "{TITLE}"), ("UserName", "{REF:P@T:Main}"), ("Password", "{REF:X@Y:z} {REF:P@T:a")),
            Self.target)
        #expect(imported.logins[0].title == "{TITLE}" && imported.logins[0].user == "{REF:P@T:Main}")
        #expect(imported.logins[0].password?.text == "{REF:X@Y:z} {REF:P@T:a")
        #expect(
            imported.skipped.map(\.reason) == ["the reference in its user name is to a password, and stays as it is"])
    }

    @Test func `a chain without end and a text that grows with each step are given up`() throws {
        let chain = (0..<40).map { number in
            Self.entry("c\(number)", ("Title", "\(number)"), ("Password", "{REF:P@T:\(number + 1)}"))
        }
        let long = try Self.read(chain.joined())
        #expect(long.logins.count == 40 && long.skipped.contains { $0.reason.contains("through too many others") })
        let growing = (0..<30).map { number in
            let reference = number == 0 ? "0123456789" : "{REF:N@T:\(number - 1)}"
            return Self.entry("g\(number)", ("Title", "\(number)"), ("Notes", String(repeating: reference, count: 10)))
        }
        let grown = try Self.read(growing.joined())
        #expect(grown.logins.count == 30 && grown.logins[2].notes.count == 10_000)
        #expect(grown.skipped.contains { $0.reason.contains("more than 1 MiB") })
        #expect(grown.logins.allSatisfy { $0.notes.utf8.count <= 1 << 20 })
    }
}
