// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

extension SecretService {
    // MARK: Searching

    func searchItems(
        _ attributes: ProgramAttributes, of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> [BusValue] {
        let collection = object == .service ? nil : try await collection(of: object, client)
        let (unlocked, locked) = try await search(attributes, in: collection, client)
        return collection == nil ? [.paths(unlocked), .paths(locked)] : [.paths(unlocked + locked)]
    }

    /// - Returns: the paths of readable items, and of placeholders for those that are not.
    private func search(
        _ attributes: ProgramAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> (unlocked: [String], locked: [String]) {
        var paths: [String] = []
        if collection == nil || collection == .session {
            paths = memory(of: client).search(attributes).map { ServiceObject.item(.session, $0).path }
        }
        guard collection != .session else { return (paths, []) }
        if let found = try await findNow(attributes, in: collection, client) {
            paths += found.paths
            // Items that can be read while locked are a sufficient answer.
            if found.isAll || !paths.isEmpty { return (paths, found.closed) }
        } else if !paths.isEmpty || !house.hasVault {
            return (paths, [])
        }
        // A locked vault never answers "not found": a program that believes it makes a new key, which replaces the old
        // one when the vault is unlocked a moment later. Clients wait 25 seconds for an answer.
        if await askAside(client) == .done,
            let found = try await findNow(attributes, in: collection, client), found.isAll
        {
            return (found.paths, found.closed)
        }
        return ([], [try standIn(for: attributes, in: collection, client).path])
    }

    /// Asks the user for a vault that was not unlocked yet, whose collections nothing tells: a program that misses its
    /// own makes another one. `GetAll` asks nobody, since every program of libsecret begins with it.
    func askForCollections(_ client: ServiceClient) async {
        if let view = try? await view(for: client) {
            guard !(await view.checkUnlocked()), !view.wasOpened else { return }
        }
        guard house.hasVault, asking.mayAskForCollections() else { return }
        _ = await askAside(client)
    }

    private func askAside(_ client: ServiceClient) async -> PromptOutcome? {
        guard (try? checkWaiting(client)) != nil else { return nil }
        return await waitAside(client) { await ask(.search(client.name), client, patience: .seconds(20)) }
    }

    /// Searches without asking the user; `nil` if no agent runs.
    private func findNow(
        _ attributes: ProgramAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> (paths: [String], closed: [String], isAll: Bool)? {
        do throws(ServiceRefusal) {
            let view = try await view(for: client)
            _ = await view.checkUnlocked()
            let found = try await view.find(attributes, in: collection)
            func paths(_ items: [ServedItem]) -> [String] { items.map { view.object(of: $0).path } }
            return (
                paths(found.items.filter { !view.closed.contains($0) }),
                paths(found.items.filter(view.closed.contains)), found.isAll
            )
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            return nil
        }
    }

    // MARK: Creating

    func createItem(
        _ new: NewItem, in object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> [BusValue] {
        let secret = try session(new.sent.session, of: client).opened(new.sent)
        if try await collection(of: object, client) == .session {
            return [try remember(new, secret, client).value, ServiceObject.none]
        }
        let view = try await unlockedView(for: client)
        // While locked, every name may exist.
        guard let group = view.group(of: try await collection(of: object, client)) else { throw .noSuchObject }
        guard !view.closed.groups.contains(group) else { throw .isLocked }
        return [try await store(new, secret, in: group, view).value, ServiceObject.none]
    }

    /// Adds an item, or changes the last changed item with the same attributes.
    private func store(
        _ new: NewItem, _ secret: Secret, in group: String, _ view: VaultView
    ) async throws(ServiceRefusal) -> ServiceObject {
        var userAttributes = new.attributes.stored
        if !new.sent.contentType.isEmpty, new.sent.contentType != "text/plain" {
            userAttributes[ItemNames.contentType] = new.sent.contentType
        }
        var attributes: [Attribute: AttributeValue] = [.accessGroup: .string(group)]
        if !new.label.isEmpty { attributes[.label] = .string(new.label) }
        let item = Item(
            .genericPassword(service: new.attributes.service(label: new.label), account: new.attributes.account),
            attributes: attributes, userAttributes: userAttributes, secret: secret)
        let moment = view.moment
        let same = new.replaces ? new.attributes.values : nil
        let served = try await view.trying { agent async throws(VaultError) in
            var stored = try await DoorWorker.attempt { () throws(VaultError) in try agent.replace(item, sameAs: same) }
            stored.secret = nil
            guard let served = ServedItem(stored) else { throw .itemNotFound }
            return served
        }
        // The client may read the item and the list before the watch has reported the change.
        view.keep(stored: served, as: moment)
        view.note { $0.insert(served.id, served.item.itemClass, group) }
        return view.object(of: served)
    }

    // MARK: Deleting

    func deleteItem(_ object: ServiceObject, _ client: ServiceClient) async throws(ServiceRefusal) -> [BusValue] {
        if case .item(.session, let id) = object {
            _ = try entry(id, of: client)
            memories.remove(id, of: client.memory)
            signalMemory(.itemDeleted, id, client)
        } else {
            let view = try await unlockedView(for: client)
            let item = try await item(object, view, client)
            let query = Query(persistentReference: item.record.persistentReference)
            _ = try await view.trying { agent async throws(VaultError) in try await agent.delete(matching: query) }
            noteDeleted(item.id, view)
        }
        return [ServiceObject.none]
    }

    // MARK: Memory

    func memory(of client: ServiceClient) -> SessionCollection { memories[client.memory] }

    func entry(_ id: UUID, of client: ServiceClient) throws(ServiceRefusal) -> SessionCollection.Entry {
        guard let entry = memory(of: client).entries[id] else { throw .noSuchObject }
        return entry
    }

    func remember(
        _ entry: SessionCollection.Entry, _ id: UUID, _ client: ServiceClient, isNew: Bool
    ) throws(ServiceRefusal) {
        try memories.set(entry, for: id, of: client.memory)
        signalMemory(isNew ? .itemCreated : .itemChanged, id, client)
    }

    private func remember(
        _ new: NewItem, _ secret: Secret, _ client: ServiceClient
    ) throws(ServiceRefusal) -> ServiceObject {
        let old = new.replaces ? memory(of: client).same(as: new.attributes) : nil
        let created = old.flatMap { memory(of: client).entries[$0]?.created }
        let entry = SessionCollection.Entry(
            label: new.label, attributes: new.attributes, secret: secret, contentType: new.sent.contentType,
            created: created ?? now, modified: now)
        let id = old ?? UUID()
        try remember(entry, id, client, isNew: old == nil)
        return .item(.session, id)
    }
}
