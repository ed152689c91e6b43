// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultSSHAgent

@testable import VaultImport

/// Documents of the Credential Exchange Format, and items with every part that it has room for.
enum CXFSamples {
    static func document(_ name: String) throws -> Document {
        try Document(Secret(bytes: try Vectors.bytes("cxf/\(name).json")))
    }

    static func logins(_ document: Document) throws -> ImportedLogins {
        try CXF.logins(document) { key, comment, isConfirmed in
            guard let file = SSHKeyConversion.file(key, comment: comment),
                let key = SSHItems.described(file: file, isConfirmed: isConfirmed)
            else { return nil }
            let item = SSHKeyItem(
                service: SSHItems.service, fingerprint: key.fingerprint, attributes: key.attributes)
            return (file, item)
        }
    }

    /// Returns the export of a vault.
    static func export(_ entries: inout ExportedEntries) throws -> Document {
        let now = Date(timeIntervalSince1970: 1_755_129_600)
        return try Document(
            CXFExport.text(&entries, at: now) { file in
                SSHKeyConversion.exported(file: file).map {
                    (type: $0.type, comment: $0.comment, key: $0.key)
                }
            })
    }

    static func entries(_ vault: Vault) throws -> ExportedEntries {
        try ExportedEntries(vault.all() + vault.passkeys(of: nil).map(\.item))
    }

    /// Returns what a vault contains, apart from the marks of imports, one item a line.
    static func content(_ vault: Vault) throws -> [String] {
        try (vault.all() + vault.passkeys(of: nil).map(\.item)).map(content).sorted()
    }

    private static func content(_ item: Item) throws -> String {
        let attributes: [Attribute] = [
            .service, .account, .server, .protocolName, .port, .path, .label, .comment, .itemDescription, .accessGroup,
            .applicationLabel, .applicationTag,
        ]
        var parts = attributes.compactMap { name in item[name].map { "\(name)=\($0)" } }
        // A passkey has no times of its source.
        if item.itemClass != .key, let record = item.record {
            parts += [record.created, record.modified].map { String(Int($0.timeIntervalSince1970)) }
        }
        parts += item.userAttributes.filter { $0.key != ItemNames.source }.map { "\($0)=\($1)" }.sorted()
        parts.append("secret=\(try item.openedSecret()?.exposed ?? [])")
        for name in item.fieldNames.sorted() where name != ItemNames.fingerprint {
            parts.append("\(name)=\(try item.openedSecret(field: name)?.exposed ?? [])")
        }
        return "\(item.itemClass) " + parts.joined(separator: " | ")
    }

    static func vault() throws -> Vault { try Vault.inMemory(accessGroups: .standard) }

    /// Returns a login made at random, of the parts that the format has room for.
    static func login(_ number: Int, _ random: SeededRandom) throws -> Login {
        var login = Login(id: Base64URL.encoded(Array("entry \(number)".utf8)), place: "entry \(number)")
        login.title = "Title \(number) " + text(random)
        login.created = Date(timeIntervalSince1970: Double(random.number(in: 1...1_700_000_000)))
        login.modified = login.created.map { $0 + Double(random.number(in: 0...1_000_000)) }
        switch random.number(in: 0...5) {
        case 0:
            login.kind = "secure note"
            login.password = try Secret(text: "note\n" + text(random))
        case 1:
            login.kind = "card"
            try addFields(["number", "cardholderName", "brand", "code", "pin", "validFrom"], &login, random)
            try addFields(["expMonth", "expYear", "expiryDate"], &login, random) { name in
                name == "expMonth" ? random.element(of: ["4", "12", "04", "13"]) : random.element(of: ["2027", "27"])
            }
        case 2:
            login.kind = random.element(of: ["identity", "card", "passport"])
            try addFields(
                ["title", "firstName", "lastName", "address1", "address2", "state", "phone", "ssn", "generation"],
                &login, random)
        default: break
        }
        if login.kind == nil || random.chance(20) {
            login.user = random.chance(80) ? text(random) : ""
            login.password = random.chance(80) ? try Secret(text: text(random)) : login.password
            login.notes = random.chance(40) ? text(random) + "\n" + text(random) : ""
            for _ in 0..<random.number(in: 0...3) {
                login.urls.append(
                    "https://host\(random.number(in: 0...99)).example/\(number)?q=\(random.number(in: 0...9))")
            }
            try addCodes(&login, random)
            try addPasskeys(&login, number, random)
        }
        login.folder = random.element(of: ["", "Web", "Web/Mail", "Work//x/", String(repeating: "a/", count: 40)])
        try addOthers(&login, random)
        return login
    }

    private static func text(_ random: SeededRandom) -> String {
        random.element(of: ["ada", "ä\"\\b", "a,b", "[x]", "two\tlines\nor more", "😀 {}", "null", "=%3D:/"])
    }

