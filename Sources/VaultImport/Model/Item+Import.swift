// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension Item {
    func opened(_ field: String?) throws(ImportError) -> Secret? { try outside { try openedSecret(field: field) } }

    /// Returns whether the item includes everything that another has besides its secrets; labels may differ.
    func saysAll(of other: Item) throws(ImportError) -> Bool {
        if let kind = other[.itemDescription]?.text, !kind.isEmpty {
            guard self[.itemDescription]?.text == kind else { return false }
        }
        if let notes = other[.comment]?.text, !notes.isEmpty, self[.comment]?.text != notes {
            // A file has the notes in the open that are a field here.
            guard let own = try opened(ItemNames.notes), own.isEqual(to: try Secret(plain: notes)) else { return false }
        }
        let planted = ItemNames.custom + ItemNames.prefix
        let urls = Set(ItemFace(self).urls + [WebAddress(self).text])
        return other.userAttributes.allSatisfy { name, value in
            // Different spellings of an address are equal, and their order makes no difference.
            if Item.isURL(name) { return urls.contains(value) || urls.contains(WebAddress(value)?.text ?? "") }
            // A part that only a backup may state was stated of the item.
            let own = name.hasPrefix(planted) ? String(name.dropFirst(ItemNames.custom.count)) : name
            return name.hasPrefix(ItemNames.prefix) || userAttributes[name] == value || userAttributes[own] == value
        }
    }

    private static func isURL(_ name: String) -> Bool {
        name == ItemNames.url || name.hasPrefix(ItemNames.url + ".") && ItemNames.isReserved(name)
    }

    /// Returns whether the item includes all secrets of another, which is not stored.
    func hasSecrets(of other: Item) throws(ImportError) -> Bool {
        func isEqual(_ first: Secret?, _ second: Secret?) -> Bool {
            guard let first, let second else { return first?.isEmpty ?? second?.isEmpty ?? true }
            return first.isEqual(to: second)
        }
        guard isEqual(try opened(nil), other.secret) else { return false }
        for (name, secret) in other.fields where name != ItemNames.fingerprint {
            guard isEqual(try opened(name), secret) else { return false }
        }
        return true
    }
}

extension ItemChanges {
    /// - Parameter removing: whether parts that the source no longer has are removed here too.
    init(of existing: Item, to item: Item, removing: Bool) throws(ImportError) {
        self.init(attributes: item.attributes, secret: item.secret)
        // An item stays where its owner has it.
        for chosen in [Attribute.accessGroup, .accessible, .accessControl, .synchronizable] { attributes[chosen] = nil }
        // An item cannot lose its secret, which can only become empty.
        if item.secret == nil, existing.record?.hasSecret == true, removing { secret = try Secret(plain: "") }
        // Clears the parts that the new address lacks.
        if item.itemClass == .internetPassword {
            for attribute in [Attribute.protocolName, .path, .authenticationType] where item[attribute] == nil {
                attributes[attribute] = .string("")
            }
            if item[.port] == nil { attributes[.port] = .number(0) }
        }
        for (name, value) in item.userAttributes { userAttributes[name] = .some(value) }
        for (name, secret) in item.fields { fields[name] = .some(secret) }
        let original = existing.userAttributes[ItemNames.originalKey]
        let part = existing.itemClass == .genericPassword ? Attribute.service : .securityDomain
        if let original, original == item[part]?.text ?? "" {
            attributes[part] = nil
        } else if original != nil {
            userAttributes.updateValue(nil, forKey: ItemNames.originalKey)
        }
        guard removing else { return }
        for attribute in [Attribute.comment, .itemDescription] where existing[attribute] != nil {
            attributes[attribute] = item[attribute] ?? .string("")
        }
        for name in existing.userAttributes.keys where item.userAttributes[name] == nil && !ItemNames.isOwn(name) {
            userAttributes.updateValue(nil, forKey: name)
        }
        for name in existing.fieldNames where item.fields[name] == nil { fields.updateValue(nil, forKey: name) }
    }
}

extension VaultError {
    /// Whether the vault refuses an item for what it is, and would take another one.
    var isOfItem: Bool {
        switch self {
        case .parameter, .noSuchAttribute, .accessGroupDenied, .unimplemented: true
        case .storage(.valueTooLarge), .storage(.attributesTooLarge): true
        default: false
        }
    }
}
