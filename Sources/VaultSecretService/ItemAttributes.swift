// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The attributes by which programs of the Secret Service identify an item: the user attributes, or, without any, names
/// derived from the item's own attributes.
struct ItemAttributes: Equatable, Sendable {
    private(set) var values: [String: String]

    static let schema = "xdg:schema"
    private static let generic = "org.freedesktop.Secret.Generic"
    private static let network = "org.gnome.keyring.NetworkPassword"
    /// The prefix of this product's own attributes, which are never served.
    private static let own = "vault."
    /// The attribute with the content type of the secret, if other than plain text.
    static let contentType = "vault.content-type"

    /// - Throws: `.invalid` for an attribute name that is not allowed.
    init(_ values: [String: String]) throws(ServiceRefusal) {
        for name in values.keys {
            guard (1...255).contains(name.utf8.count) else { throw .invalid("a name has 1 to 255 bytes") }
            guard !name.hasPrefix(ItemAttributes.own) else { throw .invalid("names with 'vault.' are the vault's own") }
        }
        // As the service attribute, the value would turn the item into the record of a collection.
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

    /// The attributes served for items without user attributes.
    private static func derived(_ itemClass: ItemClass) -> [(name: String, attribute: Attribute)] {
        itemClass == .internetPassword
            ? [
                ("protocol", .protocolName), ("server", .server), ("port", .port), ("object", .path),
                ("user", .account), ("domain", .securityDomain),
            ] : [("service", .service), ("username", .account)]
    }

    /// The type of the item, as programs see it.
    var type: String { values[ItemAttributes.schema] ?? "" }

    /// Returns whether a program that replaces an item with these attributes replaces the other one.
    func isSame(as other: ItemAttributes) -> Bool { withoutGeneric == other.withoutGeneric }

    private var withoutGeneric: [String: String] {
        values[ItemAttributes.schema] == ItemAttributes.generic
            ? values.filter { $0.key != ItemAttributes.schema } : values
    }

    /// Returns whether a search with the given attributes finds an item with these.
    func matches(_ search: ItemAttributes) -> Bool {
        search.values.allSatisfy { name, value in
            values[name] == value
                || name == ItemAttributes.schema && value == ItemAttributes.generic && values[name] == nil
        }
    }

    // MARK: Queries

    /// The queries that find every item of a class with these attributes; the results also include other items.
    func queries(_ itemClass: ItemClass) -> [Query] {
        var byUser = Query(itemClass, userAttributes: withoutGeneric)
        ItemAttributes.complete(&byUser)
        return [byUser] + [derivedQuery(itemClass)].compactMap { $0 }
    }

    /// The query for items without user attributes; `nil` if such an item cannot have these attributes, or the first
    /// query finds it.
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

    /// Returns the service of a new item with these attributes.
    func service(label: String) -> String {
        let names = ["service", "server", "domain", "application", ItemAttributes.schema]
        let service = names.lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? label
        return service == CollectionRecord.service ? "" : service
    }

    /// The account of a new item with these attributes.
    var account: String {
        ["username", "user", "login", "account"].lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? ""
    }

    /// Returns whether an account was derived from these attributes, and not changed since.
    func gave(account: String) -> Bool {
        guard account != self.account else { return true }
        guard account.hasPrefix(self.account + "~") else { return false }
        return Int(account.dropFirst(self.account.count + 1)) != nil
    }

    /// Returns the changes that set an item's attributes to a program's, keeping the product's own.
    func changes(from item: Item) -> [String: String?] {
        var changes: [String: String?] = [:]
        for name in item.userAttributes.keys where !name.hasPrefix(ItemAttributes.own) && values[name] == nil {
            changes[name] = .some(nil)
        }
        for (name, value) in values { changes[name] = value }
        return changes
    }
}
