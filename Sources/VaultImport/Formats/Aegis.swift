// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// Aegis' JSON: seeds of one-time passwords, in clear text or encrypted with a passphrase.
package enum Aegis {
    /// The supported types. Steam's alphabet, HOTP counters and the parameters of others are kept unchanged, in URIs.
    private static let kinds: Set<String> = ["totp", "hotp", "steam", "yandex", "motp"]

    package static func logins(
        _ document: Document, passphrase: () throws -> Secret
    ) throws(ImportError) -> ImportedLogins {
        let root = try JSONValue(ofExport: document)
        guard let database = root["db"], root["header"] != nil else {
            throw .otherFormat("this is no export of Aegis': it has no database", hint: nil)
        }
        guard !database.isObject else { return try logins(database) }
        let opened = try AegisEncryption(root).opened(try outside { try passphrase() })
        var imported = try logins(JSONValue(Document(opened)))
        imported.wereEncrypted = true
        return imported
    }

    private static func logins(_ database: JSONValue) throws(ImportError) -> ImportedLogins {
        guard let entries = database["entries"], entries.isArray else {
            throw .otherFormat("this is no database of Aegis': it has no entries", hint: nil)
        }
        var groups: [String: String] = [:]
        for group in database["groups"]?.elements ?? [] {
            if let id = group["uuid"]?.text { groups[id] = group["name"]?.text }
        }
        var imported = ImportedLogins()
        for (index, entry) in entries.elements.enumerated() {
            let place = "entry \(index + 1)"
            guard let kind = entry["type"]?.text, let info = entry["info"], let key = try info["secret"]?.secret()
            else {
                imported.skip("\(place), line \(entry.line)", "an entry without a key")
                continue
            }
            guard kinds.contains(kind) else {
                imported.skip(place, "a kind that is not known")
                continue
            }
            var login = Login(id: entry["uuid"]?.text, place: place, position: index + 1)
            login.user = entry["name"]?.text ?? ""
            login.title = entry["issuer"]?.text ?? ""
            if login.title.isEmpty { (login.title, login.user) = (login.user, "") }
            login.address = .service(login.title.isEmpty ? "otp" : login.title)
            login.notes = entry["note"]?.text ?? ""
            let folder = entry["groups"]?.elements.first?.text.flatMap { groups[$0] } ?? entry["group"]?.text
            login.folder = folder ?? ""
            let parameters = [
                ("algorithm", "algo"), ("digits", "digits"), ("period", "period"), ("counter", "counter"),
            ]
            let uri = try OTPAuth.uri(
                kind: kind, issuer: login.title, account: login.user, key: key,
                parameters.map { ($0, info[$1]?.text ?? "") } + [("issuer", entry["issuer"]?.text ?? "")])
            login.addField(ItemNames.otp, uri)
            login.addField("pin", try info["pin"]?.secret())
            imported.logins.append(login)
        }
        return imported
    }
}

/// Aegis' encryption: a master key in slots, each encrypted with a key derived by scrypt, all by AES-256-GCM.
private struct AegisEncryption {
    private static let memoryLimit: UInt64 = 1 << 30

    private struct Sealed {
        let nonce: Secret
        let tag: Secret
        let text: Secret

        init(_ parameters: JSONValue?, _ text: Secret?) throws(ImportError) {
            guard let nonce = try AegisEncryption.decoded(parameters?["nonce"]), nonce.count == 12,
                let tag = try AegisEncryption.decoded(parameters?["tag"]), tag.count == 16, let text
            else { throw .malformed("header", "it is not encrypted as Aegis does it") }
            (self.nonce, self.tag, self.text) = (nonce, tag, text)
        }

        func opened(_ key: Secret) throws(CryptoError) -> Secret {
            try text.withBytes { text throws(CryptoError) in
                try nonce.withBytes { nonce throws(CryptoError) in
                    try tag.withBytes { tag throws(CryptoError) in
                        Secret(try ForeignCipher.openedGCM(text, key: key.bytes, nonce: nonce, tag: tag))
                    }
                }
            }
        }
    }

    /// The keys of passphrases: each opens with what scrypt derives from one.
    private let slots: [(derive: (Secret) throws(CryptoError) -> Secret, key: Sealed)]
    private let database: Sealed

    init(_ root: JSONValue) throws(ImportError) {
        let header = root["header"]
        // Type 1 is a passphrase; the other types are tied to a phone.
        slots = try (header?["slots"]?.elements ?? []).filter { $0["type"]?.integer == 1 }
            .map { slot throws(ImportError) in
                guard let cost = slot["n"]?.integer, let blocks = slot["r"]?.integer, let lanes = slot["p"]?.integer,
                    cost > 1, cost.nonzeroBitCount == 1, (1...64).contains(blocks), (1...16).contains(lanes),
                    UInt64(cost) <= AegisEncryption.memoryLimit / 128 / UInt64(blocks)
                else { throw .tooExpensive }
                guard let salt = try AegisEncryption.decoded(slot["salt"]),
                    let text = try AegisEncryption.decoded(slot["key"])
                else { throw .malformed("header", "a slot has no key") }
                let derive = { (passphrase: Secret) throws(CryptoError) in
                    try salt.withBytes { salt throws(CryptoError) in
                        Secret(
                            try ForeignDerivation.scrypt(
                                passphrase.bytes, salt: salt, cost: UInt64(cost), blocks: UInt32(blocks),
                                lanes: UInt32(lanes)))
                    }
                }
                return (derive, try Sealed(slot["key_params"], text))
            }
        guard !slots.isEmpty, slots.count <= 8 else {
            throw .otherFormat("no passphrase opens the export", hint: "export it with a password, or without")
        }
        database = try Sealed(header?["params"], try root["db"]?.secret()?.decodedBase64())
    }

    private static func decoded(_ value: JSONValue?) throws(ImportError) -> Secret? {
        guard let digits = value?.text, let bytes = VaultFormat.bytes(hexadecimal: digits.lowercased()) else {
            return nil
        }
        return try secured(Secret(try SecretBytes(copying: bytes.span)))
    }

    func opened(_ passphrase: Secret) throws(ImportError) -> Secret {
        for slot in slots {
            do throws(CryptoError) {
                let master = try slot.key.opened(slot.derive(passphrase))
                guard master.count == 32 else { continue }
                return try database.opened(master)
            } catch { guard error == .authenticationFailed else { throw ImportError(library: error) } }
        }
        throw .wrongPassphrase
    }
}
