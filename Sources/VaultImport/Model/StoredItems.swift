// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The items of the vault that an import may meet.
struct StoredItems {
    private(set) var imported: [String: Item] = [:]
    /// The keys in use: by an item of the vault, or (`nil`) by one to be added.
    var keys: [[String]: Item?] = [:]
    let items: [Item]
    private let ours: String
    private var faces: [[String?]: [Item]]?
    private var taken: Set<[UInt8]> = []

    /// - Parameter group: the group whose items count before others of the same source, or alone.
    init(_ store: any ItemStore, of format: String, preferring group: String?, isAlone: Bool) throws(ImportError) {
        ours = format + ":"
        var all: [Item] = []
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var query = Query(itemClass)
            if isAlone { query.attributes[.accessGroup] = group.map(AttributeValue.string) }
            all += try outside { try store.allMatching(query) }
        }
        items = all
        for item in all {
            keys[item.importKey] = .some(item)
            guard let source = item.userAttributes[ItemNames.source], source.hasPrefix(ours) else { continue }
            if imported[source]?[.accessGroup]?.text != group || imported[source] == nil { imported[source] = item }
        }
    }

    mutating func take(_ item: Item) {
        if let record = item.record { taken.insert(record.persistentReference) }
    }

    /// Returns whether the vault has all of the item from elsewhere, under its key, or one that looks the same.
    mutating func hasTwin(of item: Item, _ login: Login) throws(ImportError) -> Bool {
        guard !items.isEmpty else { return false }
        if let other = keys[item.importKey], let other, try isTwin(other, of: item) { return true }
        let faces = faces ?? StoredItems.faces(of: items)
        self.faces = faces
        let face: [String?] = [login.title, login.user, login.urls.first]
        for other in faces[face] ?? [] where try isTwin(other, of: item) { return true }
        return false
    }

    /// Returns the items by what every format says of them, but for the title, which one leaves out.
    private static func faces(of items: [Item]) -> [[String?]: [Item]] {
        var faces: [[String?]: [Item]] = [:]
        for item in items {
            let face = ItemFace(item)
            for title in [face.title, ""] { faces[[title, face.user, face.urls.first], default: []].append(item) }
        }
        return faces
    }

    private func isTwin(_ other: Item, of item: Item) throws(ImportError) -> Bool {
        guard let record = other.record, !taken.contains(record.persistentReference),
            other.userAttributes[ItemNames.source]?.hasPrefix(ours) != true, try other.saysAll(of: item)
        else { return false }
        return try other.hasSecrets(of: item)
    }
}

extension Item {
    /// The texts that are unique for each item, close enough to the vault's own key for planning.
    var importKey: [String] {
        let attributes: [Attribute] =
            itemClass == .genericPassword
            ? [.service, .account]
            : [.server, .account, .protocolName, .port, .path, .securityDomain, .authenticationType]
        return [itemClass.rawValue, self[.accessGroup]?.text ?? Statement.usualGroup]
            + attributes.map { self[$0]?.shownText ?? "" }
    }
}
