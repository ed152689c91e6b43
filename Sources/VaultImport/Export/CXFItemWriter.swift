// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Writes an entry as an item of CXF: the inverse of ``CXFItemReader``.
///
/// A part goes out as the credential of which the reader makes the same part; any other becomes a custom field.
struct CXFItemWriter {
    private var entry: ExportEntry
    private let sshKey: (Secret) -> CXFExport.SSHKey?
    /// The kind of entry that the reader takes the item for.
    private var kind: String?
    private var own = CXFExtension()

    init(_ entry: ExportEntry, _ sshKey: @escaping (Secret) -> CXFExport.SSHKey?) {
        (self.entry, self.sshKey) = (entry, sshKey)
    }

    /// The paths of the item's collections; known when the item is written.
    private(set) var folders: [String] = []

    mutating func write(_ id: String, _ json: inout JSONWriter) throws(CryptoError) {
        try json.begin("{")
        try json.member("id", id)
        if let created = entry.created.secondsSince1970 { try json.member("creationAt", raw: String(created)) }
        if let modified = entry.modified.secondsSince1970 { try json.member("modifiedAt", raw: String(modified)) }
        try json.member("title", title)
        if let subtitle = takeAttribute(CXFNames.subtitle) { try json.member("subtitle", subtitle) }
        if takeAttribute(CXFNames.favorite, where: { $0 == "true" }) != nil {
            try json.member("favorite", raw: "true")
        }
        let tags = takeAttribute(CXFNames.tags, where: { CXFNames.tags(of: $0) != nil })
        takeFolders()
        try writeScope(&json)
        try json.name("credentials")
        try json.begin("[")
        try writeCredentials(&json)
        try json.end("]")
        if let tags {
            try json.name("tags")
            try json.begin("[")
            for tag in CXFNames.tags(of: tags) ?? [] { try json.element(tag) }
            try json.end("]")
        }
        try writeExtensions(&json)
        try json.end("}")
    }

    /// A passkey alone has the name of its site as the title.
    private var title: String {
        guard entry.isPasskeyAlone, let passkey = entry.passkeys.first?.passkey else { return entry.title }
        return passkey.names.relyingParty.isEmpty ? passkey.relyingParty : passkey.names.relyingParty
    }

    // MARK: Parts of the entry

    /// Removes an attribute, unless it is a boolean, and returns its value.
    private mutating func takeAttribute(_ name: String, where isFitting: (String) -> Bool = { _ in true }) -> String? {
        guard !entry.booleans.contains(name),
            let index = entry.attributes.firstIndex(where: { $0.name == name && isFitting($0.value) })
        else { return nil }
        return entry.attributes.remove(at: index).value
    }

    /// Removes a field that is not empty, and returns its secret.
    private mutating func takeField(_ name: String) -> Secret? {
        guard let index = entry.fields.firstIndex(where: { $0.name == name && !$0.secret.isEmpty }) else { return nil }
        return entry.fields.remove(at: index).secret
    }

    private mutating func takeFolders() {
        guard !entry.folder.isEmpty else { return }
        folders = [entry.folder]
        while let further = takeAttribute(
            CXFNames.numbered(ImportNames.folder, folders.count + 1), where: { !$0.isEmpty })
        {
            folders.append(further)
        }
        if folders.count > 1 { own.folders = folders }
    }

    private mutating func writeScope(_ json: inout JSONWriter) throws(CryptoError) {
        let applications = try takeApplications()
        guard !entry.urls.isEmpty || applications != nil else { return }
        try json.name("scope")
        try json.begin("{")
        try json.name("urls")
        try json.begin("[")
        for url in entry.urls { try json.element(url) }
        try json.end("]")
        if let applications {
            try json.member("androidApps", raw: applications)
        } else {
            try json.member("androidApps", raw: "[]")
        }
        try json.end("}")
    }

