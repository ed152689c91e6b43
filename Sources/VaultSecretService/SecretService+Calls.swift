// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

extension SecretService {
    /// Answers a call that needs no waiting: most calls, since programs mainly read properties; `nil` for the others.
    func answerAtOnce(_ call: ServiceCall, _ request: ServiceRequest) throws(ServiceRefusal) -> [BusValue]? {
        let (object, client) = (request.object, request.client)
        switch (call, object) {
        case (.introspect, _): return [.text(Introspection.text(of: ServiceCall.Kind(object)))]
        case (.get, _), (.getAll, _):
            guard let view = viewAtOnce(for: client), view.isUnlocked,
                let properties = cachedProperties(of: object, view, client)
            else { return nil }
            return [try asked(request, call).value(in: properties)]
        case (.closeSession, .session(let number)):
            guard let session = holdings.sessions[number] else { throw .noSuchObject }
            guard session.owner == client.name else { throw .denied }
            holdings.removeSession(number)
            return []
        case (.prompt, .prompt(let number)), (.dismiss, .prompt(let number)):
            guard holdings.prompts[number]?.owner == client.name else { throw .noSuchObject }
            // The user is asked once the answer is sent.
            if call == .prompt { show(number, client) } else { dismiss(number, client) }
            return []
        default: return nil
        }
    }

    /// The argument of `Get` and `GetAll`; all properties without a name.
    private struct Asked {
        let interface: String
        let name: String?
        let kind: ServiceCall.Kind

        func value(in properties: BusProperties) throws(ServiceRefusal) -> BusValue {
            guard interface == kind.interface || name == nil && interface.isEmpty else {
                // Every object has the standard interfaces, and none of those has a property here.
                guard interface.hasPrefix("org.freedesktop.DBus."), name == nil else {
                    throw .invalid("the object has no such interface")
                }
                return .properties([])
            }
            guard let name else { return .properties(properties) }
            guard let value = properties.first(where: { $0.name == name })?.value else {
                throw .invalid("the object has no such property")
            }
            return .variant(value)
        }
    }

    private func asked(_ request: ServiceRequest, _ call: ServiceCall) throws(ServiceRefusal) -> Asked {
        Asked(
            interface: try request.text(), name: call == .get ? try request.text() : nil,
            kind: ServiceCall.Kind(request.object))
    }

    /// Answers a call that may have to wait.
    func answer(_ call: ServiceCall, _ request: ServiceRequest) async throws(ServiceRefusal) -> [BusValue] {
        let (object, client) = (request.object, request.client)
        switch call {
        case .get, .getAll:
            let asked = try asked(request, call)
            if object == .service, asked.name == "Collections" { await askForCollections(client) }
            return [try asked.value(in: try await properties(of: object, client))]
        case .set: try await set(request)
        case .openSession: return try await openSession(request)
        case .searchItems: return try await searchItems(try request.attributes(), of: object, client)
        case .unlock: return try await unlock(try request.objects(), client)
        case .lock:
            let objects = try request.objects().filter(\.canBeLocked)
            try await lock(objects, client)
            return [.paths(objects.map(\.path)), ServiceObject.none]
        case .lockService: try await lock([.service], client)
        case .getSecrets: return try await inTurn { () async throws(ServiceRefusal) in try await getSecrets(request) }
        case .getSecret:
            let path = try request.path()
            let session = try session(path, of: client)
            let (secret, contentType) = try await secret(of: object, client)
            return [try session.sealed(secret, contentType: contentType, path: path).message]
        case .setSecret:
            let sent = try request.secret()
            let secret = try session(sent.session, of: client).opened(sent)
            try await change(object, client, .secret(secret, contentType: sent.contentType))
        case .createItem: return try await createItem(try request.newItem(), in: object, client)
        case .deleteItem: return try await deleteItem(object, client)
        case .createCollection:
            return try await createCollection(try request.newLabel(), alias: try request.text(), client)
        case .deleteCollection: return try await deleteCollection(object, client)
        case .readAlias: return [try await readAlias(try request.text(), client)]
        case .setAlias: try await setAlias(try request.text(), try request.path(), client)
        case .introspect, .closeSession, .prompt, .dismiss: throw .noSuchObject
        }
        return []
    }

    // MARK: Sessions

