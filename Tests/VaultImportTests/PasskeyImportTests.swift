// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultImport

/// Passkeys of other products, in and out.
struct PasskeyImportTests {
    // MARK: Refusals

    @Test(arguments: [
        ("PRIVATE_KEY_PEM", "-----BEGIN PRIVATE KEY-----\nAAAA"), ("PRIVATE_KEY_PEM", "-----BEGIN PRIVATE KEY-----"),
        ("PRIVATE_KEY_PEM", "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----"), ("CREDENTIAL_ID", "a+b/"),
        ("CREDENTIAL_ID", ""), ("RELYING_PARTY", "Example.com"), ("RELYING_PARTY", ".com"), ("RELYING_PARTY", "é.com"),
        ("RELYING_PARTY", ""), ("USER_HANDLE", ""), ("USER_HANDLE", String(repeating: "AAAA", count: 22)),
        ("USER_HANDLE", "A"), ("USERNAME", String(repeating: "a", count: 257)), ("PRF", "AAAA"), ("PRF", "!"),
    ])
    func `an unusable passkey of KeePassXC stays with its entry, and comes out unchanged`(
        _ name: String, _ value: String
    ) throws {
        let attributes = try Self.attributes(changes: [name: value])
        let imported = try Self.keePass(Self.entry("u", attributes))
        #expect(imported.logins[0].passkeys.isEmpty)
        let vault = try Vault.inMemory(accessGroups: .standard)
        try imported.stored(in: vault, of: "kdbx")
        #expect(try vault.passkeys(of: nil).isEmpty)
        #expect(try Self.keePassAttributes(vault) == [attributes.filter { !$0.value.isEmpty }])
    }

    @Test(arguments: ["p384", "p256.other-curve"]) func `another kind of key is no passkey`(_ name: String) throws {
        #expect(try Self.keePass(Self.entry("u", Self.attributes(name))).logins[0].passkeys.isEmpty)
    }

    @Test(arguments: [
        ["keyAlgorithm": "\"EdDSA\""], ["keyCurve": "\"P-384\""], ["keyValue": "\"S0VZ\""], ["keyValue": "null"],
        ["counter": "\"-1\""], ["counter": "\"4294967296\""], ["counter": "null"], ["userHandle": "null"],
        ["credentialId": "\"x\""], ["credentialId": "\"b64.\""], ["rpId": "\"https://example.com\""],
    ])
    func `an unusable passkey of Bitwarden stays with its login, and comes out unchanged`(
        _ changes: [String: String]
    ) throws {
        let imported = try Self.bitwarden(Self.credential(), Self.credential(changes))
        #expect(imported.logins[0].passkeys.count == 1)
        let vault = try Vault.inMemory(accessGroups: .standard)
        try imported.stored(in: vault, of: "bitwarden")
        let out = try Self.bitwardenPasskeys(vault)
        // Without a key or an identifier nothing is a passkey.
        let isLost = changes["keyValue"] == "null"
        #expect(out == [try Self.credential()] + (isLost ? [] : [try Self.credential(changes)]))
    }

    // MARK: KeePassXC