    /// Removes the list of applications, which is a field if it is long.
    private mutating func takeApplications() throws(CryptoError) -> Secret? {
        func isList(_ secret: Secret) -> Bool { secret.isShallowJSON { !$0.elements.isEmpty } }
        let name = CXFNames.applications
        if let index = entry.fields.firstIndex(where: { $0.name == name && isList($0.secret) }) {
            return entry.fields.remove(at: index).secret
        }
        guard let text = takeAttribute(name, where: { (try? Secret(plain: $0)).map(isList) ?? false }) else {
            return nil
        }
        return Secret(try SecretBytes(copying: Array(text.utf8).span))
    }

    // MARK: Credentials

    private mutating func writeCredentials(_ json: inout JSONWriter) throws(CryptoError) {
        let key = entry.isServedKey ? entry.password.flatMap { sshKey($0) } : nil
        var counts: [String: Int] = [:]
        if entry.isPasskeyAlone {
            // The site's name is the title.
        } else if let key {
            try writeKey(key, &json)
            counts[CXFCredential.sshKey.type] = 1
            try writeNotes(&json, &counts)
        } else if isNote {
            try CXFCredential.note.write(&json) { _ in entry.password }
            counts[CXFCredential.note.type] = 1
            kind = "secure note"
        } else {
            try writeKind(&json, &counts)
            let isEmpty = entry.user.isEmpty && entry.password?.isEmpty ?? true
            let isAlone = try !hasOthers() && counts.isEmpty
            if !isEmpty || isAlone {
                try writeLogin(&json)
                counts[CXFCredential.basic.type] = 1
            }
            try writeNotes(&json, &counts)
        }
        try writeTimeCodes(&json)
        for passkey in entry.passkeys { try CXFPasskey.write(passkey, &json) }
        counts[CXFCredential.passkey.type] = entry.passkeys.count
        try writeMembers(&json, &counts)
        try writeReferences(&json)
        try writeUnknown(&json)
        try writeFields(&json)
    }

    private func writeNotes(_ json: inout JSONWriter, _ counts: inout [String: Int]) throws(CryptoError) {
        guard let notes = entry.notes else { return }
        try CXFCredential.note.write(&json) { _ in notes }
        counts[CXFCredential.note.type] = 1
    }

    /// Whether the reader takes the item for a secure note: it has only the note and custom fields.
    private var isNote: Bool {
        let kinds = CXFCredential.all.map { $0.type + "." }
        return entry.kind == "secure note" && entry.password != nil && entry.user.isEmpty && entry.notes == nil
            && entry.otp == nil && entry.passkeys.isEmpty
            && !entry.fields.contains { field in
                field.name.hasPrefix(CXFNames.unknown) || field.name.hasPrefix(ImportNames.otp)
                    || kinds.contains { field.name.hasPrefix($0) }
            }
    }

    /// Returns whether the item has credentials other than a note and passkeys. The reader takes a note alone for a
    /// secure note, and passkeys alone for an item without a login.
    private func hasOthers() throws(CryptoError) -> Bool {
        if let otp = entry.otp, try CXFTimeCode(otp) != nil { return true }
        let kinds = CXFCredential.all.filter {
            $0.kind == nil && ($0.type == CXFCredential.passkey.type || !$0.isOfLogin)
        }
        return kinds.contains { kind in
            kind.members.contains { member in
                entry.fields.contains { $0.name == kind.prefix(1) + member.name && !$0.secret.isEmpty }
            }
        }
    }

    private func writeLogin(_ json: inout JSONWriter) throws(CryptoError) {
        let user = entry.user.isEmpty ? nil : Secret(try SecretBytes(copying: Array(entry.user.utf8).span))
        try CXFCredential.basic.write(&json) { $0 == "username" ? user : entry.password }
    }

