// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus

extension SecretService {
    /// Returns the properties of an object, if they are cached; `nil` if they must be read.
    func properties(
        of object: ServiceObject, _ view: VaultView, _ client: ServiceClient
    ) -> [(name: String, value: BusValue)]? {
        switch object {
        case .service: return view.list == nil ? nil : [("Collections", .paths(collections(view)))]
        case .alias(let name):
            guard view.list != nil, let target = target(of: name, view) else { return nil }
            return properties(of: .collection(target), view, client)
        case .collection(.session):
            let ids = memory(of: client).order
            return [
                ("Items", .paths(ids.map { ServiceObject.item(.session, $0).path })), ("Label", .text("Session")),
                ("Locked", .flag(false)), ("Created", .longNumber(0)), ("Modified", .longNumber(0)),
            ]
        case .collection(let name):
            guard let list = view.list, let group = view.group(of: name),
                group == view.home || view.groups.contains(group)
            else { return nil }
            return properties(ofGroup: group, list, view)
        case .item(.session, let id): return memory(of: client).entries[id]?.properties
        case .item(let collection, let id):
            guard let item = view[id], item.group == view.group(of: collection), !view.closed.contains(item) else {
                return nil
            }
            return item.properties
        case .search, .session, .prompt: return nil
        }
    }

    private func properties(
        ofGroup group: String, _ list: ItemList, _ view: VaultView
    ) -> [(name: String, value: BusValue)] {
        let (record, isLocked) = (view.records?[group], view.closed.groups.contains(group))
        return [
            ("Items", .paths(items(in: group, list, view))), ("Label", .text(label(of: group, view))),
            ("Locked", .flag(isLocked)),
            ("Created", .longNumber(record?.created ?? 0)), ("Modified", .longNumber(record?.modified ?? 0)),
        ]
    }

    /// Returns the paths of a collection's items; none while it is locked.
    func items(in group: String, _ list: ItemList, _ view: VaultView) -> [String] {
        guard !view.closed.groups.contains(group) else { return [] }
        let collection = view.collection(group)
        return list.ids(in: group).map { ServiceObject.item(collection, $0).path }
    }

    func label(of group: String, _ view: VaultView) -> String {
        if let label = view.records?[group]?.label, !label.isEmpty { return label }
        return group == view.home ? "Login" : group
    }

    func collections(_ view: VaultView) -> [String] {
        let groups = [view.home] + view.groups.filter { $0 != view.home }
        return (groups.map(view.collection) + [.session]).map { ServiceObject.collection($0).path }
    }

