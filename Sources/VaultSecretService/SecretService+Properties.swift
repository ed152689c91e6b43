// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus

extension SecretService {
    /// Returns the properties of an object, if they are cached; `nil` if they must be read.
    func cachedProperties(of object: ServiceObject, _ view: VaultView, _ client: ServiceClient) -> BusProperties? {
        switch object {
        case .service: return view.list == nil ? nil : [("Collections", .paths(view.collectionPaths))]
        case .alias(let name):
            guard view.list != nil, let target = view.target(of: name) else { return nil }
            return cachedProperties(of: .collection(target), view, client)
        case .collection(.session), .item(.session, _): return memoryProperties(of: object, client)
        case .collection(let name):
            guard let list = view.list, let group = view.group(of: name),
                group == view.home || view.groups.contains(group)
            else { return nil }
            return SecretService.properties(
                view.paths(in: group, list), label: view.label(of: group), view.records?[group],
                isLocked: view.closed.groups.contains(group))
        case .item(let collection, let id):
            guard let item = view[id], item.group == view.group(of: collection), !view.closed.contains(item) else {
                return nil
            }
            return item.properties
        case .search, .session, .prompt: return nil
        }
    }

    private static func properties(
        _ items: [String], label: String, _ record: CollectionRecord? = nil, isLocked: Bool
    ) -> BusProperties {
        [
            ("Items", .paths(items)), ("Label", .text(label)), ("Locked", .flag(isLocked)),
            ("Created", .longNumber(record?.created ?? 0)), ("Modified", .longNumber(record?.modified ?? 0)),
        ]
    }

    /// Returns the properties of the session's collection, or of an item in it; `nil` for another object.
    private func memoryProperties(of object: ServiceObject, _ client: ServiceClient) -> BusProperties? {
        switch object {
        case .collection(.session):
            SecretService.properties(memory(of: client).paths, label: "Session", isLocked: false)
        case .item(.session, let id): memory(of: client).entries[id]?.properties
        default: nil
        }
    }

    /// Reads the properties of an object.
    func properties(of object: ServiceObject, _ client: ServiceClient) async throws(ServiceRefusal) -> BusProperties {
        switch object {
        case .session(let number):
            guard holdings.sessions[number]?.owner == client.name else { throw .noSuchObject }
            return []
        case .prompt(let number):
            guard holdings.prompts[number]?.owner == client.name else { throw .noSuchObject }
            return []
        default: break
        }
        do throws(ServiceRefusal) {
            let view = try await unlockedView(for: client)
            if ServiceCall.Kind(object) == .item, object.canBeLocked {
                return try await item(object, view, client).properties
            }
            try await view.loadList()
            guard let properties = cachedProperties(of: object, view, client) else { throw .noSuchObject }
            return properties
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            return try await lockedProperties(of: object, client, hasVault: error == .isLocked)
        }
    }

    private func lockedProperties(
        of object: ServiceObject, _ client: ServiceClient, hasVault: Bool
    ) async throws(ServiceRefusal) -> BusProperties {
        let view = viewAtOnce(for: client)
        switch object {
        case .service:
            let session = ServiceObject.collection(.session).path
            guard hasVault else { return [("Collections", .paths([session]))] }
            guard let view else { return [("Collections", .paths([ServiceObject.collection(.login).path, session]))] }
            try await view.loadRecords()
            return [("Collections", .paths(view.collectionPaths))]
        case .collection(.session), .item(.session, _):
            // The session collection needs no vault.
            guard let properties = memoryProperties(of: object, client) else { throw .noSuchObject }
            return properties
        case .collection where hasVault, .alias where hasVault:
            // Those that the collection's record tells once the vault was unlocked.
            var (label, record): (String, CollectionRecord?) = ("", nil)
            if let view, let records = try? await view.loadRecords(),
                let group = view.group(of: try await collection(of: object, client))
            {
                record = records[group]
                if record != nil || view.wasOpened && group == view.home { label = view.label(of: group) }
            }
            return SecretService.properties([], label: label, record, isLocked: true)
        case .item where hasVault, .search where hasVault:
            // Items that stay readable after the first unlock still are.
            if let view, let item = try? await item(object, view, client) { return item.properties }
            return ServedItem.lockedProperties
        case .collection, .alias, .item, .search, .session, .prompt: throw .noSuchObject
        }
    }

    // MARK: Setting

    func set(_ request: ServiceRequest) async throws(ServiceRefusal) {
        let (object, client, kind) = (request.object, request.client, ServiceCall.Kind(request.object))
        let (interface, name) = (try request.text(), try request.text())
        guard interface == kind.interface else { throw .invalid("the object has no such interface") }
        switch (kind, name) {
        case (.collection, "Label"):
            let label = try request.textVariant()
            try await setLabel(label, of: try await collection(of: object, client), client)
        case (.item, "Label"): try await change(object, client, .label(try request.textVariant()))
        case (.item, "Attributes"): try await change(object, client, .attributes(try request.attributesVariant()))
        case (.item, "Type"): try await change(object, client, .type(try request.textVariant()))
        default: throw .invalid("the property is unknown or cannot be set")
        }
    }

    func change(_ object: ServiceObject, _ client: ServiceClient, _ edit: ItemEdit) async throws(ServiceRefusal) {
        if case .item(.session, let id) = object {
            var entry = try entry(id, of: client)
            try edit.apply(to: &entry)
            entry.modified = now
            return try remember(entry, id, client, isNew: false)
        }
        let view = try await unlockedView(for: client)
        let item = try await item(object, view, client)
        var changes = try edit.changes(of: item)
        do throws(ServiceRefusal) { try await change(item, view, changes) } catch {
            // Another item has the key of the new attributes: this one keeps its own.
            guard error == ServiceRefusal(.duplicateItem) else { throw error }
            changes.attributes = [:]
            try await change(item, view, changes)
        }
    }

    private func change(_ item: ServedItem, _ view: VaultView, _ changes: ItemChanges) async throws(ServiceRefusal) {
        defer { view.drop(item.id) }
        let query = Query(persistentReference: item.record.persistentReference)
        _ = try await view.trying { agent async throws(VaultError) in
            try await agent.update(matching: query, with: changes)
        }
    }
}

/// A change of an item by a program.
enum ItemEdit {
    case label(String)
    case attributes(ProgramAttributes)
    /// The attribute that names the schema; empty for none.
    case type(String)
    case secret(Secret, contentType: String)

    func apply(to entry: inout SessionCollection.Entry) throws(ServiceRefusal) {
        switch self {
        case .label(let label): entry.label = label
        case .attributes(let attributes): entry.attributes = attributes
        case .type(let type): entry.attributes = try entry.attributes.with(type: type)
        case .secret(let secret, let contentType): (entry.secret, entry.contentType) = (secret, contentType)
        }
    }

    func changes(of item: ServedItem) throws(ServiceRefusal) -> ItemChanges {
        switch self {
        case .label(let label): return ItemChanges(attributes: [.label: .string(label)])
        case .attributes(let attributes): return attributes.changes(of: item.item)
        case .type(let type): return try item.attributes.with(type: type).changes(of: item.item)
        case .secret(let secret, let contentType):
            let isPlain = contentType.isEmpty || contentType == "text/plain"
            let isNamed = !isPlain || item.item.userAttributes[ItemNames.contentType] != nil
            return ItemChanges(
                userAttributes: isNamed ? [ItemNames.contentType: isPlain ? nil : contentType] : [:], secret: secret)
        }
    }
}
