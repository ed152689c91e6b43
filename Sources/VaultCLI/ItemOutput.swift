// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultStorage
internal import VaultFormat

/// An item in the format of `--json`: stable keys, times in RFC 3339, no secret. Absent values, including empty texts
/// and lists, and port 0, have no key.
struct ItemOutput: Encodable {
    let item: Item
    /// The version, if there are several.
    var version: ItemVersion?

    private enum Key: String, CodingKey {
        case itemClass = "class"
        case service, account, label, comment, description, attributes, fields, accessible, presence, synchronizable,
            group, created, modified, version
        case id, isCurrent
        case title, place, host, user, urls, notes, folder, tags, kind
        case protocolName = "protocol"
        case port, path, domain
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(ClassOption(item.itemClass).rawValue, forKey: .itemClass)
        try container.encode(item.serviceName, forKey: .service)
        try container.encodeIfPresent(item.accountName.present, forKey: .account)
        try container.encodeIfPresent(item[.label]?.displayText.present, forKey: .label)
        try container.encodeIfPresent(item[.comment]?.displayText.present, forKey: .comment)
        try container.encodeIfPresent(item[.itemDescription]?.displayText.present, forKey: .description)
        try container.encode(item.userAttributes, forKey: .attributes)
        try container.encode(item.fieldNames, forKey: .fields)
        try container.encodeIfPresent(item.accessibleName, forKey: .accessible)
        if item.asksForPresence { try container.encode(true, forKey: .presence) }
        if item.isSynchronizable { try container.encode(true, forKey: .synchronizable) }
        try container.encodeIfPresent(item[.accessGroup]?.text, forKey: .group)
        try container.encodeIfPresent((item.record?.created).map(Time.init), forKey: .created)
        try container.encodeIfPresent((item.record?.modified).map(Time.init), forKey: .modified)
        try container.encodeIfPresent(item.record?.version, forKey: .version)
        try container.encodeIfPresent(item.record?.id.uuidString.lowercased(), forKey: .id)
        if let version { try container.encode(version.isCurrent, forKey: .isCurrent) }
        try encodeFace(to: &container)
        guard item.itemClass == .internetPassword else { return }
        let name = item[.protocolName]?.text.map(ProtocolNames.name)
        try container.encodeIfPresent(name?.present, forKey: .protocolName)
        if case .number(let port) = item[.port], port != 0 { try container.encode(port, forKey: .port) }
        try container.encodeIfPresent(item[.path]?.text?.present, forKey: .path)
        try container.encodeIfPresent(item[.securityDomain]?.text?.present, forKey: .domain)
    }

    private func encodeFace(to container: inout KeyedEncodingContainer<Key>) throws {
        let face = ItemFace(item)
        try container.encode(face.title, forKey: .title)
        try container.encodeIfPresent(face.place.present, forKey: .place)
        try container.encodeIfPresent(face.host?.text, forKey: .host)
        try container.encodeIfPresent(face.user.present, forKey: .user)
        let (urls, tags) = (face.urls, face.tags)
        if !urls.isEmpty { try container.encode(urls, forKey: .urls) }
        try container.encodeIfPresent(face.comment, forKey: .notes)
        try container.encodeIfPresent(face.folder, forKey: .folder)
        if !tags.isEmpty { try container.encode(tags, forKey: .tags) }
        try container.encodeIfPresent(face.kind, forKey: .kind)
    }

    /// Writes the object to standard output.
    func write(revealing: Bool) throws {
        try json(revealing: revealing ? item.openedSecret() : nil).withBytes { try Output.write($0) }
        try Output.write("\n")
    }

    /// Returns the object as JSON; secrets stay in locked memory until they are written.
    ///
    /// - Parameter secret: `nil` for neither the secret nor the fields that came with it.
    func json(revealing secret: Secret?) throws -> SecretBytes {
        let object = try Output.encoded(self)
        guard let secret else { return try SecretBytes(copying: object.span) }
        // A character of two bytes may become six.
        var text = try SecretBuffer(capacity: object.count + 6 * secret.count + 64)
        try text.append(object.dropLast())
        try text.append(",")
        try text.append(member: secret)
        try text.append(fieldSecretsOf: item)
        try text.append("}")
        return try text.take()
    }
}

extension SecretBuffer {
    /// Appends UTF-8 as the content of a JSON string (RFC 8259), safe for a terminal.
    mutating func append(shownEscaping bytes: Span<UInt8>) throws(CryptoError) {
        try append(escaping: bytes) { $0.isObeyed }
    }