    /// The properties of a collection of a locked vault: those that its record tells once the vault was unlocked.
    private func lockedProperties(
        ofCollection object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> [(name: String, value: BusValue)] {
        var (label, record): (String, CollectionRecord?) = ("", nil)
        if let view = viewAtOnce(for: client), let records = try? await records(view),
            let group = view.group(of: try await collection(of: object, client))
        {
            record = records[group]
            if record != nil || view.wasOpened && group == view.home { label = self.label(of: group, view) }
        }
        return [
            ("Items", .paths([])), ("Label", .text(label)), ("Locked", .flag(true)),
            ("Created", .longNumber(record?.created ?? 0)), ("Modified", .longNumber(record?.modified ?? 0)),
        ]
    }

    /// Reads the properties of an object.
    func loadedProperties(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> [(name: String, value: BusValue)] {
        switch object {
        case .session(let number):
            guard holdings.session(number)?.owner == client.name else { throw .noSuchObject }
            return []
        case .prompt(let number):
            guard holdings.prompt(number)?.owner == client.name else { throw .noSuchObject }
            return []
        default: break
        }
        do throws(ServiceRefusal) {
            let view = try await unlockedView(for: client)
            switch object {
            case .item(let collection, _) where collection.isStored:
                return try await item(object, view, client).properties
            case .search: return try await item(object, view, client).properties
            default:
                _ = try await list(view)
                guard let properties = properties(of: object, view, client) else { throw .noSuchObject }
                return properties
            }
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            return try await lockedProperties(of: object, client, hasVault: error == .isLocked)
        }
    }

    private func lockedProperties(
        of object: ServiceObject, _ client: ServiceClient, hasVault: Bool
    ) async throws(ServiceRefusal) -> [(name: String, value: BusValue)] {
        let session = ServiceObject.collection(.session).path
        switch object {
        case .service:
            guard hasVault else { return [("Collections", .paths([session]))] }
            guard let view = viewAtOnce(for: client) else {
                return [("Collections", .paths([ServiceObject.collection(.login).path, session]))]
            }
            try await records(view)
            return [("Collections", .paths(collections(view)))]
        case .collection(.session), .item(.session, _):
            // The session collection needs no vault.
            guard case .item(_, let id) = object else {
                let ids = memory(of: client).order.map { ServiceObject.item(.session, $0).path }
                return [
                    ("Items", .paths(ids)), ("Label", .text("Session")), ("Locked", .flag(false)),
                    ("Created", .longNumber(0)), ("Modified", .longNumber(0)),
                ]
            }
            guard let entry = memory(of: client).entries[id] else { throw .noSuchObject }
            return entry.properties
        case .collection, .alias:
            guard hasVault else { throw .noSuchObject }
            return try await lockedProperties(ofCollection: object, client)
        case .item, .search:
            guard hasVault else { throw .noSuchObject }
            // Items that stay readable after the first unlock still are.
            if let view = viewAtOnce(for: client), let item = try? await item(object, view, client) {
                return item.properties
            }
            return ServedItem.lockedProperties
        case .session, .prompt: throw .noSuchObject
        }
    }

    // MARK: Setting

    func set(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        let kind = ServiceCall.Kind(object)
        let (interface, name) = try reading { () throws(BusError) in (try message.text(), try message.text()) }
        guard interface == kind.interface else { throw .invalid("the object has no such interface") }
        switch (kind, name) {
        case (.collection, "Label"):
            let label = try text(message)
            try await setLabel(label, of: try await collection(of: object, client), client)
        case (.item, "Label"):
            let label = try text(message)
            try await change(object, client, ItemChanges(attributes: [.label: .string(label)])) { $0.label = label }
        case (.item, "Attributes"):
            var attributes = ProgramAttributes(given: [:])
            var refusal: ServiceRefusal?
            do throws(BusError) {
                try message.variant(of: "a{ss}") { () throws(BusError) in
                    do throws(ServiceRefusal) { attributes = try self.attributes(from: message) } catch {
                        refusal = error
                    }
                }
            } catch { throw refusal ?? ServiceRefusal(error) }
            if let refusal { throw refusal }
            try await set(attributes, of: object, client)
        case (.item, "Type"):
            let type = try text(message)
            var attributes = try await self.attributes(of: object, client).values
            attributes[ProgramAttributes.schema] = type.isEmpty ? nil : type
            try await set(try ProgramAttributes(checking: attributes), of: object, client)
        default: throw .invalid("the property is unknown or cannot be set")
        }
        try reply(message)
    }

    private func text(_ message: BusMessage) throws(ServiceRefusal) -> String {
        try reading { () throws(BusError) in
            var text = ""
            try message.variant(of: "s") { () throws(BusError) in text = try message.text() }
            return text
        }
    }

    private func attributes(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> ProgramAttributes {
        if case .item(.session, let id) = object {
            guard let entry = memory(of: client).entries[id] else { throw .noSuchObject }
            return entry.attributes
        }
        return try await item(object, try await unlockedView(for: client), client).attributes
    }

    /// Sets the attributes.
    private func set(
        _ attributes: ProgramAttributes, of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        if case .item(.session, _) = object {
            return try await change(object, client, ItemChanges()) { $0.attributes = attributes }
        }
        let view = try await unlockedView(for: client)
        let old = try await item(object, view, client)
        var changes = attributes.changes(of: old.item)
        do throws(ServiceRefusal) { try await change(old, view, changes) } catch {
            // Another item has that key: this one keeps its own.
            guard error == ServiceRefusal(.duplicateItem) else { throw error }
            changes.attributes = [:]
            try await change(old, view, changes)
        }
    }

    private func change(
        _ object: ServiceObject, _ client: ServiceClient, _ changes: ItemChanges,
        _ inMemory: (inout SessionCollection.Entry) -> Void
    ) async throws(ServiceRefusal) {
        if case .item(.session, let id) = object {
            guard var entry = memory(of: client).entries[id] else { throw .noSuchObject }
            inMemory(&entry)
            entry.modified = now
            return try remember(entry, id, client, isNew: false)
        }
        let view = try await unlockedView(for: client)
        try await change(try await item(object, view, client), view, changes)
    }
}
