// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Stores of pass, lists of URIs and files of variables.
struct PassTests {
    private static func login(_ text: String, path: String = "web/example.com/ada") throws -> Login {
        try PassStore.login(Secret(text: text), path: path, place: "entry")
    }

    @Test func `an entry has its password first, then what is known of it, and the rest is a secret`() throws {
        let login = try Self.login(
            "s3cret\nlogin: ada\nurl: https://example.com/\npin: 1234\notpauth://totp/x?secret=A\n\nr"
                + "emember: \nfree text here\n"
        )
        #expect(login.password?.text == "s3cret" && login.user == "ada" && login.urls == ["https://example.com/"])
        #expect(
            login.texts == [
                "pin": "1234", "otp": "otpauth://totp/x?secret=A", "notes": "\nremember: \nfree text here\n",
            ])
        #expect(login.folder == "web/example.com" && login.title == "web/example.com/ada")
    }

    @Test func `addresses and URIs are known without a name before them`() throws {
        let login = try Self.login("s\nhttps://example.com/login\notpauth: //totp/A:b?secret=AAAA\n")
        #expect(login.urls == ["https://example.com/login"] && login.texts == ["otp": "otpauth://totp/A:b?secret=AAAA"])
    }

    @Test func `a key, bytes and a single line are whole`() throws {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nab: cd\n-----END OPENSSH PRIVATE KEY-----\n"
        #expect(try Self.login(key).password?.text == key)
        let bytes = try PassStore.login(Secret(bytes: [0xff, 0x0a]), path: "b", place: "")
        #expect(bytes.password?.exposed == [0xff, 0x0a])
        #expect(try Self.login("alone").password?.text == "alone" && Self.login("").password == nil)
        #expect(try Self.login("GOPASS-SECRET-1.0\npassword: x\nuser: u\n").password?.text == "x")
    }

    @Test func `a store is read by gpg, what gpg cannot open is skipped, and a key that opens nothing ends it`() throws
    {
        let files = ["a.gpg": "", "b/c.gpg": "", ".gpg-id": "", ".git/x.gpg": "", "d.age": "", "readme": ""]
        let world = ImportWorld.made(
            files: files, run: { arguments, _ in (0, Array("pw of \(arguments.last ?? "")\n".utf8)) })
        let imported = try PassStore("/store", world).logins()
        #expect(
            imported.logins.map(\.title) == ["a", "b/c"] && imported.logins[1].password?.text == "pw of /store/b/c.gpg")
        #expect(imported.skipped.map(\.place) == ["entry 'd.age'"])
        let locked = ImportWorld.made(
            files: files, run: { arguments, _ in (arguments.last == "/store/b/c.gpg" ? 2 : 0, Array("x".utf8)) })
        let some = try PassStore("/store", locked).logins()
        #expect(some.logins.map(\.title) == ["a"] && some.skipped.map(\.place) == ["entry 'd.age'", "entry 'b/c'"])
        let foreign = ImportWorld.made(files: files, run: { _, _ in (2, []) }, message: "No secret key")
        #expect(flaw { _ = try PassStore("/store", foreign).logins() } == "gpg failed: entry 'a.gpg'")
        #expect(
            flaw { _ = try PassStore("/store", .made()).logins() } == "there are no entries of pass in the directory")
    }

    private static func store(_ entries: [String: [UInt8]]) throws -> ImportedLogins {
        let files = Dictionary(uniqueKeysWithValues: entries.keys.map { ($0 + ".gpg", "") })
        let world = ImportWorld.made(
            files: files,
            run: { arguments, _ in
                let name = arguments.last?.dropFirst("/store/".count).dropLast(".gpg".count) ?? ""
                return (0, entries[String(name)] ?? [])
            })
        return try PassStore("/store", world).logins()
    }

    @Test func `names and texts that are not UTF-8 stop nothing, and are reported`() throws {
        let imported = try Self.store([
            "a": Array("pw\nlogin: J".utf8) + [0xfc, 0x72, 0x67] + Array("\n".utf8), "b": [0, 0xff, 1],
            "c": Array("plain\n".utf8), "n\u{fffd}": [],
        ])
        #expect(imported.logins.map(\.title) == ["a", "b", "c"])
        #expect(imported.logins[0].user == "Jürg" && imported.logins[0].password?.text == "pw")
        #expect(imported.logins[1].password?.exposed == [0, 0xff, 1])
        #expect(imported.skipped.map(\.place) == ["entry 'n\u{fffd}.gpg'"])
        #expect(
            imported.remarks == [
                "entry 'a' is not UTF-8: its text is read as Latin-1",
                "entry 'b' is not UTF-8: all of it is the secret",
            ])
    }

    @Test func `files that gopass keeps in base64 are files again`() throws {
        func text(_ password: String, _ content: String) -> [UInt8] {
            Array(
                (password + "\nContent-Disposition: attachment; filename=\"key.bin\"\n"
                    + "Content-Transfer-Encoding: Base64\n\n" + content).utf8)
        }
        let imported = try Self.store([
            "alone": text("", "AAEC\nAwQ=\n"), "beside": text("pw", "AAEC"), "flawed": text("", "not base64!"),
        ])
        #expect(imported.logins[0].password?.exposed == [0, 1, 2, 3, 4] && imported.logins[0].fields.isEmpty)
        #expect(imported.logins[0].named == ["filename": "key.bin"])
        #expect(imported.logins[1].password?.text == "pw")
        #expect(imported.logins[1].attachments.map { "\($0.name) \($0.content.exposed)" } == ["key.bin [0, 1, 2]"])
        #expect(imported.logins[2].texts["notes"] == "\nnot base64!\n")
        #expect(imported.remarks == ["entry 'flawed' is not in base64 as it states: it stays a text"])
    }

    @Test func `what goes out for pass comes in the same`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let logins = [
            try Self.login("s3cret\nlogin: ada\nurl: https://example.com/\npin: 1\nfree text\n"),
            try Self.login("x", path: "../.up/\u{7}"),
        ]
        var imported = ImportedLogins()
        imported.logins = logins
        try imported.stored(in: vault, of: "pass")
        var entries = try ExportedEntries(try vault.all())
        var written: [String: Secret] = [:]
        let world = ImportWorld.made(run: { _, input in (0, input?.exposed ?? []) })
        try PassExport.write(&entries, for: "ada", world) { name, bytes in written[name] = bytes }
        #expect(
            written.keys.sorted() == [".gpg-id", "_./_up/_.gpg", "web/example.com/ada.gpg"].sorted()
                || written.count == 3)
        #expect(!written.keys.contains { $0.split(separator: "/").contains("..") })
        let again = try PassStore.login(
            try #require(written["web/example.com/ada.gpg"]), path: "web/example.com/ada", place: "")
        #expect(
            again.password?.text == "s3cret" && again.user == "ada"
                && again.texts == ["pin": "1", "notes": "free text\n"])
    }

    @Test func `URIs of one-time passwords come one a line`() throws {
        let imported = try OTPAuth.logins(
            Document(
                text:
                    "otpauth://totp/Ex%20ample:ada%40x?secret=A\n\n otpauth://hotp/alone?secret=B&cou"
                    + "nter=1\notpauth-migration://offline?data=x\n"
            ))
        #expect(imported.logins.map(\.title) == ["Ex ample", "alone"] && imported.logins[0].user == "ada@x")
        #expect(
            imported.logins[1].texts["otp"] == "otpauth://hotp/alone?secret=B&counter=1" && imported.skipped.count == 1)
        #expect(flaw { _ = try OTPAuth.logins(Document(text: "a\n")) } == "line 1: this is no otpauth:// URI")
        let some = try OTPAuth.logins(Document(text: "otpauth://totp/x?secret=A\nb\notpauth://totp/y?secret=B\n"))
        #expect(some.logins.map(\.title) == ["x", "y"] && some.skipped.map(\.place) == ["line 2"])
    }

    @Test func `variables become items of one service, and references stay`() throws {
        let imported = try EnvironmentVariables.logins(
            Document(text: "# c\nexport A=1\nB=\"x\\ny\" # c\nC=vault://a/b\nA=2\n"), service: "shop")
        #expect(
            imported.logins.map(\.user) == ["A", "B"] && imported.logins.map { $0.password?.text } == ["2", "x\ny"])
        #expect(imported.skipped.isEmpty && imported.looks.values.map { $0 } == [1])
        #expect(
            flaw { _ = try EnvironmentVariables.logins(Document(text: "A=1\nB='x\n"), service: "s") }
                == "line 2: a quote is left open")
    }
}
