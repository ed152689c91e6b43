// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultDoorKit
internal import VaultBus

extension SecretService {
    /// Returns the collection of an object, by its name or an alias.
    ///
    /// - Throws: `.noSuchObject`, but not while the vault is locked: then every name may exist.
    func collection(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> CollectionName {
        switch object {
        case .collection(.session): return .session
        case .alias("session"): return .session
        case .collection(let name):
            let view = try await view(for: client)
            guard await isUnlocked(view) else { return name }
            try await list(view)
            guard let group = view.group(of: name), group == view.home || view.groups.contains(group) else {
                throw .noSuchObject
            }
            return view.collection(group)
        case .alias(let name):
            let view = try await view(for: client)
            guard await isUnlocked(view) else {
                try await records(view)
                return target(of: name, view) ?? view.collection(view.home)
            }
            try await list(view)
            guard let target = target(of: name, view) else { throw .noSuchObject }
            return target
        default: throw .noSuchObject
        }
    }

    /// Returns the collection of an alias.
    func target(of alias: String, _ view: VaultView) -> CollectionName? {
        let named = (view.records ?? [:]).filter { $0.value.aliases.contains(alias) }.keys.min()
        if let named { return view.collection(named) }
        switch alias {
        case "default", "login": return view.collection(view.home)
        case "session": return .session
        default: return nil
        }
    }

    func readAlias(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        let alias = try reading { () throws(BusError) in try message.text() }
        var path = "/"
        do throws(ServiceRefusal) {
            path = ServiceObject.collection(try await collection(of: .alias(alias), client)).path
            // While locked, only the names that exist for certain are reported.
            if let view = viewAtOnce(for: client), !view.isUnlocked, alias != "session", target(of: alias, view) == nil
            {
                path = "/"
            }
        } catch {
            switch error {
            case .noSuchObject, .noVault: break
            case .isLocked where ["default", "login"].contains(alias): path = ServiceObject.collection(.login).path
            case .isLocked: break
            default: throw error
            }
        }
        let answerPath = path
        try reply(message) { answer throws(BusError) in try answer.append(path: answerPath) }
    }

    func setAlias(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        let (alias, path) = try reading { () throws(BusError) in (try message.text(), try message.path()) }
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
        let records = try await records(view)
        for (other, record) in records where record.aliases.contains(alias) && other != group {
            try await keep(record.label, record.aliases.filter { $0 != alias }, for: other, view)
        }
        if let group, !isItself {
            let aliases = (records[group]?.aliases ?? []).filter { $0 != alias } + [alias]
            try await keep(records[group]?.label ?? "", aliases, for: group, view)
        }
        try reply(message)
    }

    func setLabel(
        _ label: String, of collection: CollectionName, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        guard collection.isStored else { throw .notSupported("the session's collection has its name") }
        let view = try await unlockedView(for: client)
        guard let group = view.group(of: try await self.collection(of: .collection(collection), client)) else {
            throw .noSuchObject
        }
        try await keep(label, try await records(view)[group]?.aliases ?? [], for: group, view)
    }

    /// Stores the properties of a collection other than its items.
    ///
    /// - Parameter path: the element of the path of a new collection.
    private func keep(
        _ label: String, _ aliases: [String], path: String? = nil, for group: String, _ view: VaultView
    ) async throws(ServiceRefusal) {
        let (path, era) = (path ?? view.names.element(of: group), view.era)
        // A locked vault keeps a record as well, and the collections known before the lock may not be all.
        guard await isUnlockedNow(view), era == view.era else { throw .isLocked }
        do throws(VaultError) {
            let item = try await view.agent.set(
                CollectionRecord.item(group, label: label, aliases: aliases, path: path))
            view.note(CollectionRecord(item), of: group)
        } catch { throw await refusal(error, view) }
        let collection = ServiceObject.collection(view.collection(group))
        signal(.collectionChanged, at: .service, collection, view)
        signalProperties([("Label", .text(label))], of: collection, view)
    }

    // MARK: Creating

    func createCollection(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        var label = ""
        let alias = try reading { () throws(BusError) in
            try message.dictionary(of: "sv") { () throws(BusError) in
                guard try message.text() == "org.freedesktop.Secret.Collection.Label" else { throw .malformed }
                try message.variant(of: "s") { () throws(BusError) in label = try message.text() }
            }
            return try message.text()
        }
        guard label.utf8.count <= 1024, alias.utf8.count <= 255, !alias.contains("\n") else {
            throw .invalid("a label has at most 1,024 bytes, and an alias 255 in one line")
        }
        var (made, prompt) = ("/", "/")
        do throws(ServiceRefusal) {
            made = try await makeCollection(label, alias, try await unlockedView(for: client)).path
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            prompt = try makePrompt(.createCollection(label: label, alias: alias), client).path
        }
        let paths = [made, prompt]
        try reply(message) { answer throws(BusError) in for path in paths { try answer.append(path: path) } }
    }

    /// - Returns: the collection with the alias, or a new one.
    func makeCollection(
        _ label: String, _ alias: String, _ view: VaultView
    ) async throws(ServiceRefusal) -> ServiceObject {
        try await list(view)
        if !alias.isEmpty, let target = target(of: alias, view) { return .collection(target) }
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
        guard alias.isEmpty, !label.isEmpty, (try? await list(view)) != nil else { return nil }
        let named = ([view.home] + view.groups).first { self.label(of: $0, view) == label }
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

    func deleteCollection(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
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
                guard error == .itemNotFound else { throw await refusal(error, view) }
            }
        }
        // The client may read them before the watch has reported the change.
        for id in view.list?.ids(in: group) ?? [] { noteDeleted(id, view) }
        if let id = view.records?[group]?.id { view.drop(id) }
        view.note(nil, of: group)
        signal(.collectionDeleted, at: .service, .collection(collection), view)
        noteLists(view)
        try reply(message) { answer throws(BusError) in try answer.append(path: "/") }
    }
}