    private static func addFields(
        _ names: [String], _ login: inout Login, _ random: SeededRandom, _ value: ((String) -> String)? = nil
    ) throws {
        for name in names where random.chance(60) {
            login.addField(name, try Secret(text: value?(name) ?? text(random)))
        }
    }

    private static func addCodes(_ login: inout Login, _ random: SeededRandom) throws {
        let codes = [
            "JBSWY3DPEHPK3PXP", "jbsw y3dp", "otpauth://totp/A:b%20c?secret=JBSWY3DP&issuer=A",
            "otpauth://totp/A:ada?secret=JBSWY3DP&algorithm=SHA512&digits=8&period=60&issuer=A",
            "otpauth://totp/ada?secret=JBSWY3DP&image=x&algorithm=SHA1", "otpauth://totp/A%3Ab:c?secret=JBSWY3DP%3D",
            "otpauth://hotp/A:ada?secret=JBSWY3DP&counter=7", "otpauth://steam/x?secret=JBSWY3DP", "not base 32!",
        ]
        for name in ["otp", "otp.2", "otp.3"] where random.chance(40) {
            login.addField(name, try Secret(text: random.element(of: codes)))
        }
    }

    private static func addPasskeys(_ login: inout Login, _ number: Int, _ random: SeededRandom) throws {
        let vectors = try Vectors.table("webauthn/pkcs8.txt")
        for index in 0..<random.number(in: 0...2) {
            let name = random.element(of: ["p256", "ed25519", "botan.rsa", "p256.with-curve"])
            let usable = try PortablePasskey.usable(
                "example.org",
                Passkey.Names(
                    relyingParty: random.element(of: ["", "Example", "example.org"]), user: "ada", display: "Ada"),
                credentialID: Array("\(number) \(index)".utf8),
                key: try Secret(bytes: [UInt8](hexadecimal: vectors[name] ?? "")),
                userHandle: try Secret(bytes: [UInt8](repeating: 3, count: random.number(in: 1...64))),
                pseudoRandomKey: random.chance(50) ? try Secret(bytes: [UInt8](repeating: 5, count: 32)) : nil,
                isBackupEligible: random.chance(50))
            guard var usable else { continue }
            if random.chance(30) {
                usable.attributes = [PortablePasskey.Statement.flags: "BE=1 BS=0"]
                usable.fields = [
                    PortablePasskey.Statement.pem: try Secret(text: "pem\n"),
                    PortablePasskey.Statement.extensions: try Secret(text: #"{"payments":true}"#),
                    PortablePasskey.Statement.member + "later": try Secret(text: #"{"a":[1]}"#),
                ]
                if usable.pseudoRandomKey != nil {
                    usable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey] = try Secret(
                        bytes: [UInt8](repeating: 6, count: 32))
                }
            }
            login.passkeys.append(usable)
        }
    }

    private static func addOthers(_ login: inout Login, _ random: SeededRandom) throws {
        let attributes = [
            ("favorite", "true"), ("favorite", "1"), ("subtitle", "s"), ("tags", "a,b"), ("tags", #"["a,b",""]"#),
            ("tags", "[x"), ("android-apps", #"[{"bundleId": "a.b"}]"#), ("android-apps", "none"), ("folder", "mine"),
            ("folder.2", "Other/x"), ("item-reference", "aXRlbQ"), ("item-reference.2", "aXRlbQ/YWNj"),
            ("item-reference", "a/b/c"), ("plain", "value"), ("account", "ada@example.com"), ("url", "x"),
        ]
        for (name, value) in attributes where random.chance(15) { login.addAttribute(name, value) }
        if random.chance(30) {
            login.addAttribute("on", "true")
            login.booleans = ["on"]
        }
        let fields = [
            ("pin", "1"), ("wifi.ssid", "net"), ("wifi.passphrase", "w"), ("wifi.2.ssid", "n"), ("wifi.3.ssid", "n"),
            ("wifi.other", "o"), ("generated-password.password", "g"), ("basic-auth.2.username", "u"),
            ("basic-auth.password", "u"), ("credit-card.number", "n"), ("note.2.content", "c"),
            ("person-name.given", "g"),
            ("ssh-key.privateKey", "k"), ("passkey.key", "k"), ("passkey.fido2Extensions", #"{"x":1}"#),
            ("extensions", #"[{"name":"shared"}]"#), ("extensions", "[1]"),
            ("credential.future", #"{"type":"future"}"#),
            ("credential.note", #"{"type":"note"}"#), ("credential.odd", "{"), ("totp.secret", "A"),
        ]
        for (name, value) in fields where random.chance(12) { login.addField(name, try Secret(text: value)) }
    }
}
