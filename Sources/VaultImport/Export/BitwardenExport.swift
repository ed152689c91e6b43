// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// Bitwarden's JSON, in clear.
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
                continue
            }
            try write(entry, &json)
            entries.leaveOut("attachments", entry.attachments.count)
            let isKnown = entry.kind == nil || ["secure note", "card", "identity", "ssh key"].contains(entry.kind)
            entries.leaveOut("descriptions", isKnown ? 0 : 1)
        }
        try json.end("]")
        try json.end("}")
        return try json.line()
    }

    /// A UUID that is always the same for a name.
    private static func folderID(_ name: String) -> String {
        let bytes = Array(name.utf8)
        let digest = KeyedHash.digest(bytes.span)
        let digits = Array(hexadecimal((0..<16).map { digest.bytes[$0] }))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func write(_ entry: ExportEntry, _ json: inout JSONWriter) throws(CryptoError) {
        try json.begin("{")
        try json.member("id", entry.id(in: "bitwarden") ?? entry.id.uuidString.lowercased())
        if !entry.folder.isEmpty { try json.member("folderId", folderID(entry.folder)) }
        try json.member("name", entry.title)
        let kinds = ["secure note": 2, "card": 3, "identity": 4, "ssh key": 5]
        let isOwn = entry.id(in: "bitwarden") != nil
        let kind = fittingKind(kinds[entry.kind ?? ""] ?? 1, entry, isOwn: isOwn)
        try json.member("type", raw: String(kind))
        try json.member("notes", kind == 2 ? entry.password : entry.notes)
        let isFavorite = entry.attributes.contains { $0.name == "favorite" && ["true", "1"].contains($0.value) }
        try json.member("favorite", raw: isFavorite ? "true" : "false")
        switch kind {
        case 2:
            try json.name("secureNote")
            try json.begin("{")
            try json.member("type", raw: "0")
            try json.end("}")
        // As they came.
        case 3...5: try json.member(["card", "identity", "sshKey"][kind - 3], raw: entry.password)
        default: try writeLogin(entry, &json)
        }
        try json.name("fields")
        try json.begin("[")
        for (name, value) in entry.attributes where name != "favorite" {
            let isLink = value.hasPrefix("linked:") && Int(value.dropFirst(7)) != nil
            try json.begin("{")
            try json.member("name", name)
            if isLink {
                try json.member("linkedId", raw: String(value.dropFirst(7)))
            } else {
                try json.member("value", value)
            }
            try json.member("type", raw: isLink ? "3" : "0")
            try json.end("}")
        }
        for (name, secret) in entry.fields where name != "passkey" || !isOwn || kind != 1 || !isArray(secret) {
            try json.begin("{")
            try json.member("name", name)
            try json.member("value", secret)
            try json.member("type", raw: "1")
            try json.end("}")
        }
        try json.end("]")
        try json.end("}")
    }

    /// What an entry can be without losing a part: as what it came, else a login.
    private static func fittingKind(_ kind: Int, _ entry: ExportEntry, isOwn: Bool) -> Int {
        switch kind {
        case 2:
            let hasMore = !entry.user.isEmpty || !entry.urls.isEmpty || entry.otp != nil || entry.notes != nil
            return hasMore ? 1 : 2
        case 3...5:
            guard isOwn, let secret = entry.password, let document = try? Document(secret),
                let value = try? JSONValue(document), value.isObject
            else { return 1 }
            return kind
        default: return 1
        }
    }

    private static func isArray(_ secret: Secret) -> Bool {
        guard let document = try? Document(secret) else { return false }
        return (try? JSONValue(document))?.isArray ?? false
    }

    private static func writeLogin(_ entry: ExportEntry, _ json: inout JSONWriter) throws(CryptoError) {
        try json.name("login")
        try json.begin("{")
        try json.name("uris")
        try json.begin("[")
        for url in entry.urls {
            try json.begin("{")
            try json.member("uri", url)
            try json.end("}")
        }
        try json.end("]")
        try json.member("username", entry.user)
        try json.member("password", entry.password)
        try json.member("totp", entry.otp)
        if let passkey = entry.fields.first(where: { $0.name == "passkey" }), entry.id(in: "bitwarden") != nil,
            isArray(passkey.secret)
        {
            try json.member("fido2Credentials", raw: passkey.secret)
        }
        try json.end("}")
    }
}

extension Secret {
    var isUTF8: Bool { withBytes { (try? UTF8Span(validating: $0)) != nil } }
}
