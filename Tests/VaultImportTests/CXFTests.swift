// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import VaultCrypto
import VaultFormat
import VaultSSHAgent

@testable import Vault
@testable import VaultImport

/// FIDO's Credential Exchange Format, as other products write it.
struct CXFTests {
    // MARK: Refusals

    @Test(arguments: [
        ("url,username,password\n", "this is not JSON"), ("[]", "this is no CXF: it has no accounts"),
        ("{}", "this is no CXF: it has no accounts"),
        (#"{"encrypted": false, "items": []}"#, "this is no CXF: it has no accounts"),
        (#"{"accounts": [{"attrs": {}, "vaults": []}]}"#, "this is no CXF: it has no accounts"),
        (#"{"version": {"major": 2, "minor": 0}, "accounts": []}"#, "a version of CXF that is not known"),
        (#"{"version": {"major": "1.0"}, "accounts": []}"#, "a version of CXF that is not known"),
        (#"{"version": {"major": 1}, "accounts": [7]}"#, "line 1: an account without items"),
        (
            #"{"version": {"major": 1}, "accounts": [{"items": []}, {"items": {}}]}"#,
            "account 2, line 1: an account without items"
        ),
        (#"{"items": [{"credentials": [{"type": 7, "a": "#, "line 1: the text ends early"),
    ])
    func `what is no CXF is refused with its place`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try CXF.logins(Document(text: text)) } == expected)
    }

    @Test func `an item or a credential that cannot be read is skipped, and the others come`() throws {
        let good = #"{"id": "g", "title": "good", "credentials": [{}, {"type": "totp", "secret": "AAAA"}]}"#
        let imported = try CXF.logins(
            Document(
                text: #"{"version": {"major": 1}, "accounts": [{"items": ["x", {"credentials": {}}, \#(good)]}]}"#))
        #expect(imported.logins.map(\.title) == ["good"])
        #expect(
            imported.skipped.map { "\($0.place): \($0.reason)" } == [
                "entry 1, line 1: an item without credentials", "entry 2, line 1: an item without credentials",
                "entry 3: a credential without a type, in line 1",
            ])
    }

    @Test func `a document that is cut anywhere is refused`() throws {
        let whole = try CXFSamples.document("header").content.text.utf8
        let text = Array(whole)
        for length in stride(from: 0, to: text.count - 2, by: 97) {
            let cut = try Secret(bytes: Array(text[..<length]))
            #expect(flaw { _ = try CXF.logins(Document(cut)) } != nil, "\(length)")
        }
    }

    @Test func `a passkey that no site accepts stays with its login, and is reported`() throws {
        let imported = try CXFSamples.logins(CXFSamples.document("header"))
        let login = try #require(imported.logins.first { $0.title == "Odd" })
        #expect(login.passkeys.isEmpty && !login.isOnlyPasskeys)
        #expect(login.texts["passkey.rpId"] == "example.com" && login.texts["passkey.2.rpId"] == "Example.COM")
        #expect(login.texts["passkey.key"] != nil && login.texts["passkey.userHandle"] == nil)
        let reasons = imported.skipped.filter { $0.place == "entry 9" }.map(\.reason)
        #expect(reasons.count == 2 && reasons.allSatisfy { $0.contains("no site accepts") })
    }

    @Test(arguments: [
        ("userHandle", "\"\""), ("userHandle", "\"\(String(repeating: "A", count: 87))\""), ("userHandle", "\"a=\""),
        ("key", "\"AAAA\""), ("key", "7"), ("key", "\"MC4\""), ("credentialId", "\"\""), ("credentialId", "\"!\""),
        ("rpId", "\"\""), ("rpId", "\"a b\""), ("rpId", "null"),
        ("username", "\"\(String(repeating: "u", count: 257))\""),
    ])
    func `a passkey with one bad member is none`(_ member: String, _ value: String) throws {
        let text = try CXFSamples.document("header").content.text
        let root = try JSONValue(Document(text: text))
        let item = try #require(root["accounts"]?.elements.first?["items"]?.elements[6])
        let credential = try #require(item["credentials"]?.elements.first)
        let good = try credential.members.map { "\"\($0.key)\": \(try $0.value.source().text)" }
        let bad = good.filter { !$0.hasPrefix("\"\(member)\":") } + ["\"\(member)\": \(value)"]
        func passkeys(_ members: [String]) throws -> Int {
            let item = #"{"title": "x", "credentials": [{\#(members.joined(separator: ", "))}]}"#
            return try CXF.logins(Document(text: #"{"items": [\#(item)]}"#)).logins[0].passkeys.count
        }
        #expect(try passkeys(good) == 1 && passkeys(bad) == 0)
    }

    // MARK: What comes in

    @Test func `a login comes with every part`() throws {
        let imported = try CXFSamples.logins(CXFSamples.document("header"))
        #expect(imported.logins.count == 9)
        let login = imported.logins[0]
        #expect(login.title == "Example" && login.user == "ada" && login.password?.text == "pä\"ss")
        #expect(login.urls == ["https://example.com/login?next=/", "https://b.example"] && login.folder == "Web/Mail")
        #expect(login.notes == "a note\nof two lines" && login.kind == nil && login.booleans == ["on"])
        #expect(login.created?.timeIntervalSince1970 == 1_577_934_245)
        let otp =
            "otpauth://totp/Example:ada%40x?secret=JBSWY3DPEHPK3PXP&algorithm=SHA256&digits=8&period=60&issuer=Example"
        let shared = try JSONValue(Document(text: try #require(login.texts["extensions"])))
        #expect(shared.elements.map { $0["name"]?.text } == ["shared"])
        #expect(
            login.texts.filter { $0.key != "extensions" } == ["otp": otp, "pin": "1234", "later": "hidden"])
        #expect(
            login.named.filter { $0.key != "android-apps" } == [
                "favorite": "true", "subtitle": "the first", "tags": "web\nfirst, of two", "plain": "v",
                "on": "true", "since": "2025-02-24", "folder": "mine", "Section.size": "7", "folder.2": "Work",
                "item-reference": "aXRlbS0wMg",
            ])
        #expect(login.named["android-apps"]?.contains("com.example.app") == true)
        #expect(imported.skipped.map(\.reason).first == "a file, whose content is not in the export")
    }

    @Test func `a passkey comes with the keys of both kinds, and its other extensions`() throws {
        let login = try CXFSamples.logins(CXFSamples.document("header")).logins[0]
        let portable = try #require(login.passkeys.first)
        #expect(portable.passkey.relyingParty == "example.com" && portable.passkey.credentialID == [UInt8](0...15))
        #expect(portable.passkey.names == Passkey.Names(user: "ada", display: "Ada L."))
        #expect(portable.passkey.isBackupEligible && portable.passkey.counter == 0)
        #expect(portable.userHandle.text == "user-1")
        #expect(portable.pseudoRandomKey?.exposed == [UInt8](repeating: 5, count: 32))
        let unverified = portable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey]
        #expect(unverified?.exposed == [UInt8](repeating: 6, count: 32))
        let others = try #require(portable.fields[PortablePasskey.Statement.extensions])
        let value = try JSONValue(Document(others))
        #expect(value.members.map(\.key) == ["largeBlob", "payments"] && value["payments"]?.boolean == true)
    }

    @Test func `an item of passkeys alone makes no login, and tells the name of the site`() throws {
        let imported = try CXFSamples.logins(CXFSamples.document("header"))
        let login = try #require(imported.logins.first { $0.title == "Example Mail" })
        #expect(login.isOnlyPasskeys && login.passkeys[0].passkey.names.relyingParty == "Example Mail")
        // The example of the specification has another form of the keys than its text.
        #expect(login.passkeys[0].pseudoRandomKey?.exposed == [UInt8](repeating: 7, count: 32))
        let vault = try CXFSamples.vault()
        var alone = ImportedLogins()
        alone.logins = [login]
        #expect(try alone.stored(in: vault, of: "cxf").counts == "added 1")
        #expect(try vault.all().isEmpty && vault.passkeys(of: "example.org").count == 1)
        #expect(try alone.stored(in: vault, of: "cxf").counts == "unchanged 1")
    }

    @Test func `notes, cards, identities and other kinds come by their names`() throws {
        let logins = try CXFSamples.logins(CXFSamples.document("header")).logins
        #expect(logins[1].kind == "secure note" && logins[1].password?.text == "the note")
        #expect(logins[2].kind == "card" && logins[2].notes == "of the bank" && logins[2].folder == "Work")
        #expect(
            logins[2].texts == [
                "number": "4111111111111111", "cardholderName": "Ada L.", "brand": "Visa", "code": "123",
                "pin": "9876", "expYear": "2027", "expMonth": "4", "validFrom": "2023-05",
            ])
        #expect(logins[3].kind == "identity")
        #expect(
            logins[3].texts == [
                "title": "Dr", "firstName": "Ada", "middleName": "Augusta", "surnamePrefix": "of",
                "lastName": "Lovelace", "address1": "12 St James's Square", "postalCode": "SW1Y", "city": "London",
                "state": "GB-LND", "country": "GB", "phone": "+44 20",
            ])
        #expect(
            logins[5].texts == [
                "wifi.ssid": "net", "wifi.networkSecurityType": "wpa3-personal", "wifi.passphrase": "wi fi",
                "wifi.hidden": "false", "api-key.key": "k1", "api-key.keyType": "bearer",
                "generated-password.password": "g1", "generated-password.2.password": "g2",
                "passport.passportNumber": "P1", "passport.issuingCountry": "GB",
                "drivers-license.licenseNumber": "L1", "drivers-license.territory": "GB-LND",
                "identity-document.documentNumber": "D1",
            ])
    }

    @Test func `a second credential of a kind, and one of a kind that is not known, lose nothing`() throws {
        let login = try CXFSamples.logins(CXFSamples.document("header")).logins[7]
        #expect(login.user == "one" && login.password?.text == "1" && login.texts["otp"] == "JBSWY3DP")
        #expect(login.texts["basic-auth.2.username"] == "two" && login.texts["basic-auth.2.password"] == "2")
        #expect(login.texts["totp.2.algorithm"] == "sha3-256" && login.texts["totp.2.secret"] == "JBSWY3DP")
        #expect(login.texts["credential.future-credential"]?.contains("future-credential") == true)
    }

    @Test func `an account alone is read, and several with the name of each`() throws {
        let one = try CXFSamples.logins(CXFSamples.document("account")).logins
        #expect(one.map(\.title) == ["Login of ada"] && one[0].attributes.isEmpty)
        let two = try CXFSamples.logins(CXFSamples.document("accounts")).logins
        #expect(two.map { $0.named["account"] } == ["ada@example.com", "grace@example.com"])
        #expect(two.map(\.place) == ["account 1, entry 1", "account 2, entry 1"])
        for name in ["header", "account", "accounts"] {
            #expect(FormatGuess.format(of: try CXFSamples.document(name).content) == "cxf")
        }
    }

    @Test func `an ssh key is served by the door, and another stays as fields`() throws {
        let imported = try CXFSamples.logins(CXFSamples.document("header"))
        let vault = try CXFSamples.vault()
        try imported.stored(in: vault, of: "cxf")
        let listed = try SSHItems(vault).listed()
        #expect(listed.map(\.comment) == ["laptop"] && listed.map(\.kind) == ["ED25519"])
        #expect(listed[0].item.fieldNames.contains("ssh-key.creationDate"))
        let refused = try CXF.logins(CXFSamples.document("header")).logins[4]
        #expect(refused.kind == "ssh key" && refused.password == nil)
        #expect(refused.texts["ssh-key.keyType"] == "ssh-ed25519" && refused.texts["ssh-key.privateKey"] != nil)
    }
}
