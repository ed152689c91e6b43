// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

/// The arguments of a call that creates an item.
private struct NewItem {
    var label = ""
    var attributes: ProgramAttributes
    let secret: Secret
    let contentType: String
    let replaces: Bool
}

extension SecretService {
    /// The maximum size of an item's attributes: 64 KiB.
    static let attributesLimit = 64 << 10

    func attributes(from message: BusMessage) throws(ServiceRefusal) -> ProgramAttributes {
        var values: [String: String] = [:]
        var size = 0
        try reading { () throws(BusError) in
            try message.dictionary(of: "ss") { () throws(BusError) in
                let (name, value) = (try message.text(), try message.text())
                size += name.utf8.count + value.utf8.count
                // Excess attributes are read, but not kept.
                if size <= SecretService.attributesLimit { values[name] = value }
            }
        }
        guard size <= SecretService.attributesLimit else {
            throw ServiceRefusal(.storage(.attributesTooLarge))
        }
        return try ProgramAttributes(checking: values)
    }

    // MARK: Searching

    func searchItems(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        let attributes = try attributes(from: message)
        let collection = object == .service ? nil : try await collection(of: object, client)
        let (unlocked, locked) = try await search(attributes, in: collection, client)
        let isWhole = collection == nil
        try reply(message) { answer throws(BusError) in
            try answer.append(paths: isWhole ? unlocked : unlocked + locked)
            if isWhole { try answer.append(paths: locked) }
        }
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
            guard !(await isUnlocked(view)), !view.wasOpened else { return }
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
            _ = await isUnlocked(view)
            let found = try await find(attributes, in: collection, view)
            func paths(_ items: [ServedItem]) -> [String] { items.map { view.object(of: $0).path } }
            return (
                paths(found.items.filter { !view.closed.contains($0) }),
                paths(found.items.filter(view.closed.contains)),
                found.isAll
            )
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            return nil
        }
    }

    // MARK: Creating

    func createItem(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        let new = try newItem(from: message, client)
        var collection = try await collection(of: object, client)
        let made: ServiceObject
        if collection == .session {
            made = try remember(new, client)
        } else {
            let view = try await unlockedView(for: client)
            // While locked, every name may exist.
            collection = try await self.collection(of: object, client)
            guard let group = view.group(of: collection) else { throw .noSuchObject }
            guard !view.closed.groups.contains(group) else { throw .isLocked }
            made = try await store(new, in: group, view)
        }
        try reply(message) { answer throws(BusError) in
            try answer.append(path: made.path)
            try answer.append(path: "/")
        }
    }

    private func newItem(from message: BusMessage, _ client: ServiceClient) throws(ServiceRefusal) -> NewItem {
        var (label, type) = ("", "")
        var attributes = ProgramAttributes(given: [:])
        var (sent, replaces): (TransferredSecret?, Bool) = (nil, false)
        var refusal: ServiceRefusal?
        try reading { () throws(BusError) in
            try message.dictionary(of: "sv") { () throws(BusError) in
                switch try message.text() {
                case "org.freedesktop.Secret.Item.Label":
                    try message.variant(of: "s") { () throws(BusError) in label = try message.text() }
                case "org.freedesktop.Secret.Item.Attributes":
                    try message.variant(of: "a{ss}") { () throws(BusError) in
                        do throws(ServiceRefusal) { attributes = try self.attributes(from: message) } catch {
                            refusal = error
                            throw .malformed
                        }
                    }
                case "org.freedesktop.Secret.Item.Type":
                    try message.variant(of: "s") { () throws(BusError) in type = try message.text() }
                default:
                    refusal = .invalid("an item cannot be made with that property")
                    throw .malformed
                }
            }
            sent = try TransferredSecret(from: message)
            replaces = try message.flag()
        } or: {
            refusal
        }
        guard let sent else { throw .invalid("there is no secret") }
        // Older programs send only the property, not the attribute; gnome-keyring accepts one for the other.
        if !type.isEmpty, attributes.type.isEmpty {
            attributes = try ProgramAttributes(
                checking: attributes.values.merging([ProgramAttributes.schema: type]) { $1 })
        }
        let secret = try session(sent.session, of: client).opened(sent)
        return NewItem(
            label: label, attributes: attributes, secret: secret, contentType: sent.contentType, replaces: replaces)
    }

    /// Like ``reading(_:)``, for a body that has a more precise error.
    private func reading<R>(
        _ body: () throws(BusError) -> R, or reason: () -> ServiceRefusal?
    ) throws(ServiceRefusal) -> R {
        do throws(BusError) { return try body() } catch { throw reason() ?? ServiceRefusal(error) }
    }

    /// Adds an item, or changes the last changed item with the same attributes.
    private func store(
        _ new: NewItem, in group: String, _ view: VaultView
    ) async throws(ServiceRefusal) -> ServiceObject {
        var userAttributes = new.attributes.stored
        if !new.contentType.isEmpty, new.contentType != "text/plain" {
            userAttributes[ItemNames.contentType] = new.contentType
        }
        var attributes: [Attribute: AttributeValue] = [.accessGroup: .string(group)]
        if !new.label.isEmpty { attributes[.label] = .string(new.label) }
        let item = Item(
            .genericPassword(service: new.attributes.service(label: new.label), account: new.attributes.account),
            attributes: attributes, userAttributes: userAttributes, secret: new.secret)
        let (agent, moment) = (view.agent, view.moment)
        let same = new.replaces ? new.attributes.values : nil
        do throws(VaultError) {
            var stored = try await DoorWorker.attempt { () throws(VaultError) in try agent.replace(item, sameAs: same) }
            stored.secret = nil
            guard let served = ServedItem(stored) else { throw .itemNotFound }
            // The client may read the item and the list before the watch has reported the change.
            view.keep(stored: served, as: moment)
            view.note { $0.insert(served.id, stored.itemClass, group) }
            return view.object(of: served)
        } catch { throw await refusal(error, view) }
    }

    // MARK: Deleting

    func deleteItem(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        if case .item(.session, let id) = object {
            guard memory(of: client).entries[id] != nil else { throw .noSuchObject }
            memories.remove(id, of: MemoryKey(client))
            signalMemory(.itemDeleted, id, client)
        } else {
            let view = try await unlockedView(for: client)
            let item = try await item(object, view, client)
            do throws(VaultError) {
                try await view.agent.delete(
                    matching: Query(persistentReference: item.record.persistentReference))
            } catch { throw await refusal(error, view) }
            noteDeleted(item.id, view)
        }
        try reply(message) { answer throws(BusError) in try answer.append(path: "/") }
    }

    // MARK: Memory

    func memory(of client: ServiceClient) -> SessionCollection { memories[MemoryKey(client)] }

    func remember(
        _ entry: SessionCollection.Entry, _ id: UUID, _ client: ServiceClient, isNew: Bool
    ) throws(ServiceRefusal) {
        try memories.set(entry, for: id, of: MemoryKey(client))
        signalMemory(isNew ? .itemCreated : .itemChanged, id, client)
    }

    private func remember(_ new: NewItem, _ client: ServiceClient) throws(ServiceRefusal) -> ServiceObject {
        let old = new.replaces ? memory(of: client).same(as: new.attributes) : nil
        let created = old.flatMap { memory(of: client).entries[$0]?.created }
        let id = old ?? UUID()
        try remember(
            SessionCollection.Entry(
                label: new.label, attributes: new.attributes, secret: new.secret, contentType: new.contentType,
                created: created ?? now, modified: now), id, client, isNew: old == nil)
        return .item(.session, id)
    }
}
