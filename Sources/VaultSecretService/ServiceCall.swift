// SPDX-License-Identifier: Apache-2.0

/// A method call, identified by its header alone: the arguments are not read yet, but have the types that the case
/// requires.
enum ServiceCall: Equatable, Sendable {
    case introspect
    /// The arguments are the name of an interface and of a property: `ss`.
    case get
    case getAll
    case set
    case openSession
    case createCollection
    /// A search in one collection, or in all, by the object called.
    case searchItems
    case unlock
    case lock
    case lockService
    case getSecrets
    case readAlias
    case setAlias
    case deleteCollection
    case createItem
    case deleteItem
    case getSecret
    case setSecret
    case closeSession
    case prompt
    case dismiss

    /// A kind of object, which determines the methods that it has.
    enum Kind: String, CaseIterable, Sendable {
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

    private struct Method {
        let kinds: [Kind]
        let interface: String
        let name: String
        let signature: String
        let call: ServiceCall

        init(_ kind: Kind, _ name: String, _ signature: String, _ call: ServiceCall) {
            (kinds, interface, self.name, self.signature, self.call) = ([kind], kind.interface, name, signature, call)
        }

        init(_ interface: String, _ name: String, _ signature: String, _ call: ServiceCall) {
            (kinds, self.interface, self.name, self.signature, self.call) = (
                Kind.allCases, "org.freedesktop.DBus." + interface, name, signature, call
            )
        }
    }

    private static let methods: [String: [Method]] = Dictionary(grouping: table, by: \.name)

    private static let table = [
        Method("Introspectable", "Introspect", "", .introspect),
        Method("Properties", "Get", "ss", .get),
        Method("Properties", "GetAll", "s", .getAll),
        Method("Properties", "Set", "ssv", .set),
        Method(.service, "OpenSession", "sv", .openSession),
        Method(.service, "CreateCollection", "a{sv}s", .createCollection),
        Method(.service, "SearchItems", "a{ss}", .searchItems),
        Method(.service, "Unlock", "ao", .unlock),
        Method(.service, "Lock", "ao", .lock),
        Method(.service, "LockService", "", .lockService),
        Method(.service, "GetSecrets", "aoo", .getSecrets),
        Method(.service, "ReadAlias", "s", .readAlias),
        Method(.service, "SetAlias", "so", .setAlias),
        Method(.collection, "Delete", "", .deleteCollection),
        Method(.collection, "SearchItems", "a{ss}", .searchItems),
        Method(.collection, "CreateItem", "a{sv}(oayays)b", .createItem),
        Method(.item, "Delete", "", .deleteItem),
        Method(.item, "GetSecret", "o", .getSecret),
        Method(.item, "SetSecret", "(oayays)", .setSecret),
        Method(.session, "Close", "", .closeSession),
        Method(.prompt, "Prompt", "s", .prompt),
        Method(.prompt, "Dismiss", "", .dismiss),
    ]

    /// - Parameter interface: the interface; `nil` for whichever has the method.
    static func of(
        path: String, interface: String?, member: String, signature: String
    ) throws(ServiceRefusal) -> (object: ServiceObject, call: ServiceCall) {
        guard let object = ServiceObject(path) else { throw .noSuchObject }
        let kind = Kind(object)
        let named = methods[member]?.first {
            $0.kinds.contains(kind) && (interface == nil || $0.interface == interface)
        }
        guard let method = named else { throw .unknownMethod("the object has no such method") }
        guard method.signature == signature else { throw .invalid("the method takes \"\(method.signature)\"") }
        return (object, method.call)
    }
}
