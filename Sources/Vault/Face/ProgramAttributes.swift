// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The attributes by which programs of the Secret Service find an item, and the key of an item that they make.
package struct ProgramAttributes: Equatable, Sendable {
    /// The attributes that searches compare.
    package let values: [String: String]
    /// The attributes that decide whether a program that stores an item stores this one again.
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

    /// Returns the values of an attribute of which one with this name and value is derived; `nil` if there are none.
    static func sources(
        of name: String, _ value: String, _ itemClass: ItemClass
    ) -> (attribute: Attribute, values: [AttributeValue])? {
        guard let attribute = derivations(of: itemClass).first(where: { $0.name == name })?.attribute else {
            return nil
        }
        switch attribute {
        case .port: return Int64(value).map { (attribute, [.number($0)]) }
        // A code, or the name itself where an item has that.
        case .protocolName: return (attribute, [.string(ProtocolNames.code(value)), .string(value)])
        default: return (attribute, [.string(value)])
        }
    }

    // MARK: Comparing

    /// The type of the item, as programs see it.
    package var type: String { values[ProgramAttributes.schema] ?? "" }

    /// Returns whether a search finds the item. The generic schema also finds items without any.
    package func areFound(by wanted: [String: String]) -> Bool {
        wanted.allSatisfy { name, value in
            // Canonically equivalent texts are different values.
            values[name].map { $0.utf8.elementsEqual(value.utf8) } ?? ProgramAttributes.isGeneric(name, value)
        }
    }

    /// Returns whether a program that stores an item with the given attributes stores this one again.
    package func areStored(againWith given: ProgramAttributes) -> Bool {
        let (own, other) = (specific, given.specific)
        return own.count == other.count
            && own.allSatisfy { name, value in other[name]?.utf8.elementsEqual(value.utf8) ?? false }
    }

    /// The identity without the generic schema, which stands for none.
    private var specific: [String: String] { identity.filter { !ProgramAttributes.isGeneric($0.key, $0.value) } }

    /// Whether items of the class have the attribute although neither they nor a program say so.
    static func isConstant(_ name: String, _ value: String, of itemClass: ItemClass) -> Bool {
        isGeneric(name, value) || name == schema && value == networkSchema && itemClass == .internetPassword
    }

    private static func isGeneric(_ name: String, _ value: String) -> Bool { name == schema && value == genericSchema }

    // MARK: The key of an item that a program makes

    /// Returns the service of a new item with these attributes; that of the records of collections is never one.
    package func service(label: String) -> String {
        let names = ["service", "server", "domain", "application", ProgramAttributes.schema]
        let service = names.lazy.compactMap { values[$0] }.first { !$0.isEmpty } ?? label
        return service == HiddenItems.collectionService ? "" : service
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

    // MARK: Storing

    /// The user attributes of an item that a program makes: the given ones, and their names.
    package var stored: [String: String] {
        values.merging([
            ItemNames.programAttributes: ItemNames.lines(values.keys), ItemNames.made: Maker.program.rawValue,
        ]) { $1 }
    }

    /// Returns the changes by which a program gives an item these attributes.
    ///
    /// The service and the account of a program's item follow the attributes for as long as they are derived from them.
    /// Of any other item, what programs see is what the item is: the attributes that a name is derived from change.
    package func changes(of item: Item) -> ItemChanges {
        let old = ProgramAttributes(of: item)
        var changes = ItemChanges()
        let derived = ProgramAttributes.derivations(of: item.itemClass).map(\.name)
        func isUsers(_ name: String) -> Bool {
            old.areGiven
                || !derived.contains(name) && !ProgramAttributes.isOfImport(name)
                    && (name != ProgramAttributes.schema || item.itemClass != .internetPassword)
        }
        for name in old.values.keys where values[name] == nil && isUsers(name) {
            changes.userAttributes[name] = .some(nil)
        }
        for (name, value) in old.areGiven ? stored : values where isUsers(name) { changes.userAttributes[name] = value }
        guard old.areGiven else {
            for (name, value) in values where old.values[name] != value {
                guard let (attribute, sources) = ProgramAttributes.sources(of: name, value, item.itemClass) else {
                    continue
                }
                changes.attributes[attribute] = sources.first
            }
            return changes
        }
        let label = item.label ?? ""
        guard item.service == old.service(label: label), old.gave(account: item.account ?? "") else { return changes }
        let key = (service(label: label), account)
        guard key != (old.service(label: label), old.account) else { return changes }
        changes.attributes[.service] = .string(key.0)
        changes.attributes[.account] = .string(key.1)
        return changes
    }
}
