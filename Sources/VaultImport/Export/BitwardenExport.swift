// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// Bitwarden's JSON export, in clear text.
package enum BitwardenExport {
    package static func text(_ entries: inout ExportedEntries) throws(ImportError) -> Secret {
        try entries.separateAttachments()
        entries.settle(for: "bitwarden")
        let folders = Set(entries.entries.map(\.folder)).filter { !$0.isEmpty }.sorted()
        let named = folders.map { JSONOutput.object([("id", .text(folderID($0))), ("name", .text($0))]) }
        var items: [JSONOutput] = []
        for entry in entries.entries {
            guard !entry.isPasskeyAlone || entry.passkeys.allSatisfy(BitwardenPasskey.canWrite) else {
                entries.leaveOutWhole("passkeys with a key other than of P-256")
                continue
            }
            items.append(try item(entry, &entries))
            BitwardenPasskey.count(entry.passkeys, &entries)
        }
        return try .json(
            .object([("encrypted", .boolean(false)), ("folders", .array(named)), ("items", .array(items))]),
            isLine: true)
    }

    /// Returns a UUID derived from the name, the same each time.
    private static func folderID(_ name: String) -> String { BitwardenPasskey.uuid(KeyedHash.shortDigest(name)) }

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

    private static func item(_ given: ExportEntry, _ entries: inout ExportedEntries) throws(ImportError) -> JSONOutput {
        var entry = given
        try entry.encodeBinaries()
        let kind = fittingKind(of: entry)
        if kind == .login { entry.stateKind() }
        let isConfirmed = kind == .key && entry.attributes.contains { $0 == ("ssh.confirm", "true") }
        let isFavorite = isMarked("favorite", &entry)
        let asksAgain = isMarked("reprompt", &entry) || isConfirmed
        let part = main(kind, &entry, &entries)
        return .object(present: [
            ("id", .text(entry.id(in: "bitwarden") ?? entry.id.uuidString.lowercased())),
            ("folderId", entry.folder.isEmpty ? nil : .text(folderID(entry.folder))), ("name", .text(entry.title)),
            ("type", .number(kind.rawValue)), ("notes", .secret(kind == .note ? entry.password : entry.notes)),
            ("favorite", .boolean(isFavorite)), ("reprompt", .number(asksAgain ? 1 : 0)),
            ("creationDate", .text(entry.created.formatted(.iso8601))),
            ("revisionDate", .text(entry.modified.formatted(.iso8601))), part, ("fields", fields(entry)),
        ])
    }

    private static func main(
        _ kind: Kind, _ entry: inout ExportEntry, _ entries: inout ExportedEntries
    ) -> (String, JSONOutput) {
        switch kind {
        case .login: ("login", login(&entry))
        case .note: ("secureNote", .object([("type", .number(0))]))
        case .card: ("card", members(of: "card", &entry))
        case .identity: ("identity", members(of: "identity", &entry))
        case .key: ("sshKey", entry.isServedKey ? key(&entry, &entries) : members(of: "ssh key", &entry))
        }
    }

    private static func isMarked(_ name: String, _ entry: inout ExportEntry) -> Bool {
        entry.takeAttribute(name) { ["true", "1"].contains($0) } != nil
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
        return .object((members[kind] ?? []).map { ($0, .secret(entry.takeField($0))) })
    }

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
        func field(_ name: String, _ value: JSONOutput, as member: String = "value", type: Int) -> JSONOutput {
            .object([("name", .text(name)), (member, value), ("type", .number(type))])
        }
        let attributes = entry.attributes.map { name, value in
            if value.hasPrefix("linked:"), let id = Int(value.dropFirst(7)) {
                return field(name, .number(id), as: "linkedId", type: 3)
            }
            return field(name, .text(value), type: entry.booleans.contains(name) ? 2 : 0)
        }
        return .array(attributes + entry.fields.map { field($0.name, .secret($0.secret), type: 1) })
    }

    private static func login(_ entry: inout ExportEntry) -> JSONOutput {
        let urls = entry.urls.enumerated().map { index, url in
            let match = entry.takeAttribute(ItemNames.match(of: index + 1), where: Bitwarden.matches.contains)
            let number = match.flatMap { Bitwarden.matches.firstIndex(of: $0) }
            return JSONOutput.object(present: [("uri", .text(url)), ("match", number.map(JSONOutput.number))])
        }
        return .object(present: [
            ("uris", .array(urls)), ("username", .text(entry.user)), ("password", .secret(entry.password)),
            ("totp", .secret(entry.otp)), ("fido2Credentials", passkeys(&entry)),
        ])
    }

    private static func passkeys(_ entry: inout ExportEntry) -> JSONOutput? {
        // Earlier imports kept the passkeys unchanged, in one field.
        let isOwn = entry.id(in: "bitwarden") != nil
        if isOwn, let whole = entry.takeField("passkey", where: { value($0)?.isArray == true }) {
            return .source(whole)
        }
        let parts = BitwardenPasskey.takeParts(from: &entry)
        let passkeys = entry.passkeys.filter(BitwardenPasskey.canWrite)
        guard !parts.isEmpty || !passkeys.isEmpty else { return nil }
        let created = entry.created.formatted(.iso8601)
        return .array(passkeys.map { BitwardenPasskey.value(of: $0, created: created) } + parts)
    }
}