    /// Appends the fields that came with an item as a member of a JSON object, behind another member.
    mutating func append(fieldSecretsOf item: Item?) throws {
        let fields = item?.fields.sorted { $0.key < $1.key } ?? []
        for (place, field) in fields.enumerated() {
            try append(place == 0 ? ",\"fieldSecrets\":{" : ",")
            try append(Output.encoded(field.key))
            try append(":{")
            try append(member: field.value)
            try append(place == fields.count - 1 ? "}}" : "}")
        }
    }

    /// Appends a secret as a member of a JSON object.
    mutating func append(member secret: Secret) throws(CryptoError) {
        try secret.withBytes { bytes throws(CryptoError) in
            if bytes.isUTF8 {
                try append("\"secret\":\"")
                try append(shownEscaping: bytes)
            } else {
                try append("\"secretBase64\":\"")
                try append(base64: bytes)
            }
            try append("\"")
        }
    }
}

extension Item {
    /// The service of a generic password, the server of an internet password, or the site of a passkey.
    var serviceName: String {
        switch itemClass {
        case .genericPassword: self[.service]?.displayText ?? ""
        case .internetPassword: self[.server]?.displayText ?? ""
        case .certificate: subjectName ?? self[.subject]?.displayText ?? ""
        case .key: Passkey(self)?.relyingParty ?? self[.applicationTag]?.displayText ?? ""
        }
    }

    /// The account, for display; of a passkey, the name of its user.
    var accountName: String { Passkey(self)?.names.user ?? self[.account]?.displayText ?? "" }

    /// The subject of a certificate, for display.
    private var subjectName: String? {
        guard case .data(let name) = self[.subject] else { return nil }
        return DistinguishedName.summary(normalized: name.span)
    }

    /// Whether the item is marked to be synchronized.
    var isSynchronizable: Bool { self[.synchronizable] == .number(1) }

    var accessibility: Accessibility? { self[.accessible]?.text.flatMap(Accessibility.init) }

    var accessibleName: String? { accessibility?.optionName }

    static let attributeNames = [
        "class", "service", "server", "account", "label", "comment", "description", "protocol", "port", "path",
        "domain", "accessible", "group", "created", "modified", "version",
    ]

    /// Returns an attribute by its name on the command line, or a user attribute.
    ///
    /// - Parameter isForPerson: whether a time is local.
    func attribute(named name: String, isForPerson: Bool = false) -> String? {
        switch name {
        case "class": ClassOption(itemClass).rawValue
        case "service", "server": serviceName
        case "account": accountName.present
        case "label": self[.label]?.displayText
        case "comment": self[.comment]?.displayText
        case "description": self[.itemDescription]?.displayText
        case "protocol": self[.protocolName]?.text.map(ProtocolNames.name)
        case "port": self[.port]?.displayText
        case "path": self[.path]?.displayText
        case "domain": self[.securityDomain]?.displayText
        case "accessible": accessibleName
        case "presence": String(asksForPresence)
        case "synchronizable": String(isSynchronizable)
        case "group": self[.accessGroup]?.text
        case "created": (record?.created).map { Time($0).text(isForPerson: isForPerson) }
        case "modified": (record?.modified).map { Time($0).text(isForPerson: isForPerson) }
        case "version": record.map { String($0.version) }
        default: userAttributes[name]
        }
    }
}

extension Accessibility {
    /// The value for `--accessible`.
    var optionName: String {
        switch self {
        case .whenUnlocked: "when-unlocked"
        case .afterFirstUnlock: "after-first-unlock"
        case .always: "always"
        case .whenUnlockedThisDeviceOnly: "when-unlocked,this-device"
        case .afterFirstUnlockThisDeviceOnly: "after-first-unlock,this-device"
        case .alwaysThisDeviceOnly: "always,this-device"
        case .whenPasscodeSetThisDeviceOnly: "when-passphrase-set,this-device"
        }
    }
}

extension AttributeValue {
    /// The value for display: text literally, other data in hexadecimal.
    var displayText: String {
        switch self {
        case .string(let string): string
        case .data(let data): text ?? hexadecimal(data)
        case .number(let number): String(number)
        case .real(let real): String(real)
        case .bool(let bool): bool ? "1" : "0"
        case .date(let date): Time(date).rfc3339
        }
    }
}

extension String {
    /// The text; `nil` if empty, which means absence in the parts of an item's key.
    var present: String? { isEmpty ? nil : self }
}
