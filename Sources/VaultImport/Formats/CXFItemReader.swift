// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Reads an item of CXF, whose credentials together are one login.
struct CXFItemReader {
    var login: Login
    /// The reasons why parts were not imported, or not as what they are.
    private(set) var skipped: [String] = []
    private var own = CXFExtension()
    private var counts: [String: Int] = [:]
    private var note: Secret?
    private var sshKey: JSONValue?

    init(id: String?, place: String, position: Int) { login = Login(id: id, place: place, position: position) }

    mutating func read(_ item: JSONValue, folders: [String], _ sshKey: CXF.SSHKeyReading) throws(ImportError) {
        guard let credentials = item["credentials"] else { return }
        try readFrame(item, folders: folders)
        let isOfPasskeys = isOfPasskeys(credentials.elements)
        for credential in credentials.elements {
            guard credential.isObject, let type = credential["type"]?.text, !type.isEmpty else {
                skipped.append("a credential without a type, in line \(credential.line)")
                continue
            }
            let number = counts[type, default: 0] + 1
            counts[type] = number
            try read(credential, type, number, isOfPasskeys ? login.title : nil)
        }
        try readNote()
        if let key = self.sshKey { try readKey(key, sshKey) }
        if let kind = own.kind { login.kind = kind.isEmpty ? nil : kind }
        if login.title.isEmpty, login.urls.isEmpty, login.user.isEmpty, let kind = login.kind,
            case .ofURL = login.address
        {
            login.address = .service(kind)
        }
        login.isOnlyPasskeys = isOfPasskeys && login.passkeys.count == credentials.elements.count
    }

    private mutating func readFrame(_ item: JSONValue, folders: [String]) throws(ImportError) {
        own = try CXFExtension(item["extensions"])
        login.title = item["title"]?.text ?? ""
        // Collections have an order of their own.
        let places = own.folderPlaces
        let folders = folders.sorted { places[$0] ?? .max < places[$1] ?? .max }
        login.folder = folders.first ?? ""
        for (index, folder) in folders.dropFirst().enumerated() {
            login.addAttribute(CXFNames.numbered(ItemNames.folder, index + 2), folder)
        }
        (login.created, login.modified) = (item["creationAt"]?.time, item["modifiedAt"]?.time)
        login.urls = item["scope"]?["urls"]?.elements.compactMap { $0.text.flatMap { $0.isEmpty ? nil : $0 } } ?? []
        if let applications = item["scope"]?["androidApps"], !applications.elements.isEmpty {
            login.addAttribute(CXFNames.applications, try applications.source().plainText)
        }
        login.addAttribute("subtitle", item["subtitle"]?.text)
        if item["favorite"]?.boolean == true { login.addAttribute("favorite", "true") }
        let tags = item["tags"]?.elements.compactMap(\.text) ?? []
        login.addTags(tags, earlier: CXFNames.text(ofTags: tags))
        let others = item["extensions"]?.elements.filter { $0["name"]?.text != CXFExtension.name } ?? []
        guard !others.isEmpty else { return }
        let sources = try others.map { other throws(ImportError) in JSONOutput.source(try other.source()) }
        login.addField(CXFNames.extensions, try Secret.json(.array(sources)))
    }

    /// Returns whether an item says nothing beyond its passkeys: title and URLs are those of the site.
    private func isOfPasskeys(_ credentials: [JSONValue]) -> Bool {
        guard !credentials.isEmpty, login.attributes.isEmpty, login.fields.isEmpty, login.folder.isEmpty,
            own.kind == nil, login.title.utf8.count <= PortablePasskey.longestName
        else { return false }
        let sites = Set(credentials.map { $0["type"]?.text == "passkey" ? $0["rpId"]?.text : nil })
        // A page belongs to one site, and to the domains above it.
        guard sites.count <= 8, !sites.contains(nil) else { return false }
        return login.urls.allSatisfy { url in
            guard let address = WebAddress(url) else { return false }
            return sites.compactMap { $0 }.allSatisfy(address.isOf)
        }
    }

    private mutating func read(
        _ credential: JSONValue, _ type: String, _ number: Int, _ siteName: String?
    ) throws(ImportError) {
        let isFirst = number == 1
        switch type {
        case CXFCredential.basic.type where isFirst:
            login.user = try CXFCredential.value(of: credential["username"])?.plainText ?? ""
            login.password = try CXFCredential.value(of: credential["password"])
            try readMembers(credential, .basic, number, except: ["username", "password"])
        case CXFCredential.note.type where isFirst:
            note = try CXFCredential.value(of: credential["content"])
            try readMembers(credential, .note, number, except: ["content"])
        case CXFCredential.sshKey.type where isFirst:
            sshKey = credential
            if login.kind == nil { login.kind = "ssh key" }
        case CXFCredential.passkey.type:
            guard let passkey = try CXFPasskey.usable(credential, title: siteName, own) else {
                skipped.append("a passkey that no site accepts: its parts are fields of the login")
                return try readMembers(credential, .passkey, number)
            }
            login.passkeys.append(passkey)
        case CXFTimeCode.type: try readTimeCode(credential, number)
        case "custom-fields": try readFields(credential)
        case "item-reference":
            guard let item = credential["reference"]?["item"]?.text else { break }
            let account = credential["reference"]?["account"]?.text.map { "/" + $0 } ?? ""
            login.addAttribute(CXFNames.numbered(type, number), item + account)
        case "file": skipped.append("a file, whose content is not in the export")
        default:
            if let known = CXFCredential.named(type) {
                let isOfKind = isFirst && known.kind != nil && (login.kind == nil || login.kind == known.kind)
                if isOfKind { try readKind(credential, known) } else { try readMembers(credential, known, number) }
            } else {
                login.addField(CXFNames.numbered(CXFNames.unknown + type, number), try credential.source())
            }
        }
    }

