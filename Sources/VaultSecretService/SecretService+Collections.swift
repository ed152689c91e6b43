// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultDoorKit
internal import VaultBus

extension SecretService {
    /// Returns the collection of an object, by its name or an alias. While the vault is locked, every name may exist.
    func collection(of object: ServiceObject, _ client: ServiceClient) async throws(ServiceRefusal) -> CollectionName {
        switch object {
        case .collection(.session): return .session
        case .alias("session"): return .session
        case .collection(let name):
            let view = try await view(for: client)
            guard await view.checkUnlocked() else { return name }
            try await view.loadList()
            guard let group = view.group(of: name), group == view.home || view.groups.contains(group) else {
                throw .noSuchObject
            }
            return view.collection(group)
        case .alias(let name):
            let view = try await view(for: client)
            guard await view.checkUnlocked() else {
                try await view.loadRecords()
                return view.target(of: name) ?? view.collection(view.home)
            }
            try await view.loadList()
            guard let target = view.target(of: name) else { throw .noSuchObject }
            return target
        default: throw .noSuchObject
        }
    }

    func readAlias(_ alias: String, _ client: ServiceClient) async throws(ServiceRefusal) -> BusValue {
        do throws(ServiceRefusal) {
            let collection = try await collection(of: .alias(alias), client)
            // While locked, only the names that exist for certain are reported.
            if let view = viewAtOnce(for: client), !view.isUnlocked, alias != "session", view.target(of: alias) == nil {
                return ServiceObject.none
            }
            return ServiceObject.collection(collection).value
        } catch {
            guard [.noSuchObject, .noVault, .isLocked].contains(error) else { throw error }
            let isLogin = error == .isLocked && ["default", "login"].contains(alias)
            return isLogin ? ServiceObject.collection(.login).value : ServiceObject.none
        }
    }

    func setAlias(_ alias: String, _ path: String, _ client: ServiceClient) async throws(ServiceRefusal) {
        guard (1...255).contains(alias.utf8.count), !alias.contains("\n") else {
            throw .invalid("an alias has 1 to 255 bytes in one line")
        }
        let view = try await unlockedView(for: client)
        var group: String?
        if path != "/" {
            guard let object = ServiceObject(path) else { throw .noSuchObject }
            group = view.group(of: try await collection(of: object, client))
            guard group != nil else { throw .noSuchObject }
        }
        let isItself = group == view.home && (alias == "default" || alias == "login")
        // If a sandbox could name its collection `default`, it would receive the items stored by all other programs.
        guard !view.isConfined || isItself else { throw .denied }
        let records = try await view.loadRecords()
        for (other, record) in records where record.aliases.contains(alias) && other != group {
            try await keep(record.label, record.aliases.filter { $0 != alias }, for: other, view)
        }
        if let group, !isItself {
            let aliases = (records[group]?.aliases ?? []).filter { $0 != alias } + [alias]
            try await keep(records[group]?.label ?? "", aliases, for: group, view)
        }
    }

    func setLabel(
        _ label: String, of collection: CollectionName, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        guard collection.isStored else { throw .notSupported("the session's collection has its name") }
        let view = try await unlockedView(for: client)
        guard let group = view.group(of: try await self.collection(of: .collection(collection), client)) else {
            throw .noSuchObject
        }
        try await keep(label, try await view.loadRecords()[group]?.aliases ?? [], for: group, view)
    }

    /// Stores the properties of a collection other than its items; for a new one with the element of its path.
    private func keep(
        _ label: String, _ aliases: [String], path: String? = nil, for group: String, _ view: VaultView
    ) async throws(ServiceRefusal) {
        let (path, era) = (path ?? view.names.element(of: group), view.era)
        // A locked vault keeps a record as well, and the collections known before the lock may not be all.
        guard await view.isUnlockedNow(), era == view.era else { throw .isLocked }
        let record = CollectionRecord.item(group, label: label, aliases: aliases, path: path)
        let item = try await view.trying { agent async throws(VaultError) in try await agent.set(record) }
        view.note(CollectionRecord(item), of: group)
        let collection = ServiceObject.collection(view.collection(group))
        signal(.collectionChanged, at: .service, collection, view)
        signalProperties([("Label", .text(label))], of: collection, view)
    }

