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
    private var credentials: [JSONOutput] = []
    /// The number of credentials of each kind so far.
    private var counts: [String: Int] = [:]

    init(_ entry: ExportEntry, _ sshKey: @escaping (Secret) -> CXFExport.SSHKey?) {
        (self.entry, self.sshKey) = (entry, sshKey)
    }

    /// The paths of the item's collections; known when the item is written.
    private(set) var folders: [String] = []

    mutating func item(_ id: String) throws(CryptoError) -> JSONOutput {
        var members: [(String, JSONOutput)] = [("id", .text(id))]
        for (name, date) in [("creationAt", entry.created), ("modifiedAt", entry.modified)] {
            if let seconds = date.secondsSince1970 { members.append((name, .json(String(seconds)))) }
        }
        members.append(("title", .text(title)))
        if let subtitle = takeAttribute(CXFNames.subtitle) { members.append(("subtitle", .text(subtitle))) }
        if takeAttribute(CXFNames.favorite, where: { $0 == "true" }) != nil {
            members.append(("favorite", .json("true")))
        }
        // Earlier imports kept the tags as one text.
        let earlier = entry.id(in: "cxf").flatMap { _ in
            takeAttribute(ItemNames.tags, where: { !$0.contains("\n") && CXFNames.tags(of: $0)?.count ?? 0 > 1 })
        }
        let tags = earlier.flatMap { CXFNames.tags(of: $0) } ?? entry.takeTags(separatedBy: "\r")
        takeFolders()
        if let scope = scope() { members.append(("scope", scope)) }
        try addCredentials()
        members.append(("credentials", .array(credentials)))
        if let tags { members.append(("tags", .array(tags.map(JSONOutput.text)))) }
        if let extensions = try extensions() { members.append(("extensions", extensions)) }
        return .object(members)
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
            CXFNames.numbered(ItemNames.folder, folders.count + 1), where: { !$0.isEmpty })
        {
            folders.append(further)
        }
        if folders.count > 1 { own.folders = folders }
    }

    private mutating func scope() -> JSONOutput? {
        let applications = takeApplications()
        guard !entry.urls.isEmpty || applications != nil else { return nil }
        let urls = JSONOutput.array(entry.urls.map(JSONOutput.text))
        return .object([("urls", urls), ("androidApps", applications ?? .array([]))])
    }

    /// Removes the list of applications, which is a field if it is long.
    private mutating func takeApplications() -> JSONOutput? {
        func isList(_ secret: Secret) -> Bool { secret.isShallowJSON { !$0.elements.isEmpty } }
        let name = CXFNames.applications
        if let index = entry.fields.firstIndex(where: { $0.name == name && isList($0.secret) }) {
            return .source(entry.fields.remove(at: index).secret)
        }
        return takeAttribute(name, where: { (try? Secret(plain: $0)).map(isList) ?? false }).map(JSONOutput.json)
    }

    // MARK: Credentials

    private mutating func addCredentials() throws(CryptoError) {
        let key = entry.isServedKey ? entry.password.flatMap { sshKey($0) } : nil
        if entry.isPasskeyAlone {
            // The site's name is the title.
        } else if let key {
            try add(key)
            addNotes()
        } else if isNote {
            add(.note, ["content": entry.password])
            kind = "secure note"
        } else {
            try addKind()
            let isEmpty = entry.user.isEmpty && entry.password?.isEmpty ?? true
            let isAlone = try !hasOthers() && counts.isEmpty
            if !isEmpty || isAlone {
                let user = entry.user.isEmpty ? nil : try Secret(copying: entry.user)
                add(.basic, ["username": user, "password": entry.password])
            }
            addNotes()
        }
        try addTimeCodes()
        for passkey in entry.passkeys { credentials.append(try CXFPasskey.value(of: passkey)) }
        counts[CXFCredential.passkey.type] = entry.passkeys.count
        addMembers()
        addReferences()
        addUnknown()
        addFields()
    }

    /// - Parameter number: among the credentials of the kind.
    private mutating func add(_ credential: CXFCredential, number: Int = 1, _ values: [String: Secret?]) {
        credentials.append(credential.value(values.compactMapValues { $0 }))
        counts[credential.type] = number
    }

    private mutating func addNotes() {
        if let notes = entry.notes { add(.note, ["content": notes]) }
    }

    /// Whether the reader takes the item for a secure note: it has only the note and custom fields.
    private var isNote: Bool {
        let kinds = CXFCredential.all.map { $0.type + "." }
        return entry.kind == "secure note" && entry.password != nil && entry.user.isEmpty && entry.notes == nil
            && entry.otp == nil && entry.passkeys.isEmpty
            && !entry.fields.contains { field in
                field.name.hasPrefix(CXFNames.unknown) || field.name.hasPrefix(ItemNames.otp)
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

    /// Adds the fields that Bitwarden's cards and identities have.
    private mutating func addKind() throws(CryptoError) {
        for credential in CXFCredential.all {
            guard let own = credential.kind, own == entry.kind else { continue }
            var values: [String: Secret] = [:]
            for (member, _) in credential.members {
                let month = member == CXFMonth.member ? try takeMonth() : nil
                values[member] = month ?? takeField(credential.name(of: member))
            }
            guard !values.isEmpty else { continue }
            add(credential, values)
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

    /// Adds a key in the form that the ssh door stores.
    private mutating func add(_ key: CXFExport.SSHKey) throws(CryptoError) {
        kind = "ssh key"
        entry.attributes.removeAll { attribute in
            ["ssh.type", "ssh.public", Statement.service].contains(attribute.name)
                || attribute == (CXFNames.confirmation, "false")
        }
        if entry.attributes.contains(where: { $0 == (CXFNames.confirmation, "true") }) {
            entry.booleans.insert(CXFNames.confirmation)
        }
        var values = ["keyType": try Secret(copying: key.type), "privateKey": try key.key.encodedBase64URL()]
        if !key.comment.isEmpty { values["keyComment"] = try Secret(copying: key.comment) }
        for (member, _) in CXFCredential.sshKey.members where values[member] == nil && member != "keyComment" {
            values[member] = takeField(CXFCredential.sshKey.prefix(1) + member)
        }
        add(.sshKey, values)
    }

    private mutating func addTimeCodes() throws(CryptoError) {
        guard let otp = entry.otp else { return }
        guard let code = try CXFTimeCode(otp) else {
            entry.fields.append((ItemNames.otp, otp))
            return
        }
        credentials.append(code.value)
        if let text = try? code.text(), !text.isEqual(to: otp) { own.otp = otp }
        var number = 2
        while let index = entry.fields.firstIndex(where: { $0.name == CXFNames.numbered(ItemNames.otp, number) }),
            let further = try CXFTimeCode(entry.fields[index].secret),
            let text = try? further.text(), text.isEqual(to: entry.fields[index].secret)
        {
            credentials.append(further.value)
            entry.fields.remove(at: index)
            number += 1
        }
    }

    /// Adds the credentials whose members are fields with the names of their kind.
    private mutating func addMembers() {
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
                add(credential, number: number, values)
                if credential.type == CXFCredential.sshKey.type, kind == nil { kind = "ssh key" }
            }
        }
    }

    private mutating func addReferences() {
        var number = 1
        while let reference = takeAttribute(
            CXFNames.numbered(CXFItemReader.Kind.reference, number),
            where: { $0.split(separator: "/", omittingEmptySubsequences: false).count <= 2 })
        {
            let parts = reference.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            let members = zip(["item", "account"], parts).map { ($0, JSONOutput.text($1)) }
            let type = CXFItemReader.Kind.reference
            credentials.append(.object([("type", .text(type)), ("reference", .object(members))]))
            number += 1
        }
    }

    /// Adds the credentials of kinds that are not known, as they were read.
    private mutating func addUnknown() {
        for field in entry.fields where field.name.hasPrefix(CXFNames.unknown) {
            let isOne = field.secret.isShallowJSON { value in
                let type = value["type"]?.text ?? ""
                return field.name == CXFNames.unknown + type && !CXFItemReader.isKnown(type)
            }
            guard isOne else { continue }
            credentials.append(.source(field.secret))
            entry.fields.removeAll { $0.name == field.name }
        }
    }

    private mutating func addFields() {
        let fields = entry.fields.filter { $0.name != CXFNames.extensions || !isOfExtensions($0.secret) }
        guard !entry.attributes.isEmpty || !fields.isEmpty else { return }
        func field(_ type: String, _ label: String, _ value: JSONOutput) -> JSONOutput {
            .object([("fieldType", .text(type)), ("value", value), ("label", .text(label))])
        }
        let values =
            entry.attributes.map { name, value in
                field(entry.booleans.contains(name) ? "boolean" : "string", name, .text(value))
            } + fields.map { field("concealed-string", $0.name, .secret($0.secret)) }
        credentials.append(.object([("type", .text(CXFItemReader.Kind.fields)), ("fields", .array(values))]))
    }

    private mutating func extensions() throws(CryptoError) -> JSONOutput? {
        let others = entry.fields.first { $0.name == CXFNames.extensions && isOfExtensions($0.secret) }?.secret
        if !entry.isPasskeyAlone, entry.kind != kind { own.kind = entry.kind ?? "" }
        let passkeys = entry.passkeys.map { portable in
            (portable.passkey, CXFExtension.statements(portable, isNameInTitle: isNameInTitle(portable)))
        }
        var written: [JSONOutput] = []
        if let others, let document = try? Document(others), let value = try? JSONValue(document) {
            for element in value.elements {
                guard let source = try? element.source() else { throw .outOfMemory }
                written.append(.source(source))
            }
        }
        if let value = own.value(passkeys) { written.append(value) }
        return others == nil && written.isEmpty ? nil : .array(written)
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
