// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat

/// The arguments that select an item: a name, an account, and further ones if those are ambiguous.
struct ItemSelection: ParsableArguments {
    @Argument(
        help: "The service or the server, else the title; where nothing is changed, also the host, or a URL.",
        completion: ItemCompletion.names)
    var name: String

    @Argument(help: "The account; any if omitted, \"\" for the empty one.", completion: ItemCompletion.accounts)
    var account: String?

    @Option(name: .customLong("class"), help: "generic or internet; if omitted both, and generic for a new item.")
    var itemClass: ClassOption?

    @Option(name: .customLong("protocol"), help: "Internet: the protocol, such as https.")
    var protocolName: String?

    @Option(help: "Internet: the port.")
    var port: Int?

    @Option(help: "Internet: the path.")
    var path: String?

    @Option(help: "Internet: the security domain.")
    var domain: String?

    @Option(help: "The access group.")
    var group: String?

    @Option(help: "The first digits of the identifier, 8 or more, if several items have the name.")
    var id: String?

    func validate() throws {
        guard itemClass.map({ $0 == .generic || $0 == .internet }) ?? true else {
            throw ValidationError("--class takes generic or internet here")
        }
        let isInternet = protocolName != nil || port != nil || path != nil || domain != nil
        guard itemClass == .internet || !isInternet else {
            throw ValidationError("--protocol, --port, --path and --domain go with --class internet")
        }
        if let port, !(0...65535).contains(port) { throw ValidationError("--port takes 0 to 65535") }
        guard !name.isEmpty else { throw ValidationError("the name is empty") }
        guard !name.hasPrefix(SecretReference.scheme) else {
            throw ValidationError("a reference is not a name: 'vault read' prints its value")
        }
        guard id.map(ItemSelection.isID) ?? true else {
            throw ValidationError("--id takes 8 or more digits of an identifier")
        }
    }

    private static func isID(_ text: String) -> Bool {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        return (8...32).contains(digits.count)
            && digits.allSatisfy { $0.isASCIIDigit || (0x61...0x66).contains($0 | 0x20) }
    }

    init() {}

    init(_ name: String, account: String?, _ itemClass: ClassOption?, group: String?) {
        (self.name, self.account, self.itemClass, self.group) = (name, account, itemClass, group)
        (protocolName, port, path, domain, id) = (nil, nil, nil, nil, nil)
    }

    init?(_ plain: inout PlainArguments) {
        guard let name = plain.word() else { return nil }
        (self.name, account) = (name, plain.word())
        (itemClass, protocolName, port, path, domain) = (nil, nil, nil, nil, nil)
        (group, id) = (plain.value("--group"), plain.value("--id"))
        guard isValid else { return nil }
    }

    /// The named group, else the caller's groups.
    var groups: AccessGroups { .named(group) }

    /// The conditions beyond the name.
    private var filters: [Attribute: AttributeValue] {
        var filters: [Attribute: AttributeValue] = [:]
        filters[.protocolName] = protocolName.map { .string(ProtocolNames.code($0)) }
        filters[.port] = port.map { .number(Int64($0)) }
        filters[.path] = path.map(AttributeValue.string)
        filters[.securityDomain] = domain.map(AttributeValue.string)
        return filters
    }

    /// The key of a new item.
    var key: ItemKey {
        let place: Attribute = itemClass == .internet ? .server : .service
        let attributes = [place: AttributeValue.string(name), .account: .string(account ?? "")]
        return ItemKey((itemClass ?? .generic).itemClass, attributes.merging(filters) { $1 })
    }

    private func meaning(_ rules: ItemName.Rules) -> ItemName { ItemName(name, account: account, rules, id: id) }

    /// Returns the items that the name means, by any rule.
    func items(in store: any ItemStore, secrets: Bool = false) throws(VaultError) -> [Item] {
        try store.allMatching(query.with(\.returnsSecrets, secrets))
    }

    private var query: Query { Query(named: meaning(.all), itemClass?.itemClass, attributes: filters) }

    /// Returns the only item that the name means, to be read.
    ///
    /// - Throws: code 10 if there is none, and 12, with a list, if there are several.
    func only(in store: any ItemStore, secrets: Bool = false) throws -> Item {
        try only(of: items(in: store, secrets: secrets), in: store)
    }

    /// Returns the only item that the name means, to be changed: by its host alone no item is, so that no slip changes
    /// the login of a site.
    func changed(in store: any ItemStore) throws -> Item { try checked(only(in: store)) }

    /// Returns the item that a store of this name changes; `nil` if it makes a new one.
    func replaced(in store: any ItemStore) throws -> Item? {
        let found = try items(in: store)
        guard !found.isEmpty else { return nil }
        let item = try checked(only(of: found, in: store))
        guard item[.accessGroup]?.text != groups.first else { return item }
        guard Terminal() != nil else { throw item.isElsewhere }
        try Confirmation.ask("Change \(item.phrase(namingGroup: true))?")
        return item
    }

    /// Returns whether an item of this name and user is in the first group. One that nobody may see now is not
    /// mentioned; its key is taken all the same.
    func isTaken(in store: any ItemStore) throws(VaultError) -> Bool {
        var own = self
        own.account = account ?? ""
        return try store.allMatching(own.query.withoutQuestions).contains { $0[.accessGroup]?.text == groups.first }
    }

    /// Returns the deleted items that the name means.
    func deleted(in vault: any OpenVault) throws -> [ItemVersion] {
        let classes = itemClass.map { [$0.itemClass] } ?? [.genericPassword, .internetPassword]
        let versions = try classes.flatMap { try vault.deletedMatching(Query($0, attributes: filters)) }
        let (own, others) = (
            versions.filter { $0.item[.accessGroup]?.text == groups.first },
            versions.filter { $0.item[.accessGroup]?.text != groups.first && $0.item.isOfUser(groups) }
        )
        for scope in [own, others] {
            let ids = Set(meaning([.place, .title]).meant(among: scope.map(\.item)).compactMap { $0.record?.id })
            if !ids.isEmpty { return scope.filter { $0.item.record.map { ids.contains($0.id) } ?? false } }
        }
        return []
    }

    /// Returns the error for a name that means no item.
    func missing(in store: any ItemStore, _ message: String = "no such item") -> CommandError {
        MissingItem.error(meaning(.all), itemClass, message, in: store)
    }

    private func only(of items: [Item], in store: any ItemStore) throws -> Item {
        guard !items.isEmpty else { throw missing(in: store) }
        return try items.only(hint: "choose one with --id ID")
    }

    private func checked(_ item: Item) throws -> Item {
        let (face, name) = (ItemFace(item), meaning(.all))
        guard id == nil, !name.means(face, by: .place), !name.means(face, by: .title) else { return item }
        throw CommandError(
            .notFound, "no item has this name",
            hint: "--id \(item.record?.shortID(digits: 8) ?? "") for \(item.phrase(namingGroup: false)); "
                + "--class for a new item")
    }
}

/// The class of a command's items.
enum ClassOption: String, ExpressibleByArgument, CaseIterable {
    case generic, internet, certificate, key

    var itemClass: ItemClass {
        switch self {
        case .generic: .genericPassword
        case .internet: .internetPassword
        case .certificate: .certificate
        case .key: .key
        }
    }

    init(_ itemClass: ItemClass) {
        switch itemClass {
        case .genericPassword: self = .generic
        case .internetPassword: self = .internet
        case .certificate: self = .certificate
        case .key: self = .key
        }
    }
}