    @Test(arguments: ["botan.p256", "botan.ed25519", "botan.rsa"])
    func `a passkey that KeePassXC made signs, and comes out byte for byte`(_ name: String) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let attributes = try Self.attributes(name)
        #expect(try Self.keePass(Self.entry("u", attributes)).stored(in: vault, of: "kdbx").counts == "added 2")
        let passkey = try #require(try vault.passkeys(of: "example.com").first)
        #expect(passkey.credentialID == [UInt8](1...32) && passkey.names.user == "ada" && passkey.counter == 0)
        #expect(try passkey.userHandle().exposed == [UInt8](7...22) && !passkey.isBackupEligible)
        #expect(try passkey.exportedKey().exposed == Self.key(name))
        let message: [UInt8] = [1, 2, 3]
        let key = try passkey.key()
        try verify(try key.sign(message.span), of: message, by: key.publicKey)
        #expect(try Self.keePassAttributes(vault) == [attributes])
    }

    private func verify(_ signature: [UInt8], of message: [UInt8], by key: COSEKey) throws {
        let representation = key.representation
        let digest = try DigestAlgorithm.sha256.digest(of: message.span)
        switch key {
        case .es256:
            try AsymmetricKey(.p256, representation.span).verify(signature.span, of: digest.span, .ecdsa, nil)
        case .edDSA:
            let nothing: [UInt8] = []
            try SigningKey.verify(signature.span, nothing.span, message.span, publicKey: representation.span)
        case .rs256:
            let numbers = try #require(
                RSAKeyNumbers(representation.span, in: representation.indices, isPrivate: false)?.ranges)
            try AsymmetricKey(rsa: representation.span, numbers)
                .verify(signature.span, of: digest.span, .pkcs1, .sha256)
        }
    }

    @Test(arguments: [
        ["FLAG_BE": "1", "FLAG_BS": "1"], ["FLAG_BE": "1", "FLAG_BS": "0"], ["FLAG_BE": "0"], ["FLAG_BS": "1"], [:],
    ])
    func `flags and the key of prf come out as they were`(_ flags: [String: String]) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let secret = Data(repeating: 9, count: 32).base64EncodedString()
        let attributes = try Self.attributes(changes: flags.merging(["PRF": secret]) { first, _ in first })
        try Self.keePass(Self.entry("u", attributes)).stored(in: vault, of: "kdbx")
        let passkey = try #require(try vault.passkeys(of: nil).first)
        #expect(passkey.isBackupEligible == (flags["FLAG_BE"] == "1"))
        #expect(try passkey.pseudoRandomKey()?.exposed == [UInt8](repeating: 9, count: 32))
        #expect(try Self.keePassAttributes(vault) == [attributes])
    }

    @Test func `the text of a key comes out as it was`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let pem = try Self.pem("botan.p256")
        let texts = [
            pem.replacing("\n", with: "\r\n"), String(pem.dropLast()), pem.replacing("\n", with: " "), pem + "\n",
        ]
        let entries = try texts.enumerated().map { index, text in
            // A parser of XML takes a carriage return itself for a line end.
            Self.entry(
                "u\(index)",
                try Self.attributes(changes: [
                    "PRIVATE_KEY_PEM": text.replacing("\r\n", with: "&#13;\n"),
                    "CREDENTIAL_ID": Base64URL.encoded([UInt8(index)]),
                ]))
        }
        try Self.keePass(entries.joined()).stored(in: vault, of: "kdbx")
        #expect(try vault.passkeys(of: nil).count == 4)
        #expect(Set(try Self.keePassAttributes(vault).map { $0["KPEX_PASSKEY_PRIVATE_KEY_PEM"] }) == Set(texts))
    }

    @Test func `the names of StrongBox are read as KeePassXC reads them`() throws {
        let attributes = try Self.attributes(changes: [
            "GENERATED_USER_ID": Base64URL.encoded([5, 6]), "KPXC_PASSKEY_USERNAME": "grace",
        ])
        let passkey = try #require(try Self.keePass(Self.entry("u", attributes)).logins[0].passkeys.first?.passkey)
        #expect(passkey.credentialID == [5, 6] && passkey.names.user == "grace")
    }

    @Test func `each passkey of a login is an entry for KeePassXC`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.bitwarden(Self.credential(), Self.credential(["credentialId": "\"b64.AQ\""]))
            .stored(in: vault, of: "bitwarden")
        let out = try Self.keePassAttributes(vault)
        #expect(
            Set(out.map { $0["KPEX_PASSKEY_CREDENTIAL_ID"] }) == ["ABEiM0RVZneImaq7zN3u_w", "AQ"] && out.count == 2)
        #expect(out.allSatisfy { $0["KPEX_PASSKEY_FLAG_BE"] == "1" && $0["KPEX_PASSKEY_FLAG_BS"] == "1" })
    }

    // MARK: Bitwarden

    @Test(arguments: [
        [:], ["credentialId": "\"b64.AQIDBAUGBwg\""], ["rpName": "null"], ["discoverable": "\"false\""],
        ["counter": "\"41\""], ["later": "{\"a\":[1,null]}"],
    ])
    func `a passkey of Bitwarden comes out byte for byte`(_ changes: [String: String]) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let text = try Self.credential(changes)
        #expect(try Self.bitwarden(text).stored(in: vault, of: "bitwarden").counts == "added 2")
        #expect(try Self.bitwardenPasskeys(vault) == [text])
        let passkey = try #require(try vault.passkeys(of: "example.com").first)
        #expect(passkey.isBackupEligible && passkey.algorithm == .es256)
    }

    @Test func `a counter goes on, here and in the export`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.bitwarden(Self.credential(["counter": "\"41\""])).stored(in: vault, of: "bitwarden")
        #expect(try vault.countSignature(of: try #require(try vault.passkeys(of: nil).first)) == 42)
        #expect(try Self.bitwardenPasskeys(vault) == [try Self.credential(["counter": "\"42\""])])
        // Another import does not set the counter back.
        let again = try Self.bitwarden(Self.credential(["counter": "\"41\""])).stored(in: vault, of: "bitwarden")
        #expect(again.counts == "unchanged 2")
        #expect(try vault.passkeys(of: nil).map(\.counter) == [42])
    }

    @Test func `what a format has no room for is counted`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let prf = Data(repeating: 9, count: 32).base64EncodedString()
        try Self.keePass(
            Self.entry("u", Self.attributes("botan.ed25519", changes: ["PRF": prf])),
            Self.entry("v", Self.attributes(changes: ["CREDENTIAL_ID": "AQ"]))
        ).stored(in: vault, of: "kdbx")
        #expect(try Self.bitwardenPasskeys(vault).count == 1)
        var bitwarden = try Self.exported(vault)
        _ = try BitwardenExport.text(&bitwarden)
        #expect(
            bitwarden.leftOut == [
                "passkeys with a key other than of P-256": 1, "statements that a passkey cannot be backed up": 1,
            ])
        let other = try Vault.inMemory(accessGroups: .standard)
        try Self.bitwarden(Self.credential(["counter": "\"41\"", "userDisplayName": "\"Ada L.\""]))
            .stored(in: other, of: "bitwarden")
        var keePass = try Self.exported(other)
        _ = try KeePassExport.text(&keePass)
        #expect(keePass.leftOut == ["signature counters of passkeys": 1, "display names of passkeys": 1])
        var csv = try Self.exported(other)
        _ = try CSVExport.text(&csv, for: try #require(CSVLayout.named("apple")))
        #expect(csv.leftOut["passkeys"] == 1 && csv.entries.count == 1)
    }

    // MARK: Twice

    @Test func `a second import changes nothing, and replaces a key of one identifier only with consent`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let first = try Self.keePass(Self.entry("u", Self.attributes()))
        #expect(try first.stored(in: vault, of: "kdbx").counts == "added 2")
        #expect(try first.stored(in: vault, of: "kdbx").counts == "unchanged 2")
        let other = try Self.keePass(Self.entry("u", Self.attributes("botan.ed25519")))
        #expect(try other.stored(in: vault, of: "kdbx").counts == "unchanged 1, differs 1")
        #expect(try vault.passkeys(of: nil).map(\.algorithm) == [.es256])
        #expect(try other.stored(in: vault, of: "kdbx", replaces: true).counts == "updated 1, unchanged 1")
        #expect(try vault.passkeys(of: nil).map(\.algorithm) == [.edDSA])
    }

    @Test func `another copy of a passkey adds the key of prf and a larger counter, and takes nothing`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let id = Base64URL.encoded([UInt8](1...8))
        func keePass(_ changes: [String: String]) throws -> ImportedLogins {
            try Self.keePass(
                Self.entry("u", Self.attributes(changes: changes.merging(["CREDENTIAL_ID": id]) { $1 })))
        }
        func bitwarden(_ counter: Int) throws -> ImportedLogins {
            try Self.bitwarden(Self.credential(["credentialId": "\"b64.\(id)\"", "counter": "\"\(counter)\""]))
        }
        try bitwarden(3).stored(in: vault, of: "bitwarden")
        let prf = Data(repeating: 9, count: 32).base64EncodedString()
        #expect(try keePass(["PRF": prf]).stored(in: vault, of: "kdbx").lines.last?.outcome == .updated)
        #expect(try bitwarden(7).stored(in: vault, of: "bitwarden").lines.last?.outcome == .updated)
        for again in [
            try keePass([:]).stored(in: vault, of: "kdbx"), try bitwarden(2).stored(in: vault, of: "bitwarden"),
        ] {
            #expect(again.lines.last?.outcome == .unchanged)
        }
        let passkey = try #require(try vault.passkeys(of: nil).first)
        #expect(passkey.counter == 7 && passkey.isBackupEligible)
        #expect(try passkey.pseudoRandomKey()?.exposed == [UInt8](repeating: 9, count: 32))
    }

    @Test func `a statement that no item has room for costs that statement alone`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let long = String(repeating: "x", count: 300)
        let imported = try Self.bitwarden(
            Self.credential([long: "1"]), Self.credential(["a\\u0007b": "1", "credentialId": "\"b64.AQ\""]),
            Self.credential([
                "creationDate": "\"\(String(repeating: "1", count: 70_000))\"", "credentialId": "\"b64.Ag\"",
            ]),
            Self.credential(["credentialId": "\"b64.Aw\""]))
        let report = try imported.stored(in: vault, of: "bitwarden")
        #expect(report.counts == "added 5")
        #expect(report.lines.map { $0.reason != nil } == [false, true, true, true, false])
        #expect(try vault.passkeys(of: nil).count == 4)
    }

    @Test func `the passkeys of a login that is too large come without it`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        var imported = try Self.bitwarden(Self.credential())
        for number in 0..<600 { imported.logins[0].addAttribute("a\(number)", String(repeating: "x", count: 200)) }
        #expect(try imported.stored(in: vault, of: "bitwarden").counts == "added 1, skipped 1")
        #expect(try vault.passkeys(of: nil).count == 1)
    }

    @Test func `a member of another product replaces none of a format's own`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let passkey = try Self.bitwarden(Self.credential()).logins[0].passkeys[0]
        var hostile = passkey
        for name in ["keyValue", "rpId", "key", "type", "later"] {
            hostile.fields["passkey.member." + name] = try Secret(text: "\"x\"")
        }
        hostile.fields["passkey.member.broken"] = try Secret(text: "}")
        try vault.add(hostile.item(source: "test:1/passkey", created: nil, in: nil))
        let members = ",\"key\":\"x\",\"later\":\"x\",\"type\":\"x\"}"
        let written = try #require(try Self.bitwardenPasskeys(vault).first)
        #expect(written.hasSuffix(members) && !written.contains("broken"))
        var entries = try Self.exported(vault)
        let cxf = try CXFExport.text(&entries).text
        #expect(cxf.contains("\"later\":\"x\"") && !cxf.contains("\"key\":\"x\"") && !cxf.contains("\"type\":\"x\""))
    }

    @Test func `two entries with one passkey make one`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let logins = try Self.keePass(Self.entry("u", Self.attributes()), Self.entry("v", Self.attributes()))
        let report = try logins.stored(in: vault, of: "kdbx")
        #expect(try vault.passkeys(of: nil).count == 1)
        #expect(report.lines.last?.outcome == .unchanged && report.lines.last?.reason == "the source has it twice")
    }

    @Test func `an import after one of an earlier version makes passkeys of the attributes`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        var earlier = try Self.bitwarden(Self.credential())
        earlier.logins[0].passkeys = []
        earlier.logins[0].addAttribute("passkey.rp", "example.com")
        earlier.logins[0].addField("passkey.key", try Secret(text: "S0VZ"))
        try earlier.stored(in: vault, of: "bitwarden")
        let report = try Self.bitwarden(Self.credential()).stored(in: vault, of: "bitwarden")
        #expect(report.counts == "added 1, updated 1")
        let login = try #require(try vault.all().first)
        #expect(login.userAttributes["passkey.rp"] == nil && !login.fieldNames.contains("passkey.key"))
        #expect(try Self.bitwardenPasskeys(vault) == [try Self.credential()])
    }

    // MARK: Made here

    @Test func `a passkey made here goes with the login of its account, else alone`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        for (server, account) in [("evil-example.com", "ada"), ("example.com", "grace"), ("login.example.com", "ada")] {
            try vault.add(
                Item(
                    .internetPassword(server: server, account: account, protocol: "htps"), secret: try Secret(text: "p")
                ))
        }
        for (site, user) in [("example.com", "ada"), ("example.com", "eve")] {
            let key = try PasskeyKey.make(.es256)
            try vault.add(
                Passkey(
                    site, Passkey.Names(relyingParty: "Example", user: user), credentialID: Array(user.utf8), key: key,
                    userHandle: try Secret(bytes: [1])))
        }
        let entries = try Self.exported(vault).entries
        #expect(entries.map(\.passkeys.count) == [0, 0, 1, 1])
        #expect(entries[2].passkeys[0].passkey.names.user == "ada")
        #expect(entries[3].title == "Example (Passkey)" && entries[3].urls == ["https://example.com"])
        // Both come back as the passkeys they were.
        let other = try Vault.inMemory(accessGroups: .standard)
        var out = try Self.exported(vault)
        let text = try BitwardenExport.text(&out)
        try Bitwarden.logins(Document(text)) { throw ImportError.wrongPassphrase }.stored(in: other, of: "bitwarden")
        #expect(
            try Set(other.passkeys(of: nil).map { try $0.exportedKey().exposed })
                == Set(vault.passkeys(of: nil).map { try $0.exportedKey().exposed }))
    }
}
