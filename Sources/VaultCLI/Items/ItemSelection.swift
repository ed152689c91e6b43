// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat

/// The arguments that select an item: a service or server, an account, and further ones if those are ambiguous.
struct ItemSelection: ParsableArguments {
    @Argument(help: "The service; with --class internet, the server.", completion: ItemCompletion.services)
    var service: String

    @Argument(help: "The account; any if omitted, \"\" for the empty one.", completion: ItemCompletion.accounts)
    var account: String?

    @Option(
        name: .customLong("class"),
        help: "generic or internet; if omitted generic, or internet if there is none.")
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

    func validate() throws {
        guard itemClass.map({ $0 == .generic || $0 == .internet }) ?? true else {
            throw ValidationError("--class takes generic or internet here")
        }
        let isInternet = protocolName != nil || port != nil || path != nil || domain != nil
        guard itemClass == .internet || !isInternet else {
            throw ValidationError("--protocol, --port, --path and --domain go with --class internet")
        }
        if let port, !(0...65535).contains(port) { throw ValidationError("--port takes 0 to 65535") }
        guard !service.isEmpty else { throw ValidationError("the service is empty") }
        guard !service.hasPrefix(SecretReference.scheme) else {
            throw ValidationError("a reference is not a service: 'vault read' prints its value")
        }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let service = plain.word() else { return nil }
        (self.service, account) = (service, plain.word())
        (itemClass, protocolName, port, path, domain) = (nil, nil, nil, nil, nil)
        group = plain.value("--group")
        guard isValid else { return nil }
    }

    /// The named group, else the caller's groups.
    var groups: AccessGroups { .named(group) }

    /// The classes in which an existing item is looked for, in order.
    private var classes: [ClassOption] { itemClass.map { [$0] } ?? [.generic, .internet] }

    private func attributes(of itemClass: ClassOption) -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [itemClass == .internet ? .server : .service: .string(service)]
        attributes[.account] = account.map(AttributeValue.string)
        attributes[.protocolName] = protocolName.map { .string(ProtocolNames.code($0)) }
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map(AttributeValue.string)
        attributes[.securityDomain] = domain.map(AttributeValue.string)
        return attributes
    }

    /// The queries for each possible class.
    var queries: [Query] { classes.map { query(of: $0) } }

    private func query(of itemClass: ClassOption) -> Query {
        Query(itemClass.itemClass, attributes: attributes(of: itemClass))
    }

    /// The key of a new item.
    var key: ItemKey {
        let itemClass = itemClass ?? .generic
        return ItemKey(
            itemClass.itemClass,
            attributes(of: itemClass).merging([.account: .string(account ?? "")]) { first, _ in first })
    }

    /// The query for the item that a new one would replace.
    var replaced: Query { Query(key).with(\.attributes[.accessGroup], groups.first.map(AttributeValue.string)) }

    /// The query for items with the same key, whether synchronizable or not.
    var twin: Query { replaced.withoutQuestions }

    /// Returns the only matching item, of the first class that has any.
    ///
    /// - Throws: code 12, with the accounts or the groups, if several match.
    func only(in store: any ItemStore, secrets: Bool = false) throws -> Item {
        try groups.items(
            matching: queries.map { $0.with(\.returnsSecrets, secrets) }, takesEveryClass: false,
            missing: .noSuchItem(hint: NearMiss.hint(service, account, classes.map(\.itemClass), in: store))
        ) { query throws(VaultError) in try store.allMatching(query) }.only()
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
