// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// How far an import believes the ``Statement``s of a file.
package struct ImportTrust: Sendable {
    /// The access group that an option of the import gives, whatever a file states.
    package let group: String?
    /// Whether the file is a backup of the user's own, whose statements all count.
    package let isBackup: Bool

    package init(group: String? = nil, isBackup: Bool = false) { (self.group, self.isBackup) = (group, isBackup) }

    func allows(_ accessibility: Accessibility) -> Bool {
        // The others are readable while the vault is locked, which is weaker than the class of imported items.
        isBackup
            || [.whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly].contains(accessibility)
    }

    /// Whether only a backup may bring such an item: programs rely on it, or it is an application's.
    static func needsBackup(group: String, service: String) -> Bool {
        HiddenItems.contains(group: group) || AccessGroups.isApplication(group)
            || [HiddenItems.collectionService, HiddenItems.browserService].contains(service)
    }
}

extension Login {
    struct Stated {
        var itemClass: ItemClass?
        /// The parts of the key; an empty text, here and below, for those that the item does not have.
        var keyParts: [Attribute: AttributeValue] = [:]
        var texts: [Attribute: AttributeValue] = [:]
        /// The group, the protection class or access control, and the mark.
        var protection: [Attribute: AttributeValue] = [:]
        var user: [String: String] = [:]
        var hasSecretNotes = false
        /// The number of statements that the trust does not reach.
        var refused = 0

        func key(_ derived: ItemKey, of login: Login) -> ItemKey {
            let itemClass = itemClass ?? derived.itemClass
            var attributes = itemClass == derived.itemClass ? derived.attributes : [.account: .string(login.user)]
            for (attribute, value) in keyParts where attribute.belongs(to: itemClass) {
                attributes[attribute] =
                    [.service, .account].contains(attribute) || value.shownText?.isEmpty == false ? value : nil
            }
            let place = itemClass == .internetPassword ? Attribute.server : .service
            guard attributes[place] != nil else { return derived }
            return ItemKey(itemClass, attributes)
        }
    }

    /// Returns the entry without the statements of the file, of which those that are believed are in ``stated``.
    func withStatements(within trust: ImportTrust) throws(ImportError) -> Login {
        func isStatement(_ name: String) -> Bool {
            name.hasPrefix(ItemNames.prefix) && (trust.isBackup || Statement.all.contains(name))
        }
        guard !keepsAttributeNames, stated == nil,
            attributes.contains(where: { isStatement($0.name) }) || fields.contains(where: { isStatement($0.name) })
        else { return self }
        var login = self
        var given: [String: String] = [:]
        login.attributes.removeAll { name, value in
            guard isStatement(name), given[name] == nil else { return false }
            given[name] = Statement.decoded(name, value)
            return true
        }
        // Formats without types have all values in fields.
        login.fields.removeAll { name, secret in
            guard isStatement(name), given[name] == nil, secret.isUTF8 else { return false }
            given[name] = Statement.decoded(name, secret.plainText)
            return true
        }
        var stated = Stated()
        for name in given[Statement.none]?.split(separator: " ") ?? [] {
            if given[ItemNames.prefix + name] == nil { given[ItemNames.prefix + name] = "" }
        }
        stated.itemClass =
            ["generic": .genericPassword, "internet": .internetPassword][given[Statement.itemClass] ?? ""]
        for (name, attribute) in Statement.attributes {
            guard let value = given[name] else { continue }
            if [.label, .itemDescription].contains(attribute) {
                stated.texts[attribute] = .string(value)
            } else {
                stated.keyParts[attribute] = attribute == .port ? .number(Int64(UInt16(value) ?? 0)) : .string(value)
            }
        }
        stated.take(given, within: trust)
        stated.hasSecretNotes = given[Statement.notes] == "field"
        if let folder = given[Statement.folder] { login.folder = folder }
        if given[Statement.urls] == "derived", urls.count == 1 { login.urls = [] }
        if stated.texts[.itemDescription] != nil { login.kind = nil }
        if let form = given[Statement.notes] { try login.takeNotes(isOpen: form == "open") }
        let open = Set(Statement.names(given[Statement.open] ?? ""))
        login.fields.removeAll { name, secret in
            guard open.contains(name), secret.isUTF8 else { return false }
            login.attributes.append((name, secret.plainText))
            return true
        }
        login.stated = stated
        try login.decode(Statement.names(given[Statement.base64] ?? ""))
        login.takeAttachments(Statement.names(given[Statement.attached] ?? ""))
        return login
    }

    /// Takes the notes of a format whose notes are a field, with a line end.
    private mutating func takeNotes(isOpen: Bool) throws(ImportError) {
        guard let place = fields.firstIndex(where: { $0.name == ItemNames.notes }) else { return }
        let notes = try fields[place].secret.part(0..<max(0, fields[place].secret.count - 1))
        if isOpen {
            self.notes = notes.plainText
            fields.remove(at: place)
        } else {
            fields[place].secret = notes
        }
    }

    private mutating func decode(_ names: [String]) throws(ImportError) {
        for name in names {
            if name == Statement.password {
                if let decoded = try password?.decodedBase64() { password = decoded }
            } else if let index = fields.firstIndex(where: { $0.name == name }),
                let decoded = try fields[index].secret.decodedBase64()
            {
                fields[index].secret = decoded
            }
        }
    }

    private mutating func takeAttachments(_ names: [String]) {
        for (name, part) in zip(names, names.dropFirst()).enumerated().filter({ $0.offset % 2 == 0 }).map(\.element) {
            guard let index = attachments.firstIndex(where: { $0.name == name }) else { continue }
            let content = attachments.remove(at: index).content
            switch part {
            case Statement.password: password = content
            case ItemNames.notes where stated?.hasSecretNotes == false: notes = content.plainText
            default: fields.append((part, content))
            }
        }
    }
}

extension Login.Stated {
    fileprivate mutating func take(_ given: [String: String], within trust: ImportTrust) {
        let asked = given[Statement.accessible].flatMap { Accessibility(rawValue: $0) } ?? .whenUnlocked
        let accessibility = trust.allows(asked) ? asked : .whenUnlocked
        refused = asked == accessibility ? 0 : 1
        if let bits = given[Statement.presence].flatMap({ UInt64($0) }) {
            let control = AccessControl(accessibility, constraints: bits)
            protection[.accessControl] = .data(control.encoded)
        } else if given[Statement.accessible] != nil {
            protection[.accessible] = .string(accessibility.rawValue)
        }
        if given[Statement.synchronizable] == "1" { protection[.synchronizable] = .number(1) }
        if let group = given[Statement.group], !group.isEmpty {
            if trust.group == nil { protection[.accessGroup] = .string(group) } else { refused += 1 }
        }
        for name in Statement.unchanged { user[name] = given[name] }
        if let made = user[ItemNames.made], Maker(rawValue: String(made.prefix { $0 != ":" })) == nil {
            user[ItemNames.made] = nil
        }
        guard trust.isBackup else { return }
        for (name, value) in given where !Statement.all.contains(name) && name != ItemNames.source {
            user[name] = value
        }
    }
}
