// SPDX-License-Identifier: Apache-2.0
internal import Vault
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
        case .collection(.group(let group)):
            let view = try await view(for: client)
            guard group != "default" else { return .group(view.home) }
            guard await isUnlocked(view) else { return .group(group) }
            guard try await list(view).groups.contains(group) else { throw .noSuchObject }
            return .group(group)
        case .alias(let name):
            let view = try await view(for: client)
            guard await isUnlocked(view) else { return .group(view.home) }
            guard let target = target(of: name, try await list(view), view) else { throw .noSuchObject }
            return target
        default: throw .noSuchObject
        }
    }

    /// Returns the collection of an alias.
    func target(of alias: String, _ list: ItemList, _ view: VaultView) -> CollectionName? {
        let named = list.records.filter { $0.value.aliases.contains(alias) }.keys.min()
        if let named { return .group(named) }
        switch alias {
        case "default", "login": return .group(view.home)
        case "session": return .session
        default: return nil
        }
    }

    func readAlias(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        let alias = try reading { () throws(BusError) in try message.text() }
        var path = "/"
        do throws(ServiceRefusal) {
            path = ServiceObject.collection(try await collection(of: .alias(alias), client)).path
            // While locked, only the names that always exist are reported.
            if viewAtOnce(for: client)?.isUnlocked != true, !["default", "login", "session"].contains(alias) {
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
            guard let object = ServiceObject(path), case .group(let name) = try await collection(of: object, client)
            else { throw .noSuchObject }
            group = name
        }
        let isItself = group == view.home && (alias == "default" || alias == "login")
        // If a sandbox could name its collection `default`, it would receive the items stored by all other programs.
        guard !view.isConfined || isItself else { throw .denied }
        let list = try await list(view)
        for (other, record) in list.records where record.aliases.contains(alias) && other != group {
            try await keep(record.label, record.aliases.filter { $0 != alias }, for: other, view)
        }
        if let group, !isItself {
            let record = list.records[group]
            let aliases = (record?.aliases ?? []).filter { $0 != alias } + [alias]
            try await keep(record?.label ?? "", aliases, for: group, view)
        }
        try reply(message)
    }

    func setLabel(
        _ label: String, of collection: CollectionName, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        guard case .group(let group) = collection else { throw .notSupported("the session's collection has its name") }
        let view = try await unlockedView(for: client)
        try await keep(label, try await list(view).records[group]?.aliases ?? [], for: group, view)
    }

    /// Stores the properties of a collection other than its items.
    private func keep(
        _ label: String, _ aliases: [String], for group: String, _ view: VaultView
    ) async throws(ServiceRefusal) {
        do throws(VaultError) {
            let item = try await view.agent.set(CollectionRecord.item(group, label: label, aliases: aliases))
            let record = CollectionRecord(item)
            view.note { $0.records[group] = record }
        } catch { throw await refusal(error, view) }
        signal(.collectionChanged, at: ServiceObject.service, ServiceObject.collection(.group(group)), view)
        signalProperties([("Label", .text(label))], of: .collection(.group(group)), view)
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
        let list = try await list(view)
        if !alias.isEmpty, let target = target(of: alias, list, view) { return .collection(target) }
        guard !view.isConfined || alias.isEmpty else { throw .denied }
        let group = SecretService.freeGroup(for: label, beside: list.groups + [view.home])
        try await keep(label, alias.isEmpty ? [] : [alias], for: group, view)
        signal(.collectionCreated, at: .service, .collection(.group(group)), view)
        noteLists(view)
        return .collection(.group(group))
    }

    /// Returns the label in `[a-z0-9-]`, made unique.
    static func freeGroup(for label: String, beside groups: [String]) -> String {
        AccessGroups.ofCollection(label, beside: Set(groups))
    }

    func deleteCollection(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        guard case .group(let group) = try await collection(of: object, client) else {
            throw .notSupported("this collection cannot be deleted")
        }
        let view = try await unlockedView(for: client)
        guard group != view.home else { throw .notSupported("this collection cannot be deleted") }
        for itemClass in ServedItem.classes {
            let query = Query(itemClass, attributes: [.accessGroup: .string(group)])
            do throws(VaultError) { try await view.agent.delete(matching: query) } catch {
                guard error == .itemNotFound else { throw await refusal(error, view) }
            }
        }
        // The client may read them before the watch has reported the change.
        for id in view.list?.ids(in: group) ?? [] { noteDeleted(id, view) }
        if let id = view.list?.records[group]?.id { view.drop(id) }
        view.note { $0.records[group] = nil }
        signal(.collectionDeleted, at: .service, .collection(.group(group)), view)
        noteLists(view)
        try reply(message) { answer throws(BusError) in try answer.append(path: "/") }
    }
}