    static func isKnown(_ type: String) -> Bool {
        ["custom-fields", "item-reference", "file", CXFTimeCode.type].contains(type) || CXFCredential.named(type) != nil
    }

    /// Reads the members of a credential as fields with the names of its kind.
    private mutating func readMembers(
        _ credential: JSONValue, _ kind: CXFCredential, _ number: Int, except known: [String] = []
    ) throws(ImportError) {
        for (member, value) in credential.members where member != "type" && !known.contains(member) {
            login.addField(kind.prefix(number) + member, try CXFCredential.value(of: value))
        }
    }

    private mutating func readKind(_ credential: JSONValue, _ kind: CXFCredential) throws(ImportError) {
        login.kind = kind.kind
        let known = kind.members.map(\.name)
        for (member, value) in credential.members where known.contains(member) {
            guard let text = try CXFCredential.value(of: value) else { continue }
            if member == CXFMonth.member, let parts = try CXFMonth.parts(of: text) {
                login.addField(CXFMonth.year, parts.year)
                login.addField(CXFMonth.month, parts.month)
            } else {
                login.addField(kind.name(of: member), text)
            }
        }
        try readMembers(credential, kind, 1, except: known)
    }

    private mutating func readTimeCode(_ credential: JSONValue, _ number: Int) throws(ImportError) {
        let code = try CXFTimeCode(credential)
        if let code {
            var text = try code.text()
            // The text must be that of the seed that other readers see.
            if number == 1, let stated = own.otp,
                let other = try CXFTimeCode(stated), other.isEqual(to: code)
            {
                text = stated
            }
            login.addField(CXFNames.numbered(ItemNames.otp, number), text)
        }
        let known = code == nil ? ["type"] : CXFTimeCode.members
        let prefix = CXFNames.numbered(CXFTimeCode.type, number) + "."
        for (member, value) in credential.members where !known.contains(member) {
            login.addField(prefix + member, try CXFCredential.value(of: value))
        }
    }

    private mutating func readFields(_ credential: JSONValue) throws(ImportError) {
        let section = credential["label"]?.text ?? ""
        for field in credential["fields"]?.elements ?? [] {
            let label = field["label"]?.text ?? ""
            let name = [section, label].filter { !$0.isEmpty }.joined(separator: ".")
            let named = name.isEmpty ? "field" : name
            switch field["fieldType"]?.text ?? "" {
            case "boolean":
                guard let value = field["value"]?.text, !value.isEmpty else { break }
                if ["true", "false"].contains(value) { login.booleans.insert(named) }
                login.addAttribute(named, value)
            case "string", "email", "number", "date", "year-month", "wifi-network-security-type", "subdivision-code",
                "country-code":
                guard let text = field["value"]?.text else { fallthrough }
                login.addAttribute(named, text)
            // A type that is not known may conceal its value.
            default: login.addField(named, try CXFCredential.value(of: field["value"]))
            }
        }
    }

    private mutating func readNote() throws(ImportError) {
        let additions: Set<String> = [CXFCredential.note.type, "custom-fields", "item-reference", "file"]
        guard counts[CXFCredential.note.type] != nil else { return }
        guard counts.keys.allSatisfy(additions.contains) else {
            login.notes = note?.plainText ?? ""
            return
        }
        login.kind = "secure note"
        login.password = note
    }

    /// Makes an item like that of `vault ssh-add`, if the key is usable and the item has no other main part.
    private mutating func readKey(_ credential: JSONValue, _ read: CXF.SSHKeyReading) throws(ImportError) {
        let isConfirmed = login.attributes.contains { $0 == (CXFNames.confirmation, "true") }
        guard counts[CXFCredential.basic.type] == nil,
            let key = try credential["privateKey"]?.decodedBase64URL(),
            let (file, item) = read(key, credential["keyComment"]?.text ?? "", isConfirmed)
        else { return try readMembers(credential, .sshKey, 1) }
        login.address = .service(item.service)
        (login.user, login.password) = (item.fingerprint, file)
        let stated = item.attributes.map(\.name)
        login.booleans.remove(CXFNames.confirmation)
        login.attributes.removeAll { stated.contains($0.name) }
        login.attributes += item.attributes
        try readMembers(credential, .sshKey, 1, except: ["keyType", "privateKey", "keyComment"])
    }
}
