// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Entries of one identity, whose secrets stay with their accounts whatever happens to the others.
struct ImportMatchesTests {
    private static func otp(_ lines: String...) throws -> ImportedLogins {
        try OTPAuth.logins(Document(text: lines.joined(separator: "\n")))
    }

    private static func uri(_ label: String, _ seed: String, _ rest: String = "") -> String {
        "otpauth://totp/\(label)?secret=\(seed)\(rest)"
    }

    private static func seeds(_ vault: Vault) throws -> [String] {
        try vault.all().map { item in
            let uri = try item.openedSecret(field: "otp")?.text ?? ""
            return "\(item.label ?? "") \(item.account ?? "") \(uri.split(separator: "=")[1].prefix(1))"
        }.sorted()
    }

    @Test func `a list without its first line overwrites no other account's seed`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let (bank, shop) = (Self.uri("ada", "A", "&issuer=Bank"), Self.uri("ada", "B", "&issuer=My%20Shop"))
        #expect(try Self.otp(bank, shop).stored(in: vault, of: "otpauth").counts == "added 2")
        #expect(try Self.otp(shop).stored(in: vault, of: "otpauth").counts == "unchanged 1")
        #expect(try Self.otp(shop, bank).stored(in: vault, of: "otpauth").counts == "unchanged 2")
        #expect(try Self.seeds(vault) == ["Bank ada A", "My Shop ada B"])
        // Another seed of one account changes that account.
        let other = Self.uri("ada", "C", "&issuer=My%20Shop")
        #expect(try Self.otp(other).stored(in: vault, of: "otpauth").counts == "updated 1")
        #expect(try Self.seeds(vault) == ["Bank ada A", "My Shop ada C"])
    }

    @Test func `entries of one name are told apart by what they contain, and a changed one overwrites none`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let (a, b, c) = (Self.uri("X:ada", "A"), Self.uri("X:ada", "B"), Self.uri("X:ada", "C"))
        #expect(try Self.otp(a, b).stored(in: vault, of: "otpauth").counts == "added 2")
        #expect(try Self.otp(b).stored(in: vault, of: "otpauth").counts == "unchanged 1")
        #expect(try Self.otp(b, a).stored(in: vault, of: "otpauth").counts == "unchanged 2")
        let report = try Self.otp(b, c).stored(in: vault, of: "otpauth")
        #expect(report.counts == "unchanged 1, differs 1")
        #expect(report.lines.last?.reason == "of several entries with its name, it is not clear which")
        #expect(try Self.otp(c).stored(in: vault, of: "otpauth").counts == "differs 1")
        #expect(try Self.seeds(vault) == ["X ada A", "X ada B"])
        // The source takes precedence, and still in the place of no other.
        #expect(try Self.otp(c).stored(in: vault, of: "otpauth", replaces: true).counts == "added 1")
        #expect(try Self.seeds(vault) == ["X ada A", "X ada B", "X ada C"])
        #expect(try Self.otp(c, b, a).stored(in: vault, of: "otpauth").counts == "unchanged 3")
        #expect(try Set(vault.all().compactMap { $0.userAttributes["vault.import"] }).count == 3)
    }

    @Test func `a second entry of a name comes besides the first, and seeds without a name are never one another's`()
        throws
    {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let (a, b) = (Self.uri("X:ada", "A"), Self.uri("X:ada", "B"))
        try Self.otp(b).stored(in: vault, of: "otpauth")
        #expect(try Self.otp(a, b).stored(in: vault, of: "otpauth").counts == "added 1, unchanged 1")
        let unnamed = try Vault.inMemory(accessGroups: .standard)
        try Self.otp(Self.uri("", "A")).stored(in: unnamed, of: "otpauth")
        #expect(try Self.otp(Self.uri("", "B")).stored(in: unnamed, of: "otpauth").counts == "differs 1")
        #expect(try Self.otp(Self.uri("", "A")).stored(in: unnamed, of: "otpauth").counts == "unchanged 1")
    }

    @Test func `items that earlier versions numbered are found by their content`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let texts = [Self.uri("ada", "A", "&issuer=Bank"), Self.uri("ada", "B", "&issuer=Shop")]
        // The identity of earlier versions: the label alone.
        var earlier = ImportedLogins()
        earlier.logins = try texts.map { text in
            var login = Login(id: "ada/", place: "line")
            login.title = "ada"
            login.address = .service("ada")
            login.addField("otp", try Secret(text: text))
            return login
        }
        #expect(try earlier.stored(in: vault, of: "otpauth").counts == "added 2")
        #expect(try Self.otp(texts[1]).stored(in: vault, of: "otpauth").counts == "updated 1")
        #expect(try Self.seeds(vault) == ["Shop ada B", "ada  A"])
        #expect(try Self.otp(texts[0], texts[1]).stored(in: vault, of: "otpauth").counts == "updated 1, unchanged 1")
        #expect(try Self.seeds(vault) == ["Bank ada A", "Shop ada B"])
        // A seed that no earlier item has is of another account.
        let third = Self.uri("ada", "C", "&issuer=Third")
        #expect(try Self.otp(third).stored(in: vault, of: "otpauth").counts == "added 1")
    }

    @Test func `a seed without a name that an earlier version imported is known again`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        var earlier = try Self.otp(Self.uri("", "A"))
        earlier.logins[0].id = "/"
        #expect(try earlier.stored(in: vault, of: "otpauth").counts == "added 1")
        #expect(try Self.otp(Self.uri("", "A")).stored(in: vault, of: "otpauth").counts == "unchanged 1")
        #expect(try Self.otp(Self.uri("", "B")).stored(in: vault, of: "otpauth").counts == "added 1")
        #expect(try Self.otp(Self.uri("", "A")).stored(in: vault, of: "otpauth").counts == "unchanged 1")
    }

    @Test func `the item of an identifier is not that of an entry without one at the same position`() throws {
        func entry(_ id: String, _ position: Int) throws -> Login {
            var login = Login(id: id, place: "entry \(position)", position: position)
            (login.title, login.password) = ("X", try Secret(text: "pw"))
            return login
        }
        let vault = try Vault.inMemory(accessGroups: .standard)
        var imported = ImportedLogins()
        imported.logins = [try entry("2", 1), try entry("gone", 2)]
        #expect(try imported.stored(in: vault).counts == "added 2")
        imported.logins[1] = try entry("", 2)
        #expect(try imported.stored(in: vault).counts == "added 1, unchanged 1")
    }

    /// Files of two entries without an identifier, each on a part of its own, and the secrets of the items.
    private static let twins:
        [(format: String, first: String, second: String, read: @Sendable (String) throws -> ImportedLogins)] = [
            (
                "chrome", "A,https://x.example/,ada,one\n", "A,https://x.example/,ada,two\n",
                { try CSVLogins.logins(Document(text: "name,url,username,password\n" + $0)) }
            ),
            (
                "netrc", "machine x login ada password one\n", "machine x login ada password two\n",
                { try Plaintext.netrc.logins(Document(text: $0)).imported }
            ),
            (
                "git-credentials", "https://ada:one@x.example\n", "https://ada:two@x.example\n",
                { try Plaintext.gitCredentials.logins(Document(text: $0)).imported }
            ),
            (
                "pgpass", "x:1:d:ada:one\n", "x:1:d:ada:two\n",
                { try Plaintext.pgpass.logins(Document(text: $0)).imported }
            ),
            (
                "gh", "  users:\n    ada:\n      oauth_token: one\n", "  oauth_token: two\n",
                { try Plaintext.gh.logins(Document(text: "x.example:\n  user: ada\n" + $0)).imported }
            ),
            (
                "aegis", #"{"type": "totp", "name": "ada", "issuer": "X", "info": {"secret": "one"}},"#,
                #"{"type": "totp", "name": "ada", "issuer": "X", "info": {"secret": "two"}},"#,
                { entries in
                    let text = #"{"header": {}, "db": {"entries": [\#(entries.dropLast())]}}"#
                    return try Aegis.logins(Document(text: text)) { throw ImportError.wrongPassphrase }
                }
            ),
            (
                "bitwarden", #"{"type": 1, "name": "X", "login": {"username": "ada", "password": "one"}},"#,
                #"{"type": 1, "name": "X", "login": {"username": "ada", "password": "two"}},"#,
                { items in
                    let text = #"{"encrypted": false, "items": [\#(items.dropLast())]}"#
                    return try Bitwarden.logins(Document(text: text)) { throw ImportError.wrongPassphrase }
                }
            ),
            (
                "kdbx",
                "<Entry>" + ImportSamples.string("Title", "X") + ImportSamples.string("Password", "one")
                    + "</Entry>",
                "<Entry>" + ImportSamples.string("Title", "X") + ImportSamples.string("Password", "two") + "</Entry>",
                { entries in
                    let reader = try KeePassXML()
                    try reader.parse { try $0(Array(ImportSamples.file(entries).utf8).span) }
                    return reader.imported
                }
            ),
            (
                "cxf", credential("one"), credential("two"),
                { try CXF.logins(Document(text: #"{"items": [\#($0.dropLast())], "collections": []}"#)) }
            ),
        ]

    private static func credential(_ password: String) -> String {
        #"{"title": "X", "credentials": [{"type": "basic-auth", "username": {"value": "ada"}, "#
            + #""password": {"value": "\#(password)"}}]},"#
    }

    @Test(arguments: twins.indices)
    func `of two equal entries that a format numbers, none takes the place of the other`(_ index: Int) throws {
        let (format, first, second, read) = Self.twins[index]
        let vault = try Vault.inMemory(accessGroups: .standard)
        func secrets() throws -> Set<String> {
            try Set(
                vault.all().map { item in
                    try item.openedSecret(field: item.fieldNames.contains("otp") ? "otp" : nil)?.text ?? ""
                })
        }
        #expect(try read(first + second).stored(in: vault, of: format).counts == "added 2")
        let both = try secrets()
        #expect(both.count == 2)
        #expect(try read(second).stored(in: vault, of: format).counts == "unchanged 1")
        #expect(try read(first + second).stored(in: vault, of: format).counts == "unchanged 2")
        #expect(try secrets() == both)
    }

    @Test func `rows of one page and user are told apart by title, and those of earlier versions found`() throws {
        func read(_ rows: String...) throws -> ImportedLogins {
            try CSVLogins.logins(Document(text: "name,url,username,password\n" + rows.joined(separator: "\n")))
        }
        let page = "https://x.example/"
        func row(_ title: String, _ password: String) -> String { "\(title),\(page),ada,\(password)" }
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try read(row("A", "1"), row("B", "2")).stored(in: vault).counts == "added 2")
        #expect(try read(row("B", "3")).stored(in: vault).counts == "updated 1")
        #expect(try read(row("C", "4")).stored(in: vault).counts == "differs 1")
        #expect(try Set(vault.all().compactMap { try $0.openedSecret()?.text }) == ["1", "3"])
        // The first of a page and user, a second of another title, and a third of that title.
        let old = try Vault.inMemory(accessGroups: .standard)
        var earlier = try read(row("A", "1"), row("B", "2"), row("B", "3"))
        for (index, id) in ["\(page)\nada", "\(page)\nada\nB", "\(page)\nada\nB\n2"].enumerated() {
            earlier.logins[index].id = Login.digest(id)
        }
        #expect(try earlier.stored(in: old).counts == "added 3")
        #expect(try read(row("B", "3"), row("B", "2"), row("A", "1")).stored(in: old).counts == "unchanged 3")
        #expect(try read(row("B", "2")).stored(in: old).counts == "unchanged 1")
        #expect(try read(row("B", "4")).stored(in: old).counts == "differs 1")
    }
}
