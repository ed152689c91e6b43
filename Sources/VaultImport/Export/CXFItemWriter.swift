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
    private var counts: [String: Int] = [:]
    private(set) var folders: [String] = []

    init(_ entry: ExportEntry, _ sshKey: @escaping (Secret) -> CXFExport.SSHKey?) {
        (self.entry, self.sshKey) = (entry, sshKey)
    }

    mutating func item(_ id: String) throws(ImportError) -> JSONOutput {
        let title = title
        let subtitle = takeAttribute("subtitle")
        let isFavorite = takeAttribute("favorite") { $0 == "true" } != nil
        // Earlier imports kept the tags as one text.
        let earlier = entry.id(in: "cxf").flatMap { _ in
            takeAttribute(ItemNames.tags) { !$0.contains("\n") && CXFNames.tags(of: $0)?.count ?? 0 > 1 }
        }
        let tags = earlier.flatMap { CXFNames.tags(of: $0) } ?? entry.takeTags(separatedBy: "\r")
        takeFolders()
        let scope = scope()
        try addCredentials()
        return .object(present: [
            ("id", .text(id)), ("creationAt", entry.created.secondsSince1970.map(JSONOutput.number)),
            ("modifiedAt", entry.modified.secondsSince1970.map(JSONOutput.number)), ("title", .text(title)),
            ("subtitle", subtitle.map(JSONOutput.text)), ("favorite", isFavorite ? .boolean(true) : nil),
            ("scope", scope), ("credentials", .array(credentials)), ("tags", tags.map(JSONOutput.texts)),
            ("extensions", try extensions()),
        ])
    }

    /// A passkey alone has the name of its site as the title.
    private var title: String {
        guard entry.isPasskeyAlone, let passkey = entry.passkeys.first?.passkey else { return entry.title }
        return passkey.names.relyingParty.isEmpty ? passkey.relyingParty : passkey.names.relyingParty
    }

    /// Removes an attribute, unless it is a boolean, and returns its value.
    private mutating func takeAttribute(_ name: String, where isFitting: (String) -> Bool = { _ in true }) -> String? {
        entry.booleans.contains(name) ? nil : entry.takeAttribute(name, where: isFitting)
    }

    private mutating func takeField(_ name: String) -> Secret? { entry.takeField(name) { !$0.isEmpty } }

    private mutating func takeFolders() {
        guard !entry.folder.isEmpty else { return }
        folders = [entry.folder]
        while let further = takeAttribute(CXFNames.numbered(ItemNames.folder, folders.count + 1), where: { $0 != "" }) {
            folders.append(further)
        }
        if folders.count > 1 { own.folders = folders }
    }

    private mutating func scope() -> JSONOutput? {
        let applications = takeApplications()
        guard !entry.urls.isEmpty || applications != nil else { return nil }
        return .object([("urls", .texts(entry.urls)), ("androidApps", applications ?? .array([]))])
    }

    /// Removes the list of applications, which is a field if it is long.
    private mutating func takeApplications() -> JSONOutput? {
        func isList(_ secret: Secret) -> Bool { secret.isShallowJSON { !$0.elements.isEmpty } }
        if let field = entry.takeField(CXFNames.applications, where: isList) { return .source(field) }
        return takeAttribute(CXFNames.applications) { (try? Secret(plain: $0)).map(isList) ?? false }
            .map(JSONOutput.json)
    }

    private mutating func addCredentials() throws(ImportError) {
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
                let user = entry.user.isEmpty ? nil : try Secret(plain: entry.user)
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

    private mutating func add(_ credential: CXFCredential, number: Int = 1, _ values: [String: Secret?]) {
        credentials.append(credential.value(values.compactMapValues { $0 }))
        counts[credential.type] = number
    }

    /// Removes the fields that are the members of a credential, by the name that each member has.
    private mutating func takeMembers(
        of credential: CXFCredential, named name: (String) -> String
    ) -> [String: Secret] {
        var values: [String: Secret] = [:]
        for (member, _) in credential.members { values[member] = takeField(name(member)) }
        return values
    }

    private mutating func addNotes() {
        if let notes = entry.notes { add(.note, ["content": notes]) }
    }

    /// Whether the reader takes the item for a secure note: it has only the note and custom fields.
    private var isNote: Bool {
        let others = CXFCredential.all.map { $0.type + "." } + [CXFNames.unknown, ItemNames.otp]
        return entry.kind == "secure note" && entry.password != nil && entry.user.isEmpty && entry.notes == nil
            && entry.otp == nil && entry.passkeys.isEmpty
            && !entry.fields.contains { field in others.contains { field.name.hasPrefix($0) } }
    }

    /// Returns whether the reader sees more than a note, or passkeys without a login.
    private func hasOthers() throws(ImportError) -> Bool {
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

    private mutating func addKind() throws(ImportError) {
        for credential in CXFCredential.all {
            guard let own = credential.kind, own == entry.kind else { continue }
            let month = credential.type == CXFCredential.card.type ? try takeMonth() : nil
            var values = takeMembers(of: credential, named: credential.name)
            if let month { values[CXFMonth.member] = month }
            guard !values.isEmpty else { continue }
            add(credential, values)
            kind = own
        }
    }

    private mutating func takeMonth() throws(ImportError) -> Secret? {
        func field(_ name: String) -> Secret? { entry.fields.first { $0.name == name }?.secret }
        guard let year = field(CXFMonth.year), let month = field(CXFMonth.month), field(CXFMonth.member) == nil,
            let text = try CXFMonth.text(year: year, month: month)
        else { return nil }
        entry.fields.removeAll { [CXFMonth.year, CXFMonth.month].contains($0.name) }
        return text
    }

    private mutating func add(_ key: CXFExport.SSHKey) throws(ImportError) {
        kind = "ssh key"
        entry.attributes.removeAll { attribute in
            ["ssh.type", "ssh.public", Statement.service].contains(attribute.name)
                || attribute == (CXFNames.confirmation, "false")
        }
        if entry.attributes.contains(where: { $0 == (CXFNames.confirmation, "true") }) {
            entry.booleans.insert(CXFNames.confirmation)
        }
        var values = ["keyType": try Secret(plain: key.type), "privateKey": try key.key.encodedBase64(forURL: true)]
        if !key.comment.isEmpty { values["keyComment"] = try Secret(plain: key.comment) }
        for (member, _) in CXFCredential.sshKey.members where values[member] == nil && member != "keyComment" {
            values[member] = takeField(CXFCredential.sshKey.prefix(1) + member)
        }
        add(.sshKey, values)
    }

    private mutating func addTimeCodes() throws(ImportError) {
        guard let otp = entry.otp else { return }
        guard let code = try CXFTimeCode(otp) else {
            entry.fields.append((ItemNames.otp, otp))
            return
        }
        credentials.append(code.value)
        if try !code.text().isEqual(to: otp) { own.otp = otp }
        var number = 2
        while let index = entry.fields.firstIndex(where: { $0.name == CXFNames.numbered(ItemNames.otp, number) }),
            let further = try CXFTimeCode(entry.fields[index].secret),
            try further.text().isEqual(to: entry.fields[index].secret)
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
                let isOfLogin = credential.isOfLogin && credential.type != CXFCredential.passkey.type
                guard number > 1 || !isOfLogin else { break }
                let values = takeMembers(of: credential) { credential.prefix(number) + $0 }
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
        let type = "item-reference"
        func parts(_ text: String) -> [String] {
            text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        }
        var number = 1
        while let reference = takeAttribute(CXFNames.numbered(type, number), where: { parts($0).count <= 2 }) {
            let members = zip(["item", "account"], parts(reference)).map { ($0, JSONOutput.text($1)) }
            credentials.append(.object([("type", .text(type)), ("reference", .object(members))]))
            number += 1
        }
    }

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
        credentials.append(.object([("type", .text("custom-fields")), ("fields", .array(values))]))
    }

    private mutating func extensions() throws(ImportError) -> JSONOutput? {
        if !entry.isPasskeyAlone, entry.kind != kind { own.kind = entry.kind ?? "" }
        // The reader finds the name of the site in the title.
        let ownValue = own.value(entry.passkeys) { portable in
            entry.isPasskeyAlone && portable.passkey.names.relyingParty != portable.passkey.relyingParty
        }
        let others = entry.fields.first { $0.name == CXFNames.extensions && isOfExtensions($0.secret) }?.secret
        guard let others else { return ownValue.map { .array([$0]) } }
        let written = try JSONValue(Document(others)).elements.map { element throws(ImportError) in
            JSONOutput.source(try element.source())
        }
        return .array(written + (ownValue.map { [$0] } ?? []))
    }

    /// Returns whether a field is the list of extensions that the reader makes of those of other products.
    private func isOfExtensions(_ secret: Secret) -> Bool {
        secret.isShallowJSON { value in
            !value.elements.isEmpty
                && value.elements.allSatisfy { $0["name"].map { $0.text != CXFExtension.name } ?? false }
        }
    }
}
