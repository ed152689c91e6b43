// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// Bitwarden's JSON export, in clear text.
package enum BitwardenExport {
    package static func text(_ entries: inout ExportedEntries) throws(ImportError) -> Secret {
        do throws(CryptoError) { return try write(&entries) } catch { throw .cryptography(error) }
    }

    private static func write(_ entries: inout ExportedEntries) throws(CryptoError) -> Secret {
        var json = try JSONWriter()
        try json.begin("{")
        try json.member("encrypted", raw: "false")
        try json.name("folders")
        try json.begin("[")
        let folders = Set(entries.entries.map(\.folder)).filter { !$0.isEmpty }.sorted()
        for folder in folders {
            try json.begin("{")
            try json.member("id", folderID(folder))
            try json.member("name", folder)
            try json.end("}")
        }
        try json.end("]")
        try json.name("items")
        try json.begin("[")
        for entry in entries.entries {
            let secrets = [entry.password, entry.otp, entry.notes] + entry.fields.map { $0.secret }
            guard secrets.allSatisfy({ $0?.isUTF8 ?? true }) else {
                entries.leaveOutWhole("logins with a secret that is no text")
                entries.leaveOut("passkeys of such logins", entry.passkeys.count)
                continue
            }
            guard !entry.isPasskeyAlone || entry.passkeys.allSatisfy({ BitwardenPasskey.canWrite($0) }) else {
                entries.leaveOutWhole("passkeys with a key other than of P-256")
                continue
            }
            try write(entry, &json, &entries)
            entries.leaveOut("attachments", entry.attachments.count)
            BitwardenPasskey.count(entry.passkeys, &entries)
        }
        try json.end("]")
        try json.end("}")
        return try json.line()
    }

    /// Returns a UUID derived from the name, the same each time.
    private static func folderID(_ name: String) -> String {
        let bytes = Array(name.utf8)
        let digest = KeyedHash.digest(bytes.span)
        let digits = Array(hexadecimal((0..<16).map { digest.bytes[$0] }))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// The members of the types without a password, by Bitwarden's names; each was imported as a field.
    private static let members = [
        "card": ["cardholderName", "brand", "number", "expMonth", "expYear", "code"],
        "identity": [
            "title", "firstName", "middleName", "lastName", "address1", "address2", "address3", "city", "state",
            "postalCode", "country", "company", "email", "phone", "ssn", "username", "passportNumber", "licenseNumber",
        ],
        "ssh key": ["privateKey", "publicKey", "keyFingerprint"],
    ]

    private enum Kind: Int {
        case login = 1
        case note, card, identity, key
    }

    private static func write(
        _ given: ExportEntry, _ json: inout JSONWriter, _ entries: inout ExportedEntries
    ) throws(CryptoError) {
        var entry = given
        let kind = fittingKind(of: entry)
        entries.leaveOut("descriptions", kind == .login && entry.kind != nil ? 1 : 0)
        try json.begin("{")
        try json.member("id", entry.id(in: "bitwarden") ?? entry.id.uuidString.lowercased())
        if !entry.folder.isEmpty { try json.member("folderId", folderID(entry.folder)) }
        try json.member("name", entry.title)
        try json.member("type", raw: String(kind.rawValue))
        try json.member("notes", kind == .note ? entry.password : entry.notes)
        try json.member("favorite", raw: isMarked("favorite", &entry) ? "true" : "false")
        let isConfirmed = kind == .key && entry.attributes.contains { $0 == ("ssh.confirm", "true") }
        try json.member("reprompt", raw: isMarked("reprompt", &entry) || isConfirmed ? "1" : "0")
        try json.member("creationDate", entry.created.formatted(.iso8601))
        try json.member("revisionDate", entry.modified.formatted(.iso8601))
        switch kind {
        case .login: try writeLogin(&entry, &json)
        case .note:
            try json.name("secureNote")
            try json.begin("{")
            try json.member("type", raw: "0")
            try json.end("}")
        case .card: try writeMembers("card", of: "card", &entry, &json)
        case .identity: try writeMembers("identity", of: "identity", &entry, &json)
        case .key where entry.isServedKey: try writeKey(&entry, &json, &entries)
        case .key: try writeMembers("sshKey", of: "ssh key", &entry, &json)
        }
        try writeFields(entry, &json)
        try json.end("}")
    }

    private static func isMarked(_ name: String, _ entry: inout ExportEntry) -> Bool {
        guard let index = entry.attributes.firstIndex(where: { $0.name == name && ["true", "1"].contains($0.value) })
        else { return false }
        entry.attributes.remove(at: index)
        return true
    }

    /// Returns the type that loses no part of an entry: the original one if possible, else a login.
    private static func fittingKind(of entry: ExportEntry) -> Kind {
        let isLogin = !entry.urls.isEmpty || entry.otp != nil || !entry.passkeys.isEmpty
        if entry.isServedKey { return .key }
        switch entry.kind {
        case "secure note": return isLogin || !entry.user.isEmpty || entry.notes != nil ? .login : .note
        case let name? where members[name] != nil:
            let isFound = entry.fields.contains { members[name]?.contains($0.name) ?? false }
            // Earlier imports kept the whole object in the password.
            let isWhole = entry.id(in: "bitwarden") != nil && entry.password.map(isObject) ?? false
            guard !isLogin, isWhole || isFound && entry.user.isEmpty && entry.password?.isEmpty ?? true else {
                return .login
            }
            return name == "card" ? .card : name == "identity" ? .identity : .key
        default: return .login
        }
    }

    private static func isObject(_ secret: Secret) -> Bool {
        guard let document = try? Document(secret) else { return false }
        return (try? JSONValue(document))?.isObject ?? false
    }

    private static func writeMembers(
        _ name: String, of kind: String, _ entry: inout ExportEntry, _ json: inout JSONWriter
    ) throws(CryptoError) {
        if let whole = entry.password, !whole.isEmpty { return try json.member(name, raw: whole) }
        try json.name(name)
        try json.begin("{")
        for member in members[kind] ?? [] {
            let index = entry.fields.firstIndex { $0.name == member }
            try json.member(member, index.map { entry.fields.remove(at: $0).secret })
        }
        try json.end("}")
    }

    /// Writes an ssh key in the form that the ssh door stores.
    private static func writeKey(
        _ entry: inout ExportEntry, _ json: inout JSONWriter, _ entries: inout ExportedEntries
    ) throws(CryptoError) {
        func attribute(_ name: String) -> String? { entry.attributes.first { $0.name == name }?.value }
        try json.name("sshKey")
        try json.begin("{")
        try json.member("privateKey", entry.password)
        try json.member("publicKey", attribute("ssh.public") ?? "")
        try json.member("keyFingerprint", entry.user)
        try json.end("}")
        entries.leaveOut("certificates of ssh keys", attribute("ssh.certificate") == nil ? 0 : 1)
        entry.attributes.removeAll { $0.name.hasPrefix("ssh.") || $0 == ("service", "ssh") }
    }

    private static func writeFields(_ entry: ExportEntry, _ json: inout JSONWriter) throws(CryptoError) {
        try json.name("fields")
        try json.begin("[")
        for (name, value) in entry.attributes {
            let isLink = value.hasPrefix("linked:") && Int(value.dropFirst(7)) != nil
            try json.begin("{")
            try json.member("name", name)
            if isLink {
                try json.member("linkedId", raw: String(value.dropFirst(7)))
            } else {
                try json.member("value", value)
            }
            try json.member("type", raw: isLink ? "3" : entry.booleans.contains(name) ? "2" : "0")
            try json.end("}")
        }
        for (name, secret) in entry.fields {
            try json.begin("{")
            try json.member("name", name)
            try json.member("value", secret)
            try json.member("type", raw: "1")
            try json.end("}")
        }
        try json.end("]")
    }

    private static func writeLogin(_ entry: inout ExportEntry, _ json: inout JSONWriter) throws(CryptoError) {
        try json.name("login")
        try json.begin("{")
        try json.name("uris")
        try json.begin("[")
        for (index, url) in entry.urls.enumerated() {
            try json.begin("{")
            try json.member("uri", url)
            let place = entry.attributes.firstIndex { $0.name == ImportNames.match(of: index + 1) }
            let match = place.flatMap { Bitwarden.matches.firstIndex(of: entry.attributes[$0].value) }
            if let place, let match {
                try json.member("match", raw: String(match))
                entry.attributes.remove(at: place)
            }
            try json.end("}")
        }
        try json.end("]")
        try json.member("username", entry.user)
        try json.member("password", entry.password)
        try json.member("totp", entry.otp)
        try writePasskeys(&entry, &json)
        try json.end("}")
    }

    private static func writePasskeys(_ entry: inout ExportEntry, _ json: inout JSONWriter) throws(CryptoError) {
        // Earlier imports kept the passkeys unchanged, in one field.
        let isOwn = entry.id(in: "bitwarden") != nil
        if isOwn, let index = entry.fields.firstIndex(where: { $0.name == "passkey" && isArray($0.secret) }) {
            try json.member("fido2Credentials", raw: entry.fields.remove(at: index).secret)
            return
        }
        let parts = try BitwardenPasskey.takeParts(from: &entry)
        let passkeys = entry.passkeys.filter { BitwardenPasskey.canWrite($0) }
        guard !parts.isEmpty || !passkeys.isEmpty else { return }
        try json.name("fido2Credentials")
        try json.begin("[")
        for passkey in passkeys {
            try BitwardenPasskey.write(passkey, created: entry.created.formatted(.iso8601), &json)
        }
        for members in parts {
            try json.begin("{")
            for (member, value) in members { try json.member(member, value) }
            try json.end("}")
        }
        try json.end("]")
    }

    private static func isArray(_ secret: Secret) -> Bool {
        guard let document = try? Document(secret) else { return false }
        return (try? JSONValue(document))?.isArray ?? false
    }
}

extension Secret {
    var isUTF8: Bool { withBytes { $0.isUTF8 } }
}
