// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The items of the vault that an import may meet.
struct StoredItems {
    /// The items that are imported in the format, by their source.
    private(set) var imported: [String: Item] = [:]
    /// The keys in use: by an item of the vault, or (`nil`) by one to be added.
    var keys: [ImportKey: Item?] = [:]
    let items: [Item]
    /// The prefix of sources.
    private let ours: String
    /// The items by what every format says of them, once they are asked for.
    private var faces: [Face: [Item]]?
    /// The items that belong to an entry already.
    private var taken: Set<[UInt8]> = []

    /// What every format says of an item, but for the title, which one leaves out.
    private struct Face: Hashable {
        let title: String
        let user: String
        let url: String?
    }

    /// - Parameters:
    ///   - format: the prefix of sources.
    ///   - group: the group whose items count before others of the same source.
    ///   - isAlone: whether the items of other groups do not count at all.
    init(_ store: any ItemStore, of format: String, preferring group: String?, isAlone: Bool) throws(ImportError) {
        ours = format + ":"
        var all: [Item] = []
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var query = Query(itemClass)
            if isAlone { query.attributes[.accessGroup] = group.map(AttributeValue.string) }
            do throws(VaultError) { all += try store.copyMatching(query) } catch {
                guard error == .itemNotFound else { throw .outside(error) }
            }
        }
        items = all
        for item in all {
            keys[ImportKey(item)] = .some(item)
            guard let source = item.userAttributes[ItemNames.source], source.hasPrefix(ours) else { continue }
            if imported[source]?[.accessGroup]?.text != group || imported[source] == nil { imported[source] = item }
        }
    }

    /// Marks an item as that of an entry.
    mutating func take(_ item: Item) {
        if let record = item.record { taken.insert(record.persistentReference) }
    }

    /// Returns whether the vault has the item from elsewhere, under this key or as far as any format tells, with all
    /// that it says.
    ///
    /// - Parameter login: the entry of the item.
    mutating func hasTwin(of item: Item, _ login: Login) throws(ImportError) -> Bool {
        guard !items.isEmpty else { return false }
        if let other = keys[ImportKey(item)], let other, try isTwin(other, of: item) { return true }
        let faces = faces ?? StoredItems.faces(of: items)
        self.faces = faces
        for other in faces[Face(title: login.title, user: login.user, url: login.urls.first)] ?? [] {
            if try isTwin(other, of: item) { return true }
        }
        return false
    }

    private static func faces(of items: [Item]) -> [Face: [Item]] {
        var faces: [Face: [Item]] = [:]
        for item in items {
            let face = ItemFace(item)
            let (user, url) = (face.user, face.urls.first)
            for title in [face.title, ""] { faces[Face(title: title, user: user, url: url), default: []].append(item) }
        }
        return faces
    }

    private func isTwin(_ other: Item, of item: Item) throws(ImportError) -> Bool {
        guard let record = other.record, !taken.contains(record.persistentReference),
            other.userAttributes[ItemNames.source]?.hasPrefix(ours) != true
        else { return false }
        guard try other.saysAll(of: item) else { return false }
        return try other.hasSecrets(of: item)
    }
}

/// A text that is unique for each item of a group, close enough to the vault's own key for planning.
struct ImportKey: Hashable {
    private let parts: [String]

    init(_ item: Item) {
        let attributes: [Attribute] =
            item.itemClass == .genericPassword
            ? [.service, .account]
            : [.server, .account, .protocolName, .port, .path, .securityDomain, .authenticationType]
        parts =
            [item.itemClass.rawValue, item[.accessGroup]?.text ?? Statement.usualGroup]
            + attributes.map { ImportKey.text(item[$0]) }
    }

    private static func text(_ value: AttributeValue?) -> String {
        if case .number(let number) = value { return number == 0 ? "" : String(number) }
        return value?.text ?? ""
    }
}
