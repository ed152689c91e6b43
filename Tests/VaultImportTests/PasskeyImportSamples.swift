// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultImport

/// Files of other products with passkeys, and what exports to them contain.
extension PasskeyImportTests {
    /// A key in PKCS#8, from a vector.
    static func key(_ name: String) throws -> [UInt8] {
        [UInt8](hexadecimal: try #require(try Vectors.table("webauthn/pkcs8.txt")[name]))
    }

    static func pem(_ name: String) throws -> String {
        let text = Data(try key(name)).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n"
    }

    /// The attributes of KeePassXC, with some of them replaced or added.
    static func attributes(
        _ key: String = "botan.p256", changes: [String: String] = [:]
    ) throws -> [String: String] {
        let all = [
            "CREDENTIAL_ID": Base64URL.encoded([UInt8](1...32)), "PRIVATE_KEY_PEM": try pem(key),
            "RELYING_PARTY": "example.com", "USERNAME": "ada", "USER_HANDLE": Base64URL.encoded([UInt8](7...22)),
        ]
        var named: [String: String] = [:]
        for (name, value) in all { named["KPEX_PASSKEY_" + name] = value }
        for (name, value) in changes { named[name.hasPrefix("KP") ? name : "KPEX_PASSKEY_" + name] = value }
        return named
    }

    static let protected = ["CREDENTIAL_ID", "PRIVATE_KEY_PEM", "USER_HANDLE", "PRF", "GENERATED_USER_ID"]

    static func entry(_ id: String, _ attributes: [String: String]) -> String {
        let strings = attributes.sorted { $0.key < $1.key }.map { name, value in
            let isProtected = protected.contains { name.hasSuffix("_" + $0) }
            return ImportSamples.string(name, value, isProtected ? " ProtectInMemory=\"True\"" : "")
        }
        return "<Entry><UUID>\(id)</UUID>" + ImportSamples.string("Title", "Example (Passkey)")
            + ImportSamples.string("UserName", "ada") + ImportSamples.string("URL", "https://example.com")
            + strings.joined() + "</Entry>"
    }

    static func keePass(_ entries: String...) throws -> ImportedLogins {
        let reader = try KeePassXML()
        let bytes = Array(ImportSamples.file(entries.joined()).utf8)
        try reader.parse { take in try take(bytes.span) }
        return reader.imported
    }

    static func bitwarden(_ passkeys: String...) throws -> ImportedLogins {
        let text = """
            {"encrypted": false, "folders": [], "items": [{"id": "i1", "type": 1, "name": "Example", "login": {
              "uris": [{"uri": "https://example.com"}], "username": "ada",
              "fido2Credentials": [\(passkeys.joined(separator: ","))]}}]}
            """
        return try Bitwarden.logins(Document(text: text)) { throw ImportError.wrongPassphrase }
    }

    /// A passkey as Bitwarden writes it.
    static func credential(_ changes: [String: String] = [:]) throws -> String {
        var members = [
            ("credentialId", "\"00112233-4455-6677-8899-aabbccddeeff\""), ("keyType", "\"public-key\""),
            ("keyAlgorithm", "\"ECDSA\""), ("keyCurve", "\"P-256\""),
            ("keyValue", "\"\(Base64URL.encoded(try key("botan.p256")))\""), ("rpId", "\"example.com\""),
            ("userHandle", "\"BwgJ\""), ("userName", "\"ada\""), ("counter", "\"0\""), ("rpName", "\"Example\""),
            ("userDisplayName", "null"), ("discoverable", "\"true\""), ("creationDate", "\"2024-01-01T00:00:00.123Z\""),
        ]
        for index in members.indices { members[index].1 = changes[members[index].0] ?? members[index].1 }
        let others = changes.filter { change in !members.contains { $0.0 == change.key } }.map { ($0.key, $0.value) }
        return "{" + (members + others).map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    static func exported(_ vault: Vault) throws -> ExportedEntries {
        try ExportedEntries(vault.all() + vault.allMatching(Query(.key)))
    }

    /// The attributes of passkeys in the entries of an export for KeePassXC.
    static func keePassAttributes(_ vault: Vault) throws -> [[String: String]] {
        var entries = try exported(vault)
        let reader = try KeePassXML()
        let text = try KeePassExport.text(&entries).exposed
        // Another prefix keeps the reader from making passkeys of them.
        let hidden = String(decoding: text, as: UTF8.self).replacing("KPEX_", with: "_KPEX").replacing(
            "KPXC_", with: "_KPXC")
        let bytes = Array(hidden.utf8)
        try reader.parse { take in try take(bytes.span) }
        return reader.imported.logins.map { login in
            let all = login.named.merging(login.texts) { first, _ in first }.filter { $0.key.hasPrefix("_KP") }
            return Dictionary(
                uniqueKeysWithValues: all.map {
                    ($0.key.replacing("_KPEX", with: "KPEX_").replacing("_KPXC", with: "KPXC_"), $0.value)
                })
        }.filter { !$0.isEmpty }
    }

    static func bitwardenPasskeys(_ vault: Vault) throws -> [String] {
        var entries = try exported(vault)
        let root = try JSONValue(Document(try BitwardenExport.text(&entries)))
        return try (root["items"]?.elements ?? []).flatMap { item throws in
            try (item["login"]?["fido2Credentials"]?.elements ?? []).map { try $0.source().text }
        }
    }
}
