// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

import VaultSSHAgent
@testable import VaultImport

/// JSON in locked memory, and the products that write it.
struct JSONTests {
    @Test(arguments: [
        ("", "line 1: the text ends early"), ("{", "line 1: a name is missing"),
        ("[1", "line 1: an array does not end"),
        ("[1]\n x", "line 2: something follows the end"), ("{\"a\" 1}", "line 1: a colon is missing"),
        ("\"a", "line 1: a string does not end"), ("\"\\x\"", "line 1: an escape means nothing"),
        ("\"\\u12\"", "line 1: an escape means nothing"), ("\"\u{1}\"", "line 1: a string has a control character"),
        ("[\n\n-]", "line 3: a value is missing"), ("nul", "line 1: a value is missing"),
        (String(repeating: "[", count: 100_000), "line 1: the values are nested too deeply"),
    ])
    func `what is no JSON is refused with its line`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try JSONValue(Document(text: text)) } == expected)
    }

    @Test(arguments: ["1.", "-.5", ".5", "01", "-01", "+1", "1e", "1.e5", "1e+", "--1", "0x1", "1 2", "Infinity"])
    func `a number that only looks like one is none`(_ text: String) {
        #expect(flaw { _ = try JSONValue(Document(text: "[\(text)]")) } != nil)
    }

    @Test(arguments: ["0", "-0", "10", "0.50", "-12.5e-3", "1E+2", "0e0"])
    func `a number is taken as it is written`(_ text: String) throws {
        #expect(try JSONValue(Document(text: "[\(text)]")).elements.map(\.text) == [text])
    }

    @Test func `strings mean what they say`() throws {
        let text =
            #"{"a": "x\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800y", "b": [1, -2.5e3, true, null, ""], "é": {"c": 7}}"#
        let value = try JSONValue(Document(text: text))
        #expect(value["a"]?.text == "x\"\\/\u{8}\u{c}\n\r\té😀\u{fffd}y")
        #expect(try value["a"]?.secret()?.text == value["a"]?.text)
        #expect(value["b"]?.elements.map(\.text) == ["1", "-2.5e3", "true", nil, ""])
        #expect(value["é"]?["c"]?.integer == 7 && value["none"] == nil)
        #expect(try value["b"]?.source().text == "[1, -2.5e3, true, null, \"\"]")
    }

    @Test func `an export of Bitwarden's comes whole`() throws {
        let imported = try Bitwarden.logins(Document(text: ImportSamples.bitwarden)) {
            throw ImportError.wrongPassphrase
        }
        #expect(imported.logins.map(\.id) == ["i1", "i2", "i3"] && imported.skipped.count == 2)
        let login = imported.logins[0]
        #expect(login.folder == "Web/Mail" && login.password?.text == "pä\"ss" && login.olderVersions == 2)
        #expect(
            login.texts == ["otp": "JBSWY3DP", "pin": "1234", "passkey.key": "S0VZ", "passkey.user-handle": "VUg"])
        #expect(
            login.named.filter { !$0.key.hasPrefix("passkey.") } == [
                "plain": "v", "link": "linked:100", "favorite": "true", "folder": "mine", "reprompt": "true",
                "on": "true", "text": "true", "url.match": "host", "url.2.match": "never",
            ])
        #expect(login.named["passkey.rp"] == "example.com" && login.named["passkey.credential"] == "x")
        #expect(imported.logins[1].password?.text == "the note" && imported.logins[1].kind == "secure note")
        #expect(imported.logins[2].password == nil && imported.logins[2].texts == ["number": "4111", "code": "123"])
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try imported.stored(in: vault, of: "bitwarden").counts == "added 3, skipped 2")
        let item = try #require(
            try vault.first(.internetPassword(server: "example.com", account: "ada", protocol: "htps", path: "/login")))
        #expect(
            item.userAttributes["url"] == "https://example.com/login?next=/"
                && item.userAttributes["url.2"] == "https://b.example")
        #expect(item.userAttributes["folder"] == "Web/Mail" && item.userAttributes["custom.folder"] == "mine")
        // An export and a second import give the same result.
        var entries = try ExportedEntries(try vault.all())
        let written = try BitwardenExport.text(&entries)
        let again = try Bitwarden.logins(Document(written)) { throw ImportError.wrongPassphrase }
        #expect(try again.stored(in: vault, of: "bitwarden").counts == "unchanged 3")
        #expect(entries.leftOut.isEmpty)
        // Parts without a counterpart in attributes or fields are preserved as well.
        let items = try [JSONValue(Document(text: ImportSamples.bitwarden)), JSONValue(Document(written))].map { root in
            try #require(root["items"]?.elements.first { $0["id"]?.text == "i1" })
        }
        func texts(_ value: JSONValue?, _ names: [String]) -> [[String?]] {
            (value?.elements ?? []).map { element in names.map { element[$0]?.text } }
        }
        let passkeys = items.map { $0["login"]?["fido2Credentials"]?.elements.first?.members ?? [] }
        #expect(passkeys[0].map { $0.key } == passkeys[1].map { $0.key } && passkeys[0].count == 13)
        #expect(passkeys[0].map { $0.value.text } == passkeys[1].map { $0.value.text })
        #expect(
            texts(items[0]["login"]?["uris"], ["uri", "match"]) == texts(items[1]["login"]?["uris"], ["uri", "match"]))
        let kinds = items.map {
            Dictionary(uniqueKeysWithValues: texts($0["fields"], ["name", "type"]).map { ($0[0], $0[1]) })
        }
        #expect(kinds[0] == kinds[1] && kinds[0]["on"] == "2" && items[1]["reprompt"]?.integer == 1)
    }

    @Test func `entries are imported with their dates and older passwords`() throws {
        let imported = try Bitwarden.logins(Document(text: ImportSamples.bitwarden)) {
            throw ImportError.wrongPassphrase
        }
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.setHistoryLimit(5)
        var plan = try ImportPlan(imported, of: "bitwarden", in: vault, group: "default", replaces: false, history: 5)
        try plan.carryOut { _ in }
        #expect(plan.report.olderPasswords == 2 && plan.report.olderVersions == 0)
        var query = Query(.internetPassword, server: "example.com")
        query.returnsSecrets = true
        let versions = try vault.versions(matching: query)
        #expect(versions.map { $0.item.secret?.text } == ["pä\"ss", "second", "first"])
        let dates = versions.compactMap { $0.item.record?.modified.formatted(.iso8601) }
        #expect(dates == ["2024-01-02T03:04:05Z", "2021-05-06T07:08:09Z", "2020-01-02T03:04:05Z"])
        #expect(versions.allSatisfy { $0.item.record?.created.formatted(.iso8601) == "2020-01-02T03:04:05Z" })
        // A repeated import changes nothing; older versions are imported only on request.
        #expect(try imported.stored(in: vault, of: "bitwarden").counts == "unchanged 3, skipped 2")
        let other = try Vault.inMemory(accessGroups: .standard)
        try other.setHistoryLimit(5)
        #expect(try imported.stored(in: other, of: "bitwarden").olderVersions == 2)
        #expect(try other.versions(matching: query).count == 1)
    }

    @Test func `the door serves an imported ssh key, and an export keeps it`() throws {
        let samples = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "VaultDoorsTests/SSH/Samples/")
        let file = try String(contentsOf: samples.appending(path: "ed25519"), encoding: .utf8)
        let text = """
            {"encrypted": false, "items": [
              {"id": "k", "type": 5, "name": "laptop", "reprompt": 1, "notes": null,
               "sshKey": {"privateKey": "\(file.replacing("\n", with: "\\n"))", "publicKey": "", "keyFingerprint": ""}},
              {"id": "l", "type": 5, "name": "odd", "sshKey": {"privateKey": "x", "publicKey": "y"}}]}
            """
        func logins(_ document: Document) throws -> ImportedLogins {
            try Bitwarden.logins(
                document,
                sshKey: { file, isConfirmed in
                    SSHItems.described(file: file, isConfirmed: isConfirmed).map {
                        SSHKeyItem(service: SSHItems.service, fingerprint: $0.fingerprint, attributes: $0.attributes)
                    }
                }, passphrase: { throw ImportError.wrongPassphrase })
        }
        let imported = try logins(Document(text: text))
        #expect(imported.logins[1].texts == ["privateKey": "x", "publicKey": "y"])
        let vault = try Vault.inMemory(accessGroups: .standard)
        try imported.stored(in: vault, of: "bitwarden")
        let listed = try SSHItems(vault).listed()
        #expect(listed.map(\.comment) == ["laptop"] && listed.map(\.isConfirmed) == [true])
        for item in try vault.all() {
            try vault.update(try #require(item.record), with: ItemChanges(attributes: [.synchronizable: true]))
        }
        #expect(try SSHItems(vault).listed().map(\.fingerprint) == listed.map(\.fingerprint))
        let line = try String(contentsOf: samples.appending(path: "ed25519.pub"), encoding: .utf8)
        #expect(listed[0].lines == [line.split(separator: " ").prefix(2).joined(separator: " ")])
        var entries = try ExportedEntries(try vault.all())
        let written = try BitwardenExport.text(&entries)
        let key = try JSONValue(Document(written))["items"]?.elements.first { $0["id"]?.text == "k" }
        #expect(try key?["type"]?.integer == 5 && key?["sshKey"]?["privateKey"]?.secret()?.text == file)
        #expect(
            key?["sshKey"]?["publicKey"]?.text == listed[0].lines[0]
                && key?["fields"]?.elements.map { $0["name"]?.text } == ["vault.synchronizable"])
        let again = try logins(Document(written))
        #expect(try again.stored(in: vault, of: "bitwarden").counts == "unchanged 2")
    }

    @Test func `the service of a generic item goes out where its title is another`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        for project in ["shop", "blog"] {
            try EnvironmentVariables.logins(Document(text: "DB_PASSWORD=\(project)\n"), service: project)
                .stored(in: vault, of: "env")
        }
        var entries = try ExportedEntries(try vault.all())
        let again = try Bitwarden.logins(Document(BitwardenExport.text(&entries))) { throw ImportError.wrongPassphrase }
        #expect(
            again.logins.map { "\($0.named["vault.service"] ?? "") \($0.password?.text ?? "")" } == [
                "shop shop", "blog blog",
            ])
        #expect(entries.leftOut.isEmpty)
        let xml = try KeePassExport.text(&entries).text
        #expect(xml.contains("<Value>shop</Value>") && xml.contains("<Value>blog</Value>"))
    }

    @Test func `what no format has is counted by its kind`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(Item(ItemKey(.certificate, [.issuer: .data([1]), .serialNumber: .data([1])]), secret: "c"))
        try vault.add(Item(ItemKey(.key, [.applicationTag: "t"]), secret: "k"))
        try vault.add(Item(ItemKey(.internetPassword, [.server: "h", .securityDomain: "d"]), secret: "p"))
        try vault.add(
            Item(
                .genericPassword(service: "s"), userAttributes: [ItemNames.contentType: "application/octet-stream"],
                secret: "g"))
        let items = try ItemClass.allCases.flatMap { try vault.allMatching(Query($0)) }
        var entries = try ExportedEntries(items)
        _ = try BitwardenExport.text(&entries)
        #expect(entries.leftOut == ["certificates": 1, "keys": 1])
        let stated = entries.entries.map { $0.attributes.map { "\($0.name) \($0.value)" } }
        #expect(stated.count == 2 && stated[0].contains("vault.content-type application/octet-stream"))
        #expect(stated[1].contains("vault.domain d"))
    }

    @Test(arguments: [
        ("url,username,password\n", "this is not JSON"), ("", "this is not JSON"), ("  \n<html>", "this is not JSON"),
    ])
    func `a file that is not JSON is told of as such`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try Bitwarden.logins(Document(text: text)) { try Secret(text: "") } } == expected)
        #expect(flaw { _ = try Aegis.logins(Document(text: text)) { try Secret(text: "") } } == expected)
    }

    @Test func `a file says what it is, or nothing is guessed`() throws {
        func guess(_ text: String) throws -> String? { FormatGuess.format(of: try Secret(text: text)) }
        #expect(try guess(ImportSamples.bitwarden) == "bitwarden" && guess("otpauth://totp/x?secret=A\n") == "otpauth")
        #expect(try guess("name,url,username,password\n") == "csv" && guess("\u{feff} {\"auths\": {}}") == "docker")
        #expect(try guess(#"{"version": 1, "header": {}, "db": {}}"#) == "aegis" && guess("PK\u{3}\u{4}") == "1pux")
        for text in ["", "{", "[]", "{}", "a,b\n", "text", "A=1\n", "otpauth:/"] { #expect(try guess(text) == nil) }
    }

    @Test(arguments: [
        (#"{"encrypted": true, "items": []}"#, "the export is encrypted for its account, and only Bitwarden reads it"),
        (#"{"accounts": []}"#, "this is no JSON of Bitwarden's: it has no items"),
        ("[]", "this is no JSON of Bitwarden's: it has no items"),
        (
            #"{"encrypted": true, "passwordProtected": true, "salt": "s", "kdfType": 0, "kdfIterations": 2000000000}"#,
            "too expensive"
        ),
        (
            #"{"encrypted": true, "passwordProtected": true, "salt": "s", "kdfType": 1, "kdfIterations"#
                + #"": 3, "kdfMemory": 99999, "kdfParallelism": 4}"#,
            "too expensive"
        ),
        (
            #"{"encrypted": true, "passwordProtected": true, "salt": "s", "kdfType": 7}"#,
            "a key derivation that is not known"
        ),
        (
            #"{"encrypted": true, "passwordProtected": true, "salt": "s", "kdfType": 0, "kdfIterations"#
                + #"": 1, "data": "2.a|b|c"}"#,
            "data: it is not encrypted as Bitwarden does it"
        ),
    ])
    func `another product's JSON, and what no product writes, is refused`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try Bitwarden.logins(Document(text: text)) { try Secret(text: "pw") } } == expected)
    }

    @Test func `an entry that cannot be read is skipped, and the others come`() throws {
        let bitwarden = try Bitwarden.logins(
            Document(text: #"{"items": [7, {"name": "x"}, {"type": 1, "name": "y", "login": {}}]}"#)
        ) { throw ImportError.wrongPassphrase }
        let onePassword = try OnePassword.logins(
            Document(
                text: #"{"accounts": [{"vaults": [{"items": [7, {}, {"uuid": "a", "overview": {"title": "y"}}]}]}]}"#)
        ) { _ in .absent }
        let aegis = try Aegis.logins(
            Document(
                text: #"{"header": {}, "db": {"entries": [7, {"type": "totp"}, {"type": "totp", "name": "y", "#
                    + #""info": {"secret": "AAAA"}}]}}"#)
        ) { throw ImportError.wrongPassphrase }
        for imported in [bitwarden, onePassword, aegis] {
            #expect(imported.logins.map(\.title) == ["y"] && imported.skipped.count == 2)
            #expect(imported.skipped.map(\.place) == ["entry 1, line 1", "entry 2, line 1"])
        }
    }

    @Test func `what Bitwarden has no kind for goes out as a login, and no JSON is broken`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(
            Item(
                .genericPassword(service: "note"), attributes: [.itemDescription: "secure note", .comment: "more"],
                secret: "text", fields: ["otp": "AAAA"]))
        try vault.add(
            Item(
                .genericPassword(service: "card"), attributes: [.itemDescription: "card"],
                userAttributes: ["vault.import": "bitwarden:c"], secret: "not json"))
        var entries = try ExportedEntries(try vault.all())
        let again = try Bitwarden.logins(Document(BitwardenExport.text(&entries))) { throw ImportError.wrongPassphrase }
        #expect(again.logins.map { $0.password?.text } == ["text", "not json"] && again.logins[0].notes == "more")
        #expect(again.logins[0].texts == ["otp": "AAAA"])
    }

    @Test(arguments: ["pbkdf2", "argon2id"])
    func `an export with a password opens with it, and with no other`(_ name: String) throws {
        let document = try Document(Secret(bytes: try Vectors.bytes("import/bitwarden-\(name).json")))
        let imported = try Bitwarden.logins(document) { try Secret(text: "correct horse") }
        #expect(imported.logins.first?.password?.text == "pä\"ss")
        #expect(flaw { _ = try Bitwarden.logins(document) { try Secret(text: "wrong") } } == "wrong passphrase")
    }

    @Test func `Aegis' keys become URIs, and its password opens them`() throws {
        let plain = try Document(Secret(bytes: try Vectors.bytes("import/aegis-plain.json")))
        let imported = try Aegis.logins(plain) { throw ImportError.wrongPassphrase }
        #expect(imported.logins.map(\.title) == ["Example", "Steam", "alone"])
        #expect(
            imported.logins[0].texts["otp"]
                == "otpauth://totp/Example:ada%40x?secret=JBSWY3DPEHPK3PXP&algorithm=SHA256&digits=8&per"
                + "iod=60&issuer=Example"
        )
        #expect(imported.logins[0].folder == "Work" && imported.logins[0].notes == "n")
        let encrypted = try Document(Secret(bytes: try Vectors.bytes("import/aegis-encrypted.json")))
        let opened = try Aegis.logins(encrypted) { try Secret(text: "correct horse") }
        #expect(opened.logins.map(\.title) == imported.logins.map(\.title))
        #expect(flaw { _ = try Aegis.logins(encrypted) { try Secret(text: "wrong") } } == "wrong passphrase")
        #expect(
            flaw { _ = try Aegis.logins(Document(text: "{}")) { try Secret(text: "") } }
                == "this is no export of Aegis': it has no database")
        let costly = #"{"header": {"slots": [{"type": 1, "n": 1073741824, "r": 8, "p": 1}]}, "db": ""}"#
        #expect(flaw { _ = try Aegis.logins(Document(text: costly)) { try Secret(text: "") } } == "too expensive")
    }

    @Test func `1PUX comes with its kinds, fields and files`() throws {
        let document = try Document(Secret(bytes: try Vectors.bytes("import/1pux.json")))
        let imported = try OnePassword.logins(document) { name in
            name == "d1__a.txt" ? .content(try! Secret(text: "file")) : name == "d2__b.bin" ? .tooLarge : .absent
        }
        #expect(imported.logins.map(\.title) == ["Example", "Note", "Visa", "Password", "Key"])
        let login = imported.logins[0]
        #expect(
            login.user == "ada" && login.password?.text == "s3cret"
                && login.urls == ["https://example.com", "https://b.example"])
        #expect(
            login.texts == ["otp": "otpauth://totp/x?secret=A", "pin": "1234"] && login.named["team"] == "web"
                && login.named["tags"] == "a\nb")
        #expect(login.attachments.map(\.name) == ["a.txt"] && imported.skipped.count == 2 && login.folder == "Personal")
        #expect(imported.logins[1].password?.text == "the note" && imported.logins[2].kind == "card")
        #expect(imported.logins[3].password?.text == "only" && imported.logins[4].kind == "ssh key")
        #expect(imported.logins[2].texts == ["number": "4111"] && imported.logins[2].password == nil)
        #expect(imported.logins[4].texts == ["private key privateKey": "x"])
        #expect(
            flaw { _ = try OnePassword.logins(Document(text: "{}")) { _ in .absent } }
                == "this is no export of 1Password's: it has no accounts")
    }

    @Test func `an archive that unfolds without end is refused`() throws {
        let world = ImportWorld.made(run: { arguments, _ in (0, [UInt8](repeating: 0x20, count: arguments.count)) })
        #expect(flaw { _ = try OnePassword("x.1pux", world).logins() } == "line 1: the text ends early")
        let limit = flaw {
            _ = try world.output(of: ["unzip", "-p", "x", "y"], limit: 3, package: "unzip", place: "export.data")
        }
        #expect(limit == "too large: export.data")
        #expect(flaw { _ = try OnePassword("x", .made(run: { _, _ in (9, []) })).logins() } == "unzip failed: all")
        #expect(
            flaw { _ = try OnePassword("x", .made(run: { _, _ in (11, []) })).logins() }
                == "this is no 1PUX archive: it has no export.data")
        #expect(flaw { _ = try OnePassword("x", .made()).logins() } == "missing: the program 'unzip'")
    }
}
