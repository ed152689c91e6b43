// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

extension SecretService {
    /// Answers a call that needs no waiting: most calls, since programs mainly read properties.
    ///
    /// - Returns: `false` if the call may have to wait.
    func answerAtOnce(
        _ message: BusMessage, _ object: ServiceObject, _ call: ServiceCall, _ client: ServiceClient
    ) throws(ServiceRefusal) -> Bool {
        switch call {
        case .introspect:
            try reply(message) { answer throws(BusError) in
                try answer.append(Introspection.text(of: ServiceCall.Kind(object)))
            }
        case .get, .getAll:
            guard let view = viewAtOnce(for: client), view.isUnlocked,
                let properties = properties(of: object, view, client)
            else { return false }
            try answer(message, try asked(message, call), ServiceCall.Kind(object), properties)
        case .closeSession:
            guard case .session(let number) = object, let session = holdings.session(number) else {
                throw .noSuchObject
            }
            guard session.owner == client.name else { throw .denied }
            holdings.removeSession(number)
            try reply(message)
        case .prompt, .dismiss:
            guard case .prompt(let number) = object, holdings.prompt(number)?.owner == client.name else {
                throw .noSuchObject
            }
            try reply(message)
            if call == .prompt { show(number, client) } else { dismiss(number, client) }
        default: return false
        }
        return true
    }

    /// Reads what `Get` and `GetAll` ask for.
    ///
    /// - Returns: `name`: `nil` for all properties.
    private func asked(
        _ message: BusMessage, _ call: ServiceCall
    ) throws(ServiceRefusal) -> (interface: String, name: String?) {
        try reading { () throws(BusError) in (try message.text(), call == .get ? try message.text() : nil) }
    }

    private func answer(
        _ message: BusMessage, _ asked: (interface: String, name: String?), _ kind: ServiceCall.Kind,
        _ properties: [(name: String, value: BusValue)]
    ) throws(ServiceRefusal) {
        let (interface, name) = asked
        guard interface == kind.interface || name == nil && interface.isEmpty else {
            // Every object has the standard interfaces, and none of those has a property here.
            guard interface.hasPrefix("org.freedesktop.DBus."), name == nil else {
                throw .invalid("the object has no such interface")
            }
            return try reply(message) { answer throws(BusError) in try answer.append([]) }
        }
        guard let name else {
            return try reply(message) { answer throws(BusError) in try answer.append(properties) }
        }
        guard let value = properties.first(where: { $0.name == name })?.value else {
            throw .invalid("the object has no such property")
        }
        try reply(message) { answer throws(BusError) in try answer.append(variantOf: value) }
    }

    /// Answers a call that may have to wait.
    func answer(
        _ message: BusMessage, _ object: ServiceObject, _ call: ServiceCall, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        switch call {
        case .get, .getAll:
            let asked = try asked(message, call)
            if object == .service, asked.name == "Collections" { await askForCollections(client) }
            let properties = try await loadedProperties(of: object, client)
            try answer(message, asked, ServiceCall.Kind(object), properties)
        case .set: try await set(message, object, client)
        case .openSession: try await openSession(message, client)
        case .searchItems: try await searchItems(message, object, client)
        case .unlock: try await unlock(message, client)
        case .lock: try await lock(message, client)
        case .lockService:
            try await lock([.service], client)
            try reply(message)
        case .getSecrets:
            try await inTurn { () async throws(ServiceRefusal) in try await getSecrets(message, client) }
        case .getSecret: try await getSecret(message, object, client)
        case .setSecret: try await setSecret(message, object, client)
        case .createItem: try await createItem(message, object, client)
        case .deleteItem: try await deleteItem(message, object, client)
        case .createCollection: try await createCollection(message, client)
        case .deleteCollection: try await deleteCollection(message, object, client)
        case .readAlias: try await readAlias(message, client)
        case .setAlias: try await setAlias(message, client)
        case .introspect, .closeSession, .prompt, .dismiss: throw .noSuchObject
        }
    }

    // MARK: Sessions

    private func openSession(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        let algorithm = try reading { () throws(BusError) in try message.text() }
        try makeRoom(for: client)
        let session: ServiceSession
        var publicKey: [UInt8]?
        switch algorithm {
        case ServiceSession.plainName:
            try reading { () throws(BusError) in
                try message.variant(of: "s") { () throws(BusError) in _ = try message.text() }
            }
            session = .plain(of: client.name)
        case ServiceSession.encryptedName:
            var peer: [UInt8]?
            try reading { () throws(BusError) in
                try message.variant(of: "ay") { () throws(BusError) in
                    peer = try message.bytes(limit: OakleyGroup2.length)
                }
            }
            let (name, given) = (client.name, peer)
            (session, publicKey) = try await DoorWorker.attempt { () throws(ServiceRefusal) in
                try ServiceSession.encrypted(of: name, given)
            }
            // The client may have gone meanwhile, or opened further sessions.
            try makeRoom(for: client)
        default: throw .notSupported("that algorithm is not known")
        }
        let object = holdings.add(session)
        let key = publicKey
        try reply(message) { answer throws(BusError) in
            if let key { try answer.append(variantOf: key.span) } else { try answer.append(variantOf: "") }
            try answer.append(path: object.path)
        }
    }

    func session(_ path: String, of client: ServiceClient) throws(ServiceRefusal) -> ServiceSession {
        guard case .session(let number)? = ServiceObject(path), let session = holdings.session(number),
            session.owner == client.name
        else { throw .noSession }
        return session
    }

