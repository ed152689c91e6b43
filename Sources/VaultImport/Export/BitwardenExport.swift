// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// Bitwarden's JSON export, in clear text.
package enum BitwardenExport {
    package static func text(_ entries: inout ExportedEntries) throws(ImportError) -> Secret {
        try entries.separateAttachments()
        do throws(CryptoError) { return try write(&entries) } catch { throw .cryptography(error) }
    }

    private static func write(_ entries: inout ExportedEntries) throws(CryptoError) -> Secret {
        var json = try JSONWriter()
        try json.begin("{")
        try json.member("encrypted", .json("false"))
        let folders = Set(entries.entries.map(\.folder)).filter { !$0.isEmpty }.sorted()
        let named = folders.map { JSONOutput.object([("id", .text(folderID($0))), ("name", .text($0))]) }
        try json.member("folders", .array(named))
        try json.name("items")
        try json.begin("[")
        entries.settle(for: "bitwarden")
        for entry in entries.entries {
            guard !entry.isPasskeyAlone || entry.passkeys.allSatisfy({ BitwardenPasskey.canWrite($0) }) else {
                entries.leaveOutWhole("passkeys with a key other than of P-256")
                continue
            }
            try json.element(item(entry, &entries))
            BitwardenPasskey.count(entry.passkeys, &entries)
        }
        try json.end("]")
        try json.end("}")
        return try json.line()
    }

    /// Returns a UUID derived from the name, the same each time.
    private static func folderID(_ name: String) -> String {
        BitwardenPasskey.uuid(KeyedHash.shortDigest(name))
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

    private static func item(
        _ given: ExportEntry, _ entries: inout ExportedEntries
    ) throws(CryptoError) -> JSONOutput {
        var entry = given
        try entry.encodeBinaries()
        let kind = fittingKind(of: entry)
        if kind == .login { entry.stateKind() }
        let isConfirmed = kind == .key && entry.attributes.contains { $0 == ("ssh.confirm", "true") }
        let isFavorite = isMarked("favorite", &entry)
        let asksAgain = isMarked("reprompt", &entry) || isConfirmed
        var members: [(String, JSONOutput)] = [
            ("id", .text(entry.id(in: "bitwarden") ?? entry.id.uuidString.lowercased()))
        ]
        if !entry.folder.isEmpty { members.append(("folderId", .text(folderID(entry.folder)))) }
        members += [
            ("name", .text(entry.title)), ("type", .json(String(kind.rawValue))),
            ("notes", .secret(kind == .note ? entry.password : entry.notes)),
            ("favorite", .json(isFavorite ? "true" : "false")), ("reprompt", .json(asksAgain ? "1" : "0")),
            ("creationDate", .text(entry.created.formatted(.iso8601))),
            ("revisionDate", .text(entry.modified.formatted(.iso8601))), try main(kind, &entry, &entries),
        ]
        return .object(members + [("fields", fields(entry))])
    }

    /// Returns the member with the parts of an entry that its type has.
    private static func main(
        _ kind: Kind, _ entry: inout ExportEntry, _ entries: inout ExportedEntries
    ) throws(CryptoError) -> (String, JSONOutput) {
        switch kind {
        case .login: ("login", try login(&entry))
        case .note: ("secureNote", .object([("type", .json("0"))]))
        case .card: ("card", members(of: "card", &entry))
        case .identity: ("identity", members(of: "identity", &entry))
        case .key: ("sshKey", entry.isServedKey ? key(&entry, &entries) : members(of: "ssh key", &entry))
        }
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
            let isWhole = entry.id(in: "bitwarden") != nil && entry.password.flatMap(value)?.isObject ?? false
            guard !isLogin, isWhole || isFound && entry.user.isEmpty && entry.password?.isEmpty ?? true else {
                return .login
            }
            return name == "card" ? .card : name == "identity" ? .identity : .key
        default: return .login
        }
    }

    private static func value(_ secret: Secret) -> JSONValue? { try? JSONValue(Document(secret)) }

    private static func members(of kind: String, _ entry: inout ExportEntry) -> JSONOutput {
        if let whole = entry.password, !whole.isEmpty { return .source(whole) }
        var written: [(String, JSONOutput)] = []
        for member in members[kind] ?? [] {
            let index = entry.fields.firstIndex { $0.name == member }
            written.append((member, .secret(index.map { entry.fields.remove(at: $0).secret })))
        }
        return .object(written)
    }

    /// Returns an ssh key in the form that the ssh door stores.
    private static func key(_ entry: inout ExportEntry, _ entries: inout ExportedEntries) -> JSONOutput {
        func attribute(_ name: String) -> String? { entry.attributes.first { $0.name == name }?.value }
        let (publicKey, certificate) = (attribute("ssh.public"), attribute("ssh.certificate"))
        entries.leaveOut("certificates of ssh keys", certificate == nil ? 0 : 1)
        entry.attributes.removeAll { $0.name.hasPrefix("ssh.") || $0.name == Statement.service }
        return .object([
            ("privateKey", .secret(entry.password)), ("publicKey", .text(publicKey ?? "")),
            ("keyFingerprint", .text(entry.user)),
        ])
    }

    private static func fields(_ entry: ExportEntry) -> JSONOutput {
        let attributes = entry.attributes.map { name, value in
            let link = value.hasPrefix("linked:") ? Int(value.dropFirst(7)).map { _ in value.dropFirst(7) } : nil
            let type = link != nil ? "3" : entry.booleans.contains(name) ? "2" : "0"
            return JSONOutput.object([
                ("name", .text(name)), link.map { ("linkedId", .json(String($0))) } ?? ("value", .text(value)),
                ("type", .json(type)),
            ])
        }
        return .array(
            attributes
                + entry.fields.map { name, secret in
                    .object([("name", .text(name)), ("value", .secret(secret)), ("type", .json("1"))])
                })
    }

    private static func login(_ entry: inout ExportEntry) throws(CryptoError) -> JSONOutput {
        var urls: [JSONOutput] = []
        for (index, url) in entry.urls.enumerated() {
            var members: [(String, JSONOutput)] = [("uri", .text(url))]
            let place = entry.attributes.firstIndex { $0.name == ItemNames.match(of: index + 1) }
            let match = place.flatMap { Bitwarden.matches.firstIndex(of: entry.attributes[$0].value) }
            if let place, let match {
                members.append(("match", .json(String(match))))
                entry.attributes.remove(at: place)
            }
            urls.append(.object(members))
        }
        let members: [(String, JSONOutput)] = [
            ("uris", .array(urls)), ("username", .text(entry.user)), ("password", .secret(entry.password)),
            ("totp", .secret(entry.otp)),
        ]
        return .object(members + (try passkeys(&entry).map { [("fido2Credentials", $0)] } ?? []))
    }

    /// Returns the passkeys; `nil` if there are none.
    private static func passkeys(_ entry: inout ExportEntry) throws(CryptoError) -> JSONOutput? {
        // Earlier imports kept the passkeys unchanged, in one field.
        let isOwn = entry.id(in: "bitwarden") != nil
        if isOwn,
            let index = entry.fields.firstIndex(where: { $0.name == "passkey" && value($0.secret)?.isArray == true })
        {
            return .source(entry.fields.remove(at: index).secret)
        }
        let parts = try BitwardenPasskey.takeParts(from: &entry)
        let passkeys = entry.passkeys.filter { BitwardenPasskey.canWrite($0) }
        guard !parts.isEmpty || !passkeys.isEmpty else { return nil }
        let created = entry.created.formatted(.iso8601)
        return .array(passkeys.map { BitwardenPasskey.value(of: $0, created: created) } + parts)
    }
}

extension Secret {
    var isUTF8: Bool { withBytes { $0.isUTF8 } }
}
