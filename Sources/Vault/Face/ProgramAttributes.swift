// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The attributes by which programs of the Secret Service find an item, and the key of an item that they make.
package struct ProgramAttributes: Equatable, Sendable {
    /// What searches compare.
    package let values: [String: String]
    /// What decides whether a program that stores an item stores this one again.
    package let identity: [String: String]
    /// Whether a program has set them; else they are derived from the item's own attributes.
    package let areGiven: Bool

    package static let schema = "xdg:schema"
    package static let genericSchema = "org.freedesktop.Secret.Generic"
    package static let networkSchema = "org.gnome.keyring.NetworkPassword"
    /// The first part of ``ItemNames/source`` of items that came from another Secret Service.
    private static let busSource = "secret-service:"

    /// The attributes that a program gives.
    package init(given values: [String: String]) { self.init(values, identity: values, areGiven: true) }

    private init(_ values: [String: String], identity: [String: String], areGiven: Bool) {
        (self.values, self.identity, self.areGiven) = (values, identity, areGiven)
    }

    /// The attributes of an item: those that its program has set, or names derived from the item's own attributes,
    /// beside which the user's attributes are served, but for those that only say where it was imported.
    package init(of item: Item) {
        let user = item.userAttributes
        if let given = ProgramAttributes.given(item, user) {
            self.init(given: given)
            return
        }
        let derived = ProgramAttributes.derived(from: item)
        let shown = user.filter { !ProgramAttributes.isOfImport($0.key) }
        self.init(shown.merging(derived) { $1 }, identity: derived, areGiven: false)
    }

    /// Returns the attributes that a program has set; `nil` if none has made the item.
    private static func given(_ item: Item, _ user: [String: String]) -> [String: String]? {
        guard item.itemClass == .genericPassword else { return nil }
        if let names = user[ItemNames.programAttributes].map({ Set(ItemNames.names(inLines: $0)) }) {
            return user.filter { names.contains($0.key) && !$0.key.hasPrefix(ItemNames.prefix) }
        }
        // An item of an earlier version, which had no mark.
        guard user[ItemNames.made] == nil else { return nil }
        let others = user.filter { !$0.key.hasPrefix(ItemNames.prefix) }
        if let source = user[ItemNames.source] {
            return source.hasPrefix(busSource) ? others.filter { $0.key != ItemNames.folder } : nil
        }
        guard !others.isEmpty else { return nil }
        let key = ProgramAttributes(given: others)
        let isDerived =
            key.service(label: item.label ?? "") == item.service && key.gave(account: item.account ?? "")
        return others[schema] != nil || isDerived ? others : nil
    }

    private static func isOfImport(_ name: String) -> Bool {
        name.hasPrefix(ItemNames.prefix) || name.hasPrefix(ItemNames.url) || name.hasPrefix("form")
            || [ItemNames.folder, ItemNames.tags, "favorite"].contains(name)
    }

    /// The names of derived attributes, and the attributes that they come from.
    package static func derivations(of itemClass: ItemClass) -> [(name: String, attribute: Attribute)] {
        switch itemClass {
        case .internetPassword:
            [
                ("protocol", .protocolName), ("server", .server), ("port", .port), ("object", .path),
                ("user", .account), ("domain", .securityDomain),
            ]
        case .genericPassword: [("service", .service), ("username", .account)]
        case .certificate, .key: []
        }
    }

    private static func derived(from item: Item) -> [String: String] {
        var values: [String: String] = [:]
        for (name, attribute) in derivations(of: item.itemClass) {
            switch item[attribute] {
            case .number(let number) where number > 0: values[name] = String(number)
            case let value?:
                guard let text = value.text, !text.isEmpty else { continue }
                values[name] = attribute == .protocolName ? ProtocolNames.name(text) : text
            case nil: continue
            }
        }
        if item.itemClass == .internetPassword { values[schema] = networkSchema }
        return values
    }

    // MARK: The key of an item that a program makes

    /// Returns the service of a new item with these attributes.
    package func service(label: String) -> String {
        let names = ["service", "server", "domain", "application", ProgramAttributes.schema]
        return names.lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? label
    }

    /// The account of a new item with these attributes.
    package var account: String {
        ["username", "user", "login", "account"].lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? ""
    }

    /// Returns whether an account was derived from these attributes, and not changed since: a further item of the same
    /// key has a number behind it.
    package func gave(account: String) -> Bool {
        guard account != self.account else { return true }
        guard account.hasPrefix(self.account + "~") else { return false }
        return Int(account.dropFirst(self.account.count + 1)) != nil
    }
}