    // MARK: Secrets

    private func getSecret(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        let path = try reading { () throws(BusError) in try message.path() }
        let session = try session(path, of: client)
        let found = try await secret(of: object, client)
        let sealed = try session.sealed(found.secret, contentType: found.contentType, path: path)
        try replySecretly(message) { answer throws(BusError) in
            try sealed.append(to: answer)
        } fill: { answer throws(BusError) in
            try sealed.fill(answer)
        }
    }

    private func getSecrets(_ message: BusMessage, _ client: ServiceClient) async throws(ServiceRefusal) {
        let objects = try objects(from: message)
        let sessionPath = try reading { () throws(BusError) in try message.path() }
        let session = try session(sessionPath, of: client)
        let secrets = try await steady(most: 4) {
            _ throws(ServiceRefusal) -> [(path: String, secret: TransferredSecret)]? in
            let view = try? await view(for: client)
            let era = view?.era
            let secrets = try await self.secrets(of: objects, client, session, sessionPath)
            // Secrets read before the vault was locked must not be sent after it.
            return view?.era == era ? secrets : nil
        }
        guard let answers = secrets else { throw .isLocked }
        try replySecretly(message) { answer throws(BusError) in
            try answer.appendArray(of: "{o(\(TransferredSecret.signature))}") { () throws(BusError) in
                for (path, secret) in answers {
                    try answer.appendEntry(of: "o(\(TransferredSecret.signature))") { () throws(BusError) in
                        try answer.append(path: path)
                        try secret.append(to: answer)
                    }
                }
            }
        } fill: { answer throws(BusError) in
            var next = answers.startIndex
            try answer.dictionary(of: "o(\(TransferredSecret.signature))") { () throws(BusError) in
                try answer.skip("o")
                try answers[next].secret.fill(answer)
                next += 1
            }
        }
    }

    /// Returns the readable secrets.
    private func secrets(
        of objects: [ServiceObject], _ client: ServiceClient, _ session: ServiceSession, _ sessionPath: String
    ) async throws(ServiceRefusal) -> [(path: String, secret: TransferredSecret)] {
        var secrets: [(path: String, secret: TransferredSecret)] = []
        var size = 0
        for object in objects {
            guard let found = try await readableSecret(of: object, client) else { continue }
            // Counts both paths and the framing. The bus disconnects the sender of an array of more than 64 MiB.
            size += found.secret.count + found.contentType.utf8.count + 2 * (object.path.utf8.count + 64)
            guard size <= 60 << 20 else { throw .tooMany("the secrets do not fit into one message") }
            secrets.append(
                (
                    object.path,
                    try session.sealed(found.secret, contentType: found.contentType, path: sessionPath)
                ))
        }
        return secrets
    }

    /// Returns the secret of an item; `nil` if there is no such item, or it cannot be read now.
    private func readableSecret(
        of object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> (secret: Secret, contentType: String)? {
        switch object {
        case .item, .search: break
        default: return nil
        }
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
            guard let entry = memory(of: client).entries[id] else { throw .noSuchObject }
            return (entry.secret, entry.contentType)
        }
        let view = try await view(for: client)
        let found = try await steady { _ throws(ServiceRefusal) -> (secret: Secret, contentType: String)? in
            let item = try await item(object, view, client)
            // The service does no other work between this read and the answer: a vault that is locked later is locked
            // after the answer.
            do throws(VaultError) { return (try secret(of: item, view.agent), item.contentType) } catch {
                guard error == .itemChanged else { throw await refusal(error, view) }
                view.drop(item.id)
                return nil
            }
        }
        guard let found else { throw .failed("the item changes all the time") }
        return found
    }

    private func setSecret(
        _ message: BusMessage, _ object: ServiceObject, _ client: ServiceClient
    ) async throws(ServiceRefusal) {
        let sent = try reading { () throws(BusError) in try TransferredSecret(from: message) }
        let secret = try session(sent.session, of: client).opened(sent)
        if case .item(.session, let id) = object {
            guard var entry = memory(of: client).entries[id] else { throw .noSuchObject }
            (entry.secret, entry.contentType, entry.modified) = (secret, sent.contentType, now)
            try remember(entry, id, client, isNew: false)
            return try reply(message)
        }
        let view = try await unlockedView(for: client)
        let item = try await item(object, view, client)
        try await change(
            item, view,
            ItemChanges(userAttributes: contentTypeChange(sent.contentType, from: item), secret: secret))
        try reply(message)
    }

    func contentTypeChange(_ contentType: String, from item: ServedItem) -> [String: String?] {
        let isPlain = contentType.isEmpty || contentType == "text/plain"
        guard !isPlain || item.item.userAttributes[ItemNames.contentType] != nil else { return [:] }
        return [ItemNames.contentType: isPlain ? nil : contentType]
    }

    /// - Throws: the vault's error, for changes of an item that still exists.
    func change(_ item: ServedItem, _ view: VaultView, _ changes: ItemChanges) async throws(ServiceRefusal) {
        defer { view.drop(item.id) }
        do throws(VaultError) {
            try await view.agent.update(
                matching: Query(persistentReference: item.record.persistentReference), with: changes)
        } catch { throw await refusal(error, view) }
    }

    /// Reads synchronously: every program waits for this, and handing it to another thread takes longer.
    private func secret(of item: ServedItem, _ agent: AgentClient) throws(VaultError) -> Secret {
        guard item.record.hasSecret else { return Secret("") }
        return try agent.secret(of: item.record) ?? Secret("")
    }
}
