// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Secrets that a source has in an unexpected place, in every format.
struct MeaningTests {
    private static let uri = "otpauth://totp/Example:ada?secret=JBSWY3DPEHPK3PXP&issuer=Example"
    private static let other = "otpauth://totp/Other?secret=GEZDGNBVGY3TQOJQ"
    private static let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----"

    private static func entry(_ change: (inout Login) throws -> Void) throws -> ImportedLogins {
        var login = Login(id: "1", place: "entry 1")
        login.title = "Example"
        login.password = try Secret(text: "pw")
        try change(&login)
        var imported = ImportedLogins()
        imported.logins = [login]
        return imported
    }

    /// Returns the only item of an import, after a check that nothing secret is visible in it.
    private static func item(_ imported: ImportedLogins, of format: String = "test") throws -> Item {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try imported.stored(in: vault, of: format)
        let item = try #require(try vault.all().first)
        let visible = "\(item.attributes) \(item.userAttributes)"
        for secret in ["JBSWY3DPEHPK3PXP", "GEZDGNBVGY3TQOJQ", "PRIVATE KEY"] { #expect(!visible.contains(secret)) }
        #expect(try imported.stored(in: vault, of: format).counts == "unchanged 1")
        return item
    }

    private static func fields(_ item: Item) throws -> [String: String] {
        try Dictionary(
            uniqueKeysWithValues: item.fieldNames.filter { $0 != "vault.import" }.map {
                ($0, try item.openedSecret(field: $0)?.text ?? "")
            })
    }

    @Test func `a seed in an attribute, a URL, the notes or a field of another name is the field otp`() throws {
        let changes: [(inout Login) throws -> Void] = [
            { $0.addAttribute("one-time password", Self.uri) }, { $0.urls = ["https://example.com/", Self.uri] },
            { $0.notes = Self.uri }, { $0.addField("Einmalkennwort", try Secret(text: Self.uri)) },
        ]
        for change in changes {
            let item = try Self.item(Self.entry(change))
            #expect(try Self.fields(item) == ["otp": Self.uri] && item[.comment] == nil)
        }
        let item = try Self.item(Self.entry { $0.notes = "codes:\n \(Self.uri)\t\r\nend" })
        #expect(try Self.fields(item) == ["otp": Self.uri, "notes": "codes:\n \(Self.uri)\t\r\nend"])
    }

    @Test func `a second seed and a private key are fields of their own`() throws {
        let item = try Self.item(
            Self.entry { login in
                login.addField("otp", try Secret(text: Self.uri))
                login.addField("otp", try Secret(text: Self.other))
                login.addAttribute("backup", Self.other)
                login.addAttribute("server key", Self.key)
                login.addAttribute("plain", "v")
                login.notes = "the key:\n" + Self.key
            })
        #expect(
            try Self.fields(item) == [
                "otp": Self.uri, "otp.2": Self.other, "backup": Self.other, "server key": Self.key,
                "notes": "the key:\n" + Self.key,
            ])
        #expect(item.userAttributes["plain"] == "v")
    }

    @Test func `a name of seeds makes one of base32 alone, and of nothing else`() throws {
        let item = try Self.item(Self.entry { $0.addAttribute("TOTP", "JBSW Y3DP EHPK 3PXP") })
        #expect(try Self.fields(item) == ["otp": "JBSW Y3DP EHPK 3PXP"])
        // A word for a URL is none, although it is base32.
        let page = try Self.item(Self.entry { $0.urls = ["gitlab"] })
        #expect(page.userAttributes["url"] == "gitlab" && page.fieldNames == ["vault.import"])
        let open = try Self.item(
            Self.entry { login in
                login.addAttribute("otp", "by SMS, 0 or 1")
                login.addField("otp", try Secret(text: Self.uri))
            })
        #expect(try Self.fields(open) == ["otp": Self.uri] && open.userAttributes["otp 2"] == "by SMS, 0 or 1")
    }

    @Test func `each format has its seeds in the same field`() throws {
        let custom =
            #"{"type": "custom-fields", "fields": [{"label": "otp code", "fieldType": "string", "#
            + #""value": "\#(Self.uri)"}]}"#
        let cxf = try CXF.logins(
            Document(text: #"{"items": [{"id": "a", "title": "x", "credentials": [\#(custom)]}], "collections": []}"#))
        let bitwarden = try Bitwarden.logins(
            Document(
                text: #"{"encrypted": false, "items": [{"id": "a", "type": 1, "name": "x", "login": {}, "#
                    + #""fields": [{"name": "code", "type": 0, "value": "\#(Self.uri)"}]}]}"#)
        ) { throw ImportError.wrongPassphrase }
        let onePassword = try OnePassword.logins(
            Document(
                text: #"{"accounts": [{"vaults": [{"items": [{"uuid": "a", "overview": {"title": "x"}, "details": "#
                    + #"{"sections": [{"fields": [{"title": "code", "value": {"string": "\#(Self.uri)"}}]}]}}]}]}]}"#)
        ) { _ in .absent }
        let csv = try CSVLogins.logins(Document(text: "name,url,username,password,note\nx,,ada,,\(Self.uri)\n"))
        let keePass = try KeePassXML()
        try keePass.parse { take in
            let strings = ImportSamples.string("code", Self.uri.replacing("&", with: "&amp;"))
            try take(Array(ImportSamples.file("<Entry><UUID>u</UUID>\(strings)</Entry>").utf8).span)
        }
        var pass = ImportedLogins()
        pass.logins = [try PassStore.login(Secret(text: "pw\ncode: \(Self.uri)\n"), path: "x", place: "x")]
        for imported in [cxf, bitwarden, onePassword, csv, keePass.imported, pass] {
            #expect(try Self.fields(Self.item(imported)) == ["otp": Self.uri])
        }
    }
}
