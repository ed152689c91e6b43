// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension Login {
    /// The maximum length of an attribute: no program searches for a longer text, which becomes a field.
    private static let attributeLimit = 4096
    /// The maximum size of all attributes together; the vault allows 64 KiB, encoded.
    private static let attributesLimit = 48 << 10

    /// Returns the item of the entry, and one for each attachment; none for an entry that is only passkeys.
    ///
    /// - Throws: `.malformed` for an entry that is too large to be imported.
    func items(of format: String, within trust: ImportTrust = ImportTrust()) throws(ImportError) -> [Item] {
        try isOnlyPasskeys ? [] : withStatements(within: trust).withSecretsInPlace().madeItems(of: format)
    }

    private func madeItems(of format: String) throws(ImportError) -> [Item] {
        let source = source(of: format)
        var names = UniqueNames()
        var user: [String: String] = [ItemNames.source: source]
        var secrets: [String: Secret] = [:]
        var given: [(name: String, value: String)] = []
        let page = urls.first.flatMap { WebAddress($0) }
        let derived = key(page)
        let key = stated?.key(derived, of: self) ?? derived
        user[ItemNames.made] = Maker.of(importFrom: format)
        if let contentType { given.append((names.taking(ItemNames.contentType), contentType)) }
        if keepsAttributeNames { addAttributes(to: &given, &names) }
        // No attribute takes the names of secrets that have a meaning.
        let meanings = [ItemNames.otp, ItemNames.notes].filter { name in fields.contains { $0.name == name } }
        for name in meanings { _ = names.taking(name) }
        func add(_ name: String, _ value: String) { given.append((names.taking(name), value)) }
        if let first = urls.first, !isAddress(first, of: key, page) { add(ItemNames.url, first) }
        for (index, url) in urls.dropFirst().enumerated() { add(ItemNames.furtherURL(index + 2), url) }
        if !folder.isEmpty { add(ItemNames.folder, folder) }
        if !keepsAttributeNames { addAttributes(to: &given, &names) }
        let isLarge =
            given.reduce(notes.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 16 }
            > Login.attributesLimit
        let marked = given.filter {
            booleans.contains($0.name) && ["true", "false"].contains($0.value) && !$0.name.contains("\n")
        }
        if !marked.isEmpty { user[ItemNames.booleans] = marked.map(\.name).joined(separator: "\n") }
        for (name, value) in given {
            // A URL may contain a password.
            let isSecret = name.hasPrefix(ItemNames.url) && Login.hasPassword(value)
            if isSecret || value.utf8.count > (isLarge ? 255 : Login.attributeLimit) {
                secrets[UniqueNames.good(name)] = try Secret(plain: value)
            } else {
                user[name] = value
            }
        }
        var attributes: [Attribute: AttributeValue] = [.label: .string(title)]
        let hasLongNotes = isLarge || notes.utf8.count > Login.attributeLimit
        if stated?.hasSecretNotes == true ? !notes.isEmpty : hasLongNotes {
            secrets[names.taking(ItemNames.notes)] = try Secret(plain: notes)
        } else if !notes.isEmpty {
            attributes[.comment] = .string(notes)
        }
        attributes[.itemDescription] = kind.map(AttributeValue.string)
        var common: [Attribute: AttributeValue] = [:]
        common[.creationDate] = created.map(AttributeValue.date)
        common[.modificationDate] = modified.map(AttributeValue.date)
        if let stated {
            for (attribute, text) in stated.texts { attributes[attribute] = text == .string("") ? nil : text }
            common.merge(stated.protection) { $1 }
            user.merge(stated.user) { $1 }
        }
        if keepsAttributeNames, key.itemClass == .genericPassword {
            let own = user.keys.filter { !$0.hasPrefix(ItemNames.prefix) && !$0.hasPrefix(ItemNames.custom) }
            user[ItemNames.programAttributes] = ItemNames.lines(own)
        }
        attributes.merge(common) { $1 }
        for (name, secret) in fields {
            let isMeant = meanings.contains(name) && secrets[name] == nil
            secrets[isMeant ? name : names.taking(name)] = secret
        }
        guard secrets.values.reduce(password?.count ?? 0, { $0 + $1.count }) <= Layout.valueLimit - 64 else {
            throw .malformed(place, "its secrets have more than 16 MiB together")
        }
        let texts = key.attributes.values.compactMap(\.text) + user.flatMap { [$0.key, $0.value] } + secrets.keys
        let total = (texts + [title, kind ?? ""]).reduce(notes.utf8.count) { $0 + $1.utf8.count + 16 }
        guard total <= Layout.attributesLimit - 1024 || isLarge && total - notes.utf8.count <= 60 << 10 else {
            throw .malformed(place, "its attributes have more than 64 KiB together")
        }
        let main = Item(key, attributes: attributes, userAttributes: user, secret: password, fields: secrets)
        return [main] + attachmentItems(of: main, source, common)
    }

    private func attachmentItems(of main: Item, _ source: String, _ common: [Attribute: AttributeValue]) -> [Item] {
        let service = (main.server ?? main.service ?? "") + ItemNames.attachmentSuffix
        return attachments.map { attachment in
            var user = main.userAttributes.filter { $0.key == ItemNames.made }
            user[ItemNames.source] = "\(source)/\(attachment.name)"
            return Item(
                .genericPassword(service: service, account: attachment.name),
                attributes: common.merging([.label: .string(attachment.name)]) { $1 }, userAttributes: user,
                secret: attachment.content)
        }
    }

    /// Returns the value of ``ItemNames/source`` for the first item of this identity.
    package func source(of format: String) -> String {
        guard id.isEmpty else { return Login.source(of: format, id) }
        return "\(format):\(Login.digest("\(urls.first ?? title)\n\(user)"))"
    }

    func earlierSources(of format: String) -> [String] { earlierIDs().map { Login.source(of: format, $0) } }

    /// Whether the entry has an identifier or a name: without both, the source says nothing about the account.
    var hasIdentity: Bool { !id.isEmpty || !title.isEmpty || !user.isEmpty || !urls.isEmpty }

    private static func source(of format: String, _ id: String) -> String {
        "\(format):\(id.utf8.count > 200 ? digest(id) : id)"
    }

    static func digest(_ text: String) -> String { hexadecimal(KeyedHash.shortDigest(text)) }

    private static func hasPassword(_ url: String) -> Bool {
        let bytes = url.utf8.span
        guard let user = URLParts(bytes, trims: true)?.user else { return false }
        return user.contains { bytes[$0] == UInt8(ascii: ":") }
    }

    private func addAttributes(to given: inout [(name: String, value: String)], _ names: inout UniqueNames) {
        for (name, value) in attributes {
            let isOwn = keepsAttributeNames && !name.hasPrefix(ItemNames.prefix)
            given.append((names.keeping(isOwn ? name : CustomName.kept(name)), value))
        }
    }

    /// Returns whether an item says all of its first URL, which names a page, by its server, protocol, port and path.
    private func isAddress(_ url: String, of key: ItemKey, _ page: WebAddress?) -> Bool {
        guard key.itemClass == .internetPassword else { return false }
        return (stated == nil ? page?.text : WebAddress(Item(key)).text) == url
    }

    /// The key of the item, but for what a file states of it.
    var key: ItemKey { key(urls.first.flatMap { WebAddress($0) }) }

    private func key(_ page: WebAddress?) -> ItemKey {
        func internet(_ attributes: [Attribute: AttributeValue]) -> ItemKey {
            ItemKey(.internetPassword, attributes.merging([.account: .string(user)]) { first, _ in first })
        }
        switch address {
        case .service(let service): return .genericPassword(service: service, account: user)
        case .internet(let attributes): return internet(attributes)
        case .ofURL:
            if let page { return internet(page.attributes) }
            let service = [title, urls.first ?? "", user].first { !$0.isEmpty } ?? "login"
            return .genericPassword(service: service, account: user)
        }
    }
}

private struct UniqueNames {
    private var taken: Set<String> = [ItemNames.fingerprint, ItemNames.source, ItemNames.originalKey]

    mutating func keeping(_ name: String) -> String {
        (1...255).contains(name.utf8.count) && taken.insert(name).inserted ? name : taking(name)
    }

    mutating func taking(_ name: String) -> String {
        let good = UniqueNames.good(name)
        var unique = good
        var number = 2
        while !taken.insert(unique).inserted {
            unique = "\(good) \(number)"
            number += 1
        }
        return unique
    }

    static func good(_ name: String) -> String {
        let count = name.utf8.count
        if count > 0, count <= 240, name.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return name }
        var text = "".unicodeScalars
        text += name.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        while String(text).utf8.count > 240 { text.removeLast() }
        return text.isEmpty ? "field" : String(text)
    }
}