    /// Writes the fields that Bitwarden's cards and identities have.
    private mutating func writeKind(_ json: inout JSONWriter, _ counts: inout [String: Int]) throws(CryptoError) {
        for credential in CXFCredential.all {
            guard let own = credential.kind, own == entry.kind else { continue }
            var values: [String: Secret] = [:]
            for (member, _) in credential.members {
                let isMonth = member == CXFMonth.member
                if let value = isMonth ? try takeMonth() : nil {
                    values[member] = value
                } else {
                    values[member] = takeField(credential.name(of: member))
                }
            }
            guard !values.isEmpty else { continue }
            try credential.write(&json) { values[$0] }
            counts[credential.type] = 1
            kind = own
        }
    }

    private mutating func takeMonth() throws(CryptoError) -> Secret? {
        func field(_ name: String) -> Secret? { entry.fields.first { $0.name == name }?.secret }
        guard let year = field(CXFMonth.year), let month = field(CXFMonth.month), field(CXFMonth.member) == nil,
            let text = try CXFMonth.text(year: year, month: month)
        else { return nil }
        entry.fields.removeAll { [CXFMonth.year, CXFMonth.month].contains($0.name) }
        return text
    }

    /// Writes a key in the form that the ssh door stores.
    private mutating func writeKey(_ key: CXFExport.SSHKey, _ json: inout JSONWriter) throws(CryptoError) {
        kind = "ssh key"
        entry.attributes.removeAll { attribute in
            attribute == ("service", "ssh") || ["ssh.type", "ssh.public"].contains(attribute.name)
                || attribute == (CXFNames.confirmation, "false")
        }
        if entry.attributes.contains(where: { $0 == (CXFNames.confirmation, "true") }) {
            entry.booleans.insert(CXFNames.confirmation)
        }
        let type = Secret(try SecretBytes(copying: Array(key.type.utf8).span))
        let comment = Secret(try SecretBytes(copying: Array(key.comment.utf8).span))
        var values = ["keyType": type, "privateKey": try key.key.encodedBase64URL()]
        if !comment.isEmpty { values["keyComment"] = comment }
        for (member, _) in CXFCredential.sshKey.members where values[member] == nil && member != "keyComment" {
            values[member] = takeField(CXFCredential.sshKey.prefix(1) + member)
        }
        try CXFCredential.sshKey.write(&json) { values[$0] }
    }

    private mutating func writeTimeCodes(_ json: inout JSONWriter) throws(CryptoError) {
        guard let otp = entry.otp else { return }
        guard let code = try CXFTimeCode(otp) else {
            entry.fields.append((ImportNames.otp, otp))
            return
        }
        try code.write(&json)
        if let text = try? code.text(), !text.isEqual(to: otp) { own.otp = otp }
        var number = 2
        while let index = entry.fields.firstIndex(where: { $0.name == CXFNames.numbered(ImportNames.otp, number) }),
            let further = try CXFTimeCode(entry.fields[index].secret),
            let text = try? further.text(), text.isEqual(to: entry.fields[index].secret)
        {
            try further.write(&json)
            entry.fields.remove(at: index)
            number += 1
        }
    }

    /// Writes the credentials whose members are fields with the names of their kind.
    private mutating func writeMembers(_ json: inout JSONWriter, _ counts: inout [String: Int]) throws(CryptoError) {
        for credential in CXFCredential.all {
            while entry.fields.contains(where: { $0.name.hasPrefix(credential.type) }) {
                let number = counts[credential.type, default: 0] + 1
                // The first of these would be taken for another part of the login.
                let isTaken =
                    number == 1 && [CXFCredential.basic.type, CXFCredential.note.type].contains(credential.type)
                var values: [String: Secret] = [:]
                if !isTaken {
                    for (member, _) in credential.members {
                        values[member] = takeField(credential.prefix(number) + member)
                    }
                }
                guard !values.isEmpty else { break }
                let isOfKind = number == 1 && credential.kind != nil && (kind == nil || kind == credential.kind)
                guard !isOfKind else {
                    for (member, _) in credential.members {
                        guard let value = values[member] else { continue }
                        entry.fields.append((credential.prefix(number) + member, value))
                    }
                    break
                }
                try credential.write(&json) { values[$0] }
                counts[credential.type] = number
                if credential.type == CXFCredential.sshKey.type, kind == nil { kind = "ssh key" }
            }
        }
    }