    // MARK: Creating

    func createCollection(
        _ label: String, alias: String, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> [BusValue] {
        guard label.utf8.count <= 1024, alias.utf8.count <= 255, !alias.contains("\n") else {
            throw .invalid("a label has at most 1,024 bytes, and an alias 255 in one line")
        }
        do throws(ServiceRefusal) {
            let made = try await makeCollection(label, alias, try await unlockedView(for: client))
            return [made.value, ServiceObject.none]
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            return [ServiceObject.none, try makePrompt(.createCollection(label: label, alias: alias), client).value]
        }
    }

    /// - Returns: the collection with the alias, or a new one.
    func makeCollection(
        _ label: String, _ alias: String, _ view: VaultView
    ) async throws(ServiceRefusal) -> ServiceObject {
        try await view.loadList()
        if !alias.isEmpty, let target = view.target(of: alias) { return .collection(target) }
        guard !view.isConfined || alias.isEmpty else { throw .denied }
        let others = view.groups + [view.home]
        let group = SecretService.freeGroup(for: label, beside: others)
        let path = view.names.element(forLabel: label, beside: others)
        try await keep(label, alias.isEmpty ? [] : [alias], path: path, for: group, view)
        let collection = ServiceObject.collection(view.collection(group))
        signal(.collectionCreated, at: .service, collection, view)
        noteLists(view)
        return collection
    }

    /// Returns the collection that a program would not have made if it had seen it: one of this label, of a vault that
    /// was locked.
    func existing(_ label: String, _ alias: String, _ view: VaultView) async -> ServiceObject? {
        guard alias.isEmpty, !label.isEmpty, (try? await view.loadList()) != nil else { return nil }
        let named = ([view.home] + view.groups).first { view.label(of: $0) == label }
        return named.map { .collection(view.collection($0)) }
    }

    /// Gives each collection a record that a locked vault tells, which the records of earlier versions and groups that
    /// another program has filled do not have.
    func completeRecords(_ view: VaultView) async {
        // The view of all groups is enough.
        guard view.client == nil else { return }
        for group in view.groups where !HiddenItems.contains(group: group) {
            let record = view.records?[group]
            guard view.isUnlocked, record?.isReadableLocked != true, group != view.home || record != nil else {
                continue
            }
            try? await keep(record?.label ?? group, record?.aliases ?? [], for: group, view)
        }
    }

    /// Returns the label in `[a-z0-9-]`, made unique.
    static func freeGroup(for label: String, beside groups: [String]) -> String {
        AccessGroups.ofCollection(label, beside: Set(groups))
    }

    func deleteCollection(_ object: ServiceObject, _ client: ServiceClient) async throws(ServiceRefusal) -> [BusValue] {
        let collection = try await collection(of: object, client)
        guard collection.isStored else { throw .notSupported("this collection cannot be deleted") }
        let view = try await unlockedView(for: client)
        guard let group = view.group(of: try await self.collection(of: .collection(collection), client)) else {
            throw .noSuchObject
        }
        guard group != view.home else { throw .notSupported("this collection cannot be deleted") }
        guard !view.closed.groups.contains(group) else { throw .isLocked }
        for itemClass in ServedItem.classes {
            let query = Query(itemClass, attributes: [.accessGroup: .string(group)])
            do throws(VaultError) { try await view.agent.delete(matching: query) } catch {
                guard error == .itemNotFound else { throw await view.refusal(error) }
            }
        }
        // The client may read them before the watch has reported the change.
        for id in view.list?.ids(in: group) ?? [] { noteDeleted(id, view) }
        if let id = view.records?[group]?.id { view.drop(id) }
        view.note(nil, of: group)
        signal(.collectionDeleted, at: .service, .collection(collection), view)
        noteLists(view)
        return [ServiceObject.none]
    }
}
