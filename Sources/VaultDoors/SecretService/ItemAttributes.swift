// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The attributes by which programs of the Secret Service know an item: the user attributes as they are, or, where
/// there are none, what the item's own ones say.
struct ItemAttributes: Equatable, Sendable {
    private(set) var values: [String: String]

    static let schema = "xdg:schema"
    private static let generic = "org.freedesktop.Secret.Generic"
    private static let network = "org.gnome.keyring.NetworkPassword"
    /// Names with this beginning are this product's, and never served.
    private static let own = "vault."
    /// The type of the secret's content, where it is not that of plain text.
    static let contentType = "vault.content-type"

    /// - Throws: `.invalid` for a name that no item can have.
    init(_ values: [String: String]) throws(ServiceRefusal) {
        for name in values.keys {
            guard (1...255).contains(name.utf8.count) else { throw .invalid("a name has 1 to 255 bytes") }
            guard !name.hasPrefix(ItemAttributes.own) else { throw .invalid("names with 'vault.' are the vault's own") }
        }
        // As a service it would make the item one that tells of a collection.
        guard !values.values.contains(CollectionRecord.service) else {
            throw .invalid("'\(CollectionRecord.service)' is the vault's own")
        }
        self.values = values
    }

    init(of item: Item) {
        values = item.userAttributes.filter { !$0.key.hasPrefix(ItemAttributes.own) }
        guard values.isEmpty else { return }
        for (name, attribute) in ItemAttributes.derived(item.itemClass) {
            switch item[attribute] {
            case .number(let number) where number > 0: values[name] = String(number)
            case let value?:
                guard let text = value.text, !text.isEmpty else { continue }
                values[name] = attribute == .protocolName ? ProtocolNames.name(text) : text
            case nil: continue
            }
        }
        if item.itemClass == .internetPassword { values[ItemAttributes.schema] = ItemAttributes.network }
    }

    /// The names by which items without user attributes are known.
    private static func derived(_ itemClass: ItemClass) -> [(name: String, attribute: Attribute)] {
        itemClass == .internetPassword
            ? [
                ("protocol", .protocolName), ("server", .server), ("port", .port), ("object", .path),
                ("user", .account), ("domain", .securityDomain),
            ] : [("service", .service), ("username", .account)]
    }

    /// The type of the item, as programs see it.
    var type: String { values[ItemAttributes.schema] ?? "" }

    /// Whether two items are the same to a program that replaces one.
    func isSame(as other: ItemAttributes) -> Bool { withoutGeneric == other.withoutGeneric }

    private var withoutGeneric: [String: String] {
        values[ItemAttributes.schema] == ItemAttributes.generic
            ? values.filter { $0.key != ItemAttributes.schema } : values
    }

    /// Whether an item with these attributes is found by others.
    func matches(_ search: ItemAttributes) -> Bool {
        search.values.allSatisfy { name, value in
            values[name] == value
                || name == ItemAttributes.schema && value == ItemAttributes.generic && values[name] == nil
        }
    }

    // MARK: Queries

    /// What finds every item of a class that has these attributes; among what is found are others.
    func queries(_ itemClass: ItemClass) -> [Query] {
        var byUser = Query(itemClass, userAttributes: withoutGeneric)
        ItemAttributes.complete(&byUser)
        return [byUser] + [derivedQuery(itemClass)].compactMap { $0 }
    }

    /// What finds items without user attributes. Nil: they have others than those, or the first query has found them.
    private func derivedQuery(_ itemClass: ItemClass) -> Query? {
        var wanted = values
        let schema = wanted.removeValue(forKey: ItemAttributes.schema)
        switch itemClass {
        case .internetPassword: guard schema == nil || schema == ItemAttributes.network else { return nil }
        default: guard schema == nil || schema == ItemAttributes.generic else { return nil }
        }
        let attributes = ItemAttributes.derived(itemClass)
        guard !wanted.isEmpty || schema == ItemAttributes.network else { return nil }
        var query = Query(itemClass)
        for (name, value) in wanted {
            guard let attribute = attributes.first(where: { $0.name == name })?.attribute else { return nil }
            switch attribute {
            case .port:
                guard let number = Int64(value) else { return nil }
                query.attributes[attribute] = .number(number)
            case .protocolName: query.attributes[attribute] = .string(ProtocolNames.code(value))
            default: query.attributes[attribute] = .string(value)
            }
        }
        ItemAttributes.complete(&query)
        return query
    }

    static func complete(_ query: inout Query) {
        query.leavesOutLocked = true
        query.limit = .all
    }

    // MARK: Keys

    /// The service of an item that is made with these attributes.
    func service(label: String) -> String {
        let names = ["service", "server", "domain", "application", ItemAttributes.schema]
        let service = names.lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? label
        return service == CollectionRecord.service ? "" : service
    }

    /// The account of an item that is made with these attributes.
    var account: String {
        ["username", "user", "login", "account"].lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? ""
    }

    /// Whether an item that has these attributes got its account from them, and nobody has changed it since.
    func gave(account: String) -> Bool {
        guard account != self.account else { return true }
        guard account.hasPrefix(self.account + "~") else { return false }
        return Int(account.dropFirst(self.account.count + 1)) != nil
    }

    /// The changes that make an item's attributes those of a program, leaving the product's own.
    func changes(from item: Item) -> [String: String?] {
        var changes: [String: String?] = [:]
        for name in item.userAttributes.keys where !name.hasPrefix(ItemAttributes.own) && values[name] == nil {
            changes[name] = .some(nil)
        }
        for (name, value) in values { changes[name] = value }
        return changes
    }
}