    private func openSession(_ request: ServiceRequest) async throws(ServiceRefusal) -> [BusValue] {
        let (client, algorithm) = (request.client, try request.text())
        try makeRoom(for: client)
        let session: ServiceSession
        var publicKey: [UInt8]?
        switch algorithm {
        case ServiceSession.plainName:
            _ = try request.textVariant()
            session = .plain(of: client.name)
        case ServiceSession.encryptedName:
            let (name, given) = (client.name, try request.keyVariant())
            (session, publicKey) = try await DoorWorker.attempt { () throws(ServiceRefusal) in
                try ServiceSession.encrypted(of: name, given)
            }
            // The client may have gone meanwhile, or opened further sessions.
            try makeRoom(for: client)
        default: throw .notSupported("that algorithm is not known")
        }
        return [.variant(publicKey.map { .bytes($0) } ?? .text("")), holdings.add(session).value]
    }

    func session(_ path: String, of client: ServiceClient) throws(ServiceRefusal) -> ServiceSession {
        guard case .session(let number)? = ServiceObject(path), let session = holdings.sessions[number],
            session.owner == client.name
        else { throw .noSession }
        return session
    }

    // MARK: Secrets

    /// Gathers secrets, a limited number of calls at a time.
    private func inTurn<R>(_ body: () async throws(ServiceRefusal) -> R) async throws(ServiceRefusal) -> R {
        if !turns.beginGathering() { await withCheckedContinuation { turns.wait($0) } }
        defer { turns.endGathering() }
        return try await body()
    }

    private func getSecrets(_ request: ServiceRequest) async throws(ServiceRefusal) -> [BusValue] {
        let (objects, path, client) = (try request.objects(), try request.path(), request.client)
        let session = try session(path, of: client)
        let gathered = try await steady(most: 4) { _ throws(ServiceRefusal) -> [BusValue]? in
            let view = try? await view(for: client)
            let era = view?.era
            let secrets = try await secrets(of: objects, client, session, path)
            // Secrets read before the vault was locked must not be sent after it.
            return view?.era == era ? secrets : nil
        }
        guard let gathered else { throw .isLocked }
        return [.array(of: "{o(\(TransferredSecret.signature))}", gathered)]
    }

    /// Returns the readable secrets, each with the path of its item.
    private func secrets(
        of objects: [ServiceObject], _ client: ServiceClient, _ session: ServiceSession, _ sessionPath: String
    ) async throws(ServiceRefusal) -> [BusValue] {
        var secrets: [BusValue] = []
        var size = 0
        for object in objects {
            guard let (secret, contentType) = try await readableSecret(of: object, client) else { continue }
            // Counts both paths and the framing.
            size += secret.count + contentType.utf8.count + 2 * (object.path.utf8.count + 64)
            guard size <= BusMessage.longestArray else { throw .tooMany("the secrets do not fit into one message") }
            let sealed = try session.sealed(secret, contentType: contentType, path: sessionPath)
            secrets.append(.entry([object.value, sealed.message]))
        }
        return secrets
    }

    /// Returns the secret of an item; `nil` if there is no such item, or it cannot be read now.
    private func readableSecret(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> (secret: Secret, contentType: String)? {
        guard ServiceCall.Kind(object) == .item else { return nil }
        do throws(ServiceRefusal) { return try await secret(of: object, client) } catch {
            guard [.isLocked, .noSuchObject, .denied].contains(error) else { throw error }
            return nil
        }
    }

    /// Returns the secret of an item, and its content type.
    private func secret(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> (secret: Secret, contentType: String) {
        if case .item(.session, let id) = object {
            let entry = try entry(id, of: client)
            return (entry.secret, entry.contentType)
        }
        let view = try await view(for: client)
        let found = try await steady { _ throws(ServiceRefusal) -> (secret: Secret, contentType: String)? in
            let item = try await item(object, view, client)
            // The service does no other work between this read and the answer: a vault that is locked later is locked
            // after the answer.
            do throws(VaultError) { return (try secret(of: item, view.agent), item.contentType) } catch {
                guard error == .itemChanged else { throw await view.refusal(error) }
                view.drop(item.id)
                return nil
            }
        }
        guard let found else { throw .failed("the item changes all the time") }
        return found
    }

    /// Reads synchronously: every program waits for this, and handing it to another thread takes longer.
    private func secret(of item: ServedItem, _ agent: AgentClient) throws(VaultError) -> Secret {
        guard item.record.hasSecret else { return Secret("") }
        return try agent.secret(of: item.record) ?? Secret("")
    }
}
