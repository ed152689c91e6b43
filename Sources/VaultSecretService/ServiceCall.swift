// SPDX-License-Identifier: Apache-2.0

/// A method call, identified by its header alone: the arguments are not read yet, but have the types that the case
/// requires.
enum ServiceCall: Equatable, Sendable {
    case introspect
    case get, getAll, set
    case openSession, closeSession
    /// A search in one collection, or in all, by the object called.
    case searchItems
    case unlock, lock, lockService
    case getSecrets
    case readAlias, setAlias
    case createCollection, deleteCollection
    case createItem, deleteItem
    case getSecret, setSecret
    case prompt, dismiss

    /// A kind of object, which determines the methods that it has.
    enum Kind: String, Sendable {
        case service = "Service"
        case collection = "Collection"
        case item = "Item"
        case session = "Session"
        case prompt = "Prompt"

        init(_ object: ServiceObject) {
            switch object {
            case .service: self = .service
            case .collection, .alias: self = .collection
            case .item, .search: self = .item
            case .session: self = .session
            case .prompt: self = .prompt
            }
        }

        var interface: String { "org.freedesktop.Secret." + rawValue }
    }

    /// A method of the objects of some kinds. The types of the arguments and of the results are D-Bus signatures.
    struct Method {
        /// `nil` for all kinds.
        fileprivate let kind: Kind?
        let interface: String
        let name: String
        fileprivate let call: ServiceCall
        let arguments: [String]
        let results: [String]

        fileprivate init(
            _ kind: Kind? = nil, of standard: String = "", _ name: String, _ call: ServiceCall,
            _ arguments: [String] = [], _ results: [String] = []
        ) {
            (self.kind, self.name, self.call, self.arguments, self.results) = (kind, name, call, arguments, results)
            interface = kind?.interface ?? "org.freedesktop.DBus." + standard
        }
    }

    private static let byName: [String: [Method]] = Dictionary(grouping: methods, by: \.name)

    /// In the order in which the introspection data list them.
    static let methods = [
        Method(of: "Introspectable", "Introspect", .introspect, [], ["s"]),
        Method(of: "Properties", "Get", .get, ["s", "s"], ["v"]),
        Method(of: "Properties", "GetAll", .getAll, ["s"], ["a{sv}"]),
        Method(of: "Properties", "Set", .set, ["s", "s", "v"]),
        Method(.service, "OpenSession", .openSession, ["s", "v"], ["v", "o"]),
        Method(.service, "CreateCollection", .createCollection, ["a{sv}", "s"], ["o", "o"]),
        Method(.service, "SearchItems", .searchItems, ["a{ss}"], ["ao", "ao"]),
        Method(.service, "Unlock", .unlock, ["ao"], ["ao", "o"]),
        Method(.service, "Lock", .lock, ["ao"], ["ao", "o"]),
        Method(.service, "LockService", .lockService),
        Method(.service, "GetSecrets", .getSecrets, ["ao", "o"], ["a{o(oayays)}"]),
        Method(.service, "ReadAlias", .readAlias, ["s"], ["o"]),
        Method(.service, "SetAlias", .setAlias, ["s", "o"]),
        Method(.collection, "Delete", .deleteCollection, [], ["o"]),
        Method(.collection, "SearchItems", .searchItems, ["a{ss}"], ["ao"]),
        Method(.collection, "CreateItem", .createItem, ["a{sv}", "(oayays)", "b"], ["o", "o"]),
        Method(.item, "Delete", .deleteItem, [], ["o"]),
        Method(.item, "GetSecret", .getSecret, ["o"], ["(oayays)"]),
        Method(.item, "SetSecret", .setSecret, ["(oayays)"]),
        Method(.session, "Close", .closeSession),
        Method(.prompt, "Prompt", .prompt, ["s"]),
        Method(.prompt, "Dismiss", .dismiss),
    ]

    /// - Parameter interface: the interface; `nil` for whichever has the method.
    static func of(
        path: String, interface: String?, member: String, signature: String
    ) throws(ServiceRefusal) -> (object: ServiceObject, call: ServiceCall) {
        guard let object = ServiceObject(path) else { throw .noSuchObject }
        let kind = Kind(object)
        let named = byName[member]?.first {
            ($0.kind ?? kind) == kind && (interface == nil || $0.interface == interface)
        }
        guard let method = named else { throw .unknownMethod("the object has no such method") }
        let wanted = method.arguments.joined()
        guard wanted == signature else { throw .invalid("the method takes \"\(wanted)\"") }
        return (object, method.call)
    }
}
