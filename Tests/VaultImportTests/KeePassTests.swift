// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// KeePass' XML, read from a pipe in parts of any size.
struct KeePassTests {
    private static func parsed(_ text: String, part: Int = 11) throws -> KeePassXML {
        let reader = try KeePassXML()
        let bytes = Array(text.utf8)
        try reader.parse { take in
            for start in stride(from: 0, to: bytes.count, by: part) {
                try take(bytes.span.extracting(start..<min(start + part, bytes.count)))
            }
        }
        return reader
    }

    @Test(arguments: [
        ("", "line 1: this is no XML, or a part of it is missing"),
        ("<a", "line 1: this is no XML, or a part of it is missing"),
        ("<a/>", "this is the XML of another product"),
        (
            "<?xml version='1.0'?>\n<!DOCTYPE x [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]>\n<KeePassFile>&c;</KeePassFile>",
            "line 2: a document type, which KeePass never writes"
        ),
        (
            "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><KeePassFile/>",
            "line 1: a document type, which KeePass never writes"
        ),
        ("<KeePassFile>\n&unknown;</KeePassFile>", "line 2: this is no XML, or a part of it is missing"),
        (
            "<KeePassFile><Meta><Binaries><Binary ID='0'>!</Binary></Binaries></Meta></KeePassFile>",
            "attachment 0: this is no base64"
        ),
        ("<KeePassFile>" + String(repeating: "<a>", count: 300), "entry 0: the groups are nested too deeply"),
    ])
    func `another XML, entities and depths are refused`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try Self.parsed(text) } == expected)
    }

    @Test(arguments: [1, 3, 4096])
    func `an entry comes whole`(_ part: Int) throws {
        let entry =
            "<Entry><UUID>u1</UUID><Tags>a;b</Tags><Times><Expires>True</Expires><ExpiryTime>ckmV4g4A"
            + "AAA=</ExpiryTime></Times>"
            + ImportSamples.string("Title", "Exä&amp;mple") + ImportSamples.string("UserName", "ada")
            + ImportSamples.string("URL", "https://example.com/")
            + ImportSamples.string("KP2A_URL", "https://b.example")
            + ImportSamples.string("Password", "&lt;p&#13;w&gt;", " ProtectInMemory=\"True\"")
            + ImportSamples.string("Notes", "two\nlines") + ImportSamples.string("pin", "1234", " Protected=\"True\"")
            + ImportSamples.string("plain", "v")
            + ImportSamples.string("otp", "otpauth://totp/x?secret=A")
            + "<Binary><Key>a.bin</Key><Value Ref=\"0\"/></Binary><Binary><Key>missing</Key><Value Ref=\"7\"/></Binary>"
            + "<Times><CreationTime>2020-01-02T03:04:05Z</CreationTime>"
            + "<LastModificationTime>2024-01-02T03:04:05Z</LastModificationTime></Times>"
            + "<History><Entry><UUID>u1</UUID>" + ImportSamples.string("Password", "old")
            + "<Times><LastModificationTime>2021-01-02T03:04:05Z</LastModificationTime></Times></Entry>"
            + "<Entry>" + ImportSamples.string("Title", "of the past") + ImportSamples.string("Password", "old")
            + "</Entry></History></Entry>"
        let meta = "<Binaries><Binary ID=\"0\" Compressed=\"False\">AAEC</Binary></Binaries>"
        let reader = try Self.parsed(ImportSamples.file(entry, meta: meta), part: part)
        let login = try #require(reader.imported.logins.first)
        #expect(
            login.id == "u1" && login.title == "Exä&mple" && login.user == "ada" && login.password?.text == "<p\rw>")
        #expect(
            login.urls == ["https://example.com/", "https://b.example"] && login.notes == "two\nlines"
                && login.folder == "Web")
        #expect(login.texts == ["pin": "1234", "otp": "otpauth://totp/x?secret=A"])
        #expect(login.named == ["plain": "v", "tags": "a\nb", "expires": "2026-11-22T20:37:06Z"])
        #expect(login.attachments.map(\.name) == ["a.bin"] && login.attachments[0].content.exposed == [0, 1, 2])
        #expect(login.olderPasswords.map { $0.password.text } == ["old"])
        #expect(
            [login.created, login.olderPasswords.first?.since, login.modified].map { $0?.formatted(.iso8601) } == [
                "2020-01-02T03:04:05Z", "2021-01-02T03:04:05Z", "2024-01-02T03:04:05Z",
            ])
        #expect(login.olderVersions == 2 && reader.missing.map(\.name) == ["missing"])
    }

    @Test func `what is in the recycle bin stays there`() throws {
        let reader = try Self.parsed(
            ImportSamples.file(
                "<Entry><UUID>u</UUID>" + ImportSamples.string("Title", "x") + "</Entry>",
                meta: "<RecycleBinUUID>g</RecycleBinUUID>"))
        #expect(reader.imported.logins.isEmpty && reader.imported.skipped.count == 1)
    }

    @Test func `an older seed of one-time passwords becomes a URI`() throws {
        let entry =
            "<Entry><UUID>u</UUID>" + ImportSamples.string("Title", "x")
            + ImportSamples.string("TOTP Seed", "JBSW Y3DP", " Protected=\"True\"")
            + ImportSamples.string("TOTP Settings", "60;8") + "</Entry>"
        let login = try #require(try Self.parsed(ImportSamples.file(entry)).imported.logins.first)
        #expect(login.texts == ["otp": "otpauth://totp/x?secret=JBSWY3DP&period=60&digits=8"])
    }

    @Test func `what goes out comes in the same, text or not`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(
            Item(
                .internetPassword(server: "example.com", account: "ada", protocol: "htps", port: 8443, path: "/a"),
                attributes: [.label: "T <&>\"'", .comment: "n\r\nm"],
                userAttributes: ["folder": "A/B", "url.2": "https://b.example", "x": "y\u{1}"], secret: "p<&>",
                fields: ["otp": "otpauth://totp/x?secret=A", "pin": "1"]))
        try vault.add(Item(.genericPassword(service: "s", account: "a"), secret: Secret(bytes: [0, 255, 7])))
        var entries = try ExportedEntries(try vault.all())
        let xml = try KeePassExport.text(&entries)
        let reader = try Self.parsed(xml.text, part: 100)
        let byTitle = Dictionary(uniqueKeysWithValues: reader.imported.logins.map { ($0.title, $0) })
        let login = try #require(byTitle["T <&>\"'"])
        #expect(
            login.urls == ["https://example.com:8443/a", "https://b.example"] && login.folder == "A/B"
                && login.notes == "n\r\nm")
        #expect(login.password?.text == "p<&>" && login.texts == ["otp": "otpauth://totp/x?secret=A", "pin": "1"])
        #expect(login.named == ["x": "y?"])
        #expect(
            byTitle["s (a)"]?.attachments.map { $0.content.exposed } == [[0, 255, 7]]
                && byTitle["s (a)"]?.attachments.first?.name == "secret.bin")
    }

    @Test func `an empty attachment comes, and one that cannot be unpacked is named and stops nothing`() throws {
        let meta =
            "<Binaries><Binary ID=\"0\" Compressed=\"True\"/><Binary ID=\"1\" Compressed=\"True\">AAEC</Binary>"
            + "<Binary ID=\"2\" Compressed=\"True\">AAEC</Binary><Binary ID=\"3\">AAEC</Binary></Binaries>"
        let names = ["empty.txt", "bad.gz", "large.gz", "plain"]
        let attachments = names.enumerated().map { "<Binary><Key>\($1)</Key><Value Ref=\"\($0)\"/></Binary>" }
        let entry = "<Entry><UUID>u</UUID>" + ImportSamples.string("Title", "x") + attachments.joined() + "</Entry>"
        let reader = try Self.parsed(ImportSamples.file(entry, meta: meta))
        var calls = 0
        let imported = try reader.unpack { _ in
            calls += 1
            return (nil, calls == 1 ? "cannot be unpacked" : "has more than 16 MiB")
        }
        #expect(imported.logins[0].attachments.map(\.name) == ["empty.txt", "plain"])
        #expect(imported.logins[0].attachments.map { $0.content.exposed } == [[], [0, 1, 2]])
        #expect(
            imported.skipped.map(\.reason) == [
                "the attachment 'bad.gz' cannot be unpacked", "the attachment 'large.gz' has more than 16 MiB",
            ])
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try imported.stored(in: vault, of: "kdbx").counts == "added 3, skipped 2")
        #expect(try imported.stored(in: vault, of: "kdbx").counts == "unchanged 3, skipped 2")
        var entries = try ExportedEntries(try vault.all())
        let again = try Self.parsed(KeePassExport.text(&entries).text).imported
        #expect(again.logins.map { $0.attachments.map(\.name).sorted() } == [["empty.txt", "plain"]])
    }

    @Test(arguments: [
        ("2026-11-22T20:37:06Z", true), ("never", false), ("2026-11-22", false), ("2026-11-22T20:37:06+01:00", false),
        ("ckmV4g4AAAA=", false),
    ])
    func `what is no time of expiry stays a text, and each comes back the same`(_ text: String, _ isTime: Bool) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(Item(.genericPassword(service: "s"), userAttributes: ["expires": text], secret: "p"))
        var entries = try ExportedEntries(try vault.all())
        let xml = try KeePassExport.text(&entries).text
        #expect(xml.contains("<Expires>True</Expires>") == isTime && xml.contains("<ExpiryTime>") == isTime)
        #expect(try Self.parsed(xml).imported.logins.first?.named["expires"] == text)
    }

    @Test func `an entry in an entry is refused, and keys that mean something stand once`() throws {
        let nested = ImportSamples.file("<Entry><Group><Entry><UUID>x</UUID></Entry></Group></Entry>")
        #expect(flaw { _ = try Self.parsed(nested) } == "entry 1: a group or an entry in an entry")
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(
            Item(
                .genericPassword(service: "s"), userAttributes: ["Title": "t", "KP2A_URL": "u", "a": "b"], secret: "p",
                fields: ["Password": "q", "a": Secret(bytes: [0xef, 0xbf, 0xbe])]))
        var entries = try ExportedEntries(try vault.all())
        let login = try #require(try Self.parsed(KeePassExport.text(&entries).text).imported.logins.first)
        #expect(login.title == "s" && login.password?.text == "p" && login.urls.isEmpty)
        #expect(login.named["Title 2"] == "t" && login.texts == ["Password 2": "q"] && login.attachments.count == 1)
    }

    @Test func `seeds as KeePass and its plugins keep them become URIs, and others stay`() throws {
        func texts(_ strings: String) throws -> [String: String] {
            let file = ImportSamples.file(
                "<Entry><UUID>u</UUID>" + ImportSamples.string("Title", "x") + strings + "</Entry>")
            return try #require(try Self.parsed(file).imported.logins.first).texts
        }
        let isSecret = " Protected=\"True\""
        let keePass =
            ImportSamples.string("TimeOtp-Secret-Base32", "AAAA", isSecret)
            + ImportSamples.string("TimeOtp-Length", "8") + ImportSamples.string("TimeOtp-Algorithm", "HMAC-SHA-256")
        #expect(try texts(keePass)["otp"] == "otpauth://totp/x?secret=AAAA&digits=8&algorithm=SHA256")
        let plugin = ImportSamples.string("otp", "key=BBBB&amp;step=60&amp;size=8", isSecret)
        #expect(try texts(plugin) == ["otp": "otpauth://totp/x?secret=BBBB&period=60&digits=8"])
        let steam =
            ImportSamples.string("TOTP Seed", "CCCC", isSecret) + ImportSamples.string("TOTP Settings", "30;S")
        #expect(try texts(steam) == ["TOTP Seed": "CCCC"])
    }

    @Test func `nothing is read after the end of the document, and a document without an end is refused`() throws {
        let entry = "<Entry><UUID>u</UUID>" + ImportSamples.string("Title", "x") + "</Entry>"
        let document = ImportSamples.file(entry)
        func logins(_ output: String, _ status: Int32?) throws -> Int {
            let world = ImportWorld.made(run: { _, _ in (status, Array(output.utf8)) }, message: "")
            let passphrase = try Secret(text: "pw")
            return try KeePass("x", passphrase: passphrase, keyFile: nil, world).logins().logins.count
        }
        // The program would only end after this; an exit code after the document changes nothing.
        #expect(try logins(document + String(repeating: " ", count: 20) + "<not XML", 0) == 1)
        #expect(try logins(document, 1) == 1)
        let flaw = flaw { _ = try logins(String(document.dropLast(3)), 0) }
        #expect(flaw?.hasSuffix("this is no XML, or a part of it is missing") == true)
    }

    @Test(arguments: [
        (1, "Error: Invalid credentials were provided", "wrong passphrase"),
        (1, "Not a KeePass database.", "this is no KeePass database"),
        (1, "other", "keepassxc-cli failed: all"), (nil, "", "missing: the program 'keepassxc-cli'"),
        (127, "env: 'keepassxc-cli'", "missing: the program 'keepassxc-cli'"),
    ])
    func `what KeePassXC refuses is said in the words of the house`(
        _ status: Int32?, _ message: String, _ expected: String
    ) throws {
        let world = ImportWorld.made(run: { _, _ in (status, []) }, message: message)
        let passphrase = try Secret(text: "pw")
        #expect(flaw { _ = try KeePass("x", passphrase: passphrase, keyFile: nil, world).logins() } == expected)
    }
}