    private mutating func writeReferences(_ json: inout JSONWriter) throws(CryptoError) {
        var number = 1
        while let reference = takeAttribute(
            CXFNames.numbered(CXFItemReader.Kind.reference, number),
            where: { $0.split(separator: "/", omittingEmptySubsequences: false).count <= 2 })
        {
            let parts = reference.split(separator: "/", omittingEmptySubsequences: false)
            try json.begin("{")
            try json.member("type", CXFItemReader.Kind.reference)
            try json.name("reference")
            try json.begin("{")
            try json.member("item", String(parts[0]))
            if parts.count > 1 { try json.member("account", String(parts[1])) }
            try json.end("}")
            try json.end("}")
            number += 1
        }
    }

    /// Writes the credentials of kinds that are not known, as they were read.
    private mutating func writeUnknown(_ json: inout JSONWriter) throws(CryptoError) {
        for field in entry.fields where field.name.hasPrefix(CXFNames.unknown) {
            let isOne = field.secret.isShallowJSON { value in
                let type = value["type"]?.text ?? ""
                return field.name == CXFNames.unknown + type && !CXFItemReader.isKnown(type)
            }
            guard isOne else { continue }
            try json.element(raw: field.secret)
            entry.fields.removeAll { $0.name == field.name }
        }
    }

    private func writeFields(_ json: inout JSONWriter) throws(CryptoError) {
        let fields = entry.fields.filter { $0.name != CXFNames.extensions || !isOfExtensions($0.secret) }
        guard !entry.attributes.isEmpty || !fields.isEmpty else { return }
        try json.begin("{")
        try json.member("type", CXFItemReader.Kind.fields)
        try json.name("fields")
        try json.begin("[")
        for (name, value) in entry.attributes {
            try json.begin("{")
            try json.member("fieldType", entry.booleans.contains(name) ? "boolean" : "string")
            try json.member("value", value)
            try json.member("label", name)
            try json.end("}")
        }
        for (name, secret) in fields {
            try json.begin("{")
            try json.member("fieldType", "concealed-string")
            try json.member("value", secret)
            try json.member("label", name)
            try json.end("}")
        }
        try json.end("]")
        try json.end("}")
    }

    private mutating func writeExtensions(_ json: inout JSONWriter) throws(CryptoError) {
        let others = entry.fields.first { $0.name == CXFNames.extensions && isOfExtensions($0.secret) }?.secret
        if !entry.isPasskeyAlone, entry.kind != kind { own.kind = entry.kind ?? "" }
        let passkeys = entry.passkeys.map { portable in
            (portable.passkey, CXFExtension.statements(portable, isNameInTitle: isNameInTitle(portable)))
        }
        guard others != nil || own.isNeeded(passkeys) else { return }
        try json.name("extensions")
        try json.begin("[")
        if let others, let document = try? Document(others), let value = try? JSONValue(document) {
            for element in value.elements {
                guard let source = try? element.source() else { throw .outOfMemory }
                try json.element(raw: source)
            }
        }
        try own.write(passkeys, &json)
        try json.end("]")
    }

    /// Returns whether a field is the list of extensions that the reader makes of those of other products.
    private func isOfExtensions(_ secret: Secret) -> Bool {
        secret.isShallowJSON { value in
            !value.elements.isEmpty
                && value.elements.allSatisfy { $0["name"].map { $0.text != CXFExtension.name } ?? false }
        }
    }

    /// Whether the title of the item tells the name of the site, so that the reader finds it there.
    private func isNameInTitle(_ portable: PortablePasskey) -> Bool {
        entry.isPasskeyAlone && portable.passkey.names.relyingParty != portable.passkey.relyingParty
    }
}
