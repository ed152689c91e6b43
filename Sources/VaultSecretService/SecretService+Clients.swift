// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultDoorKit

extension SecretService {
    // MARK: Arriving

    // Reading the identity of a client's sandbox may take a moment, and must not block other clients.

    /// The maximum number of messages, of one client and of all, that wait for their client to be identified: each may
    /// have 16 MiB.
    private static let mostArriving = (ofOne: 8, ofAll: 32)

    /// Returns the client of a connection; `nil` if it must be identified first, for which the message is queued.
    func client(_ name: String, _ message: BusMessage) throws(ServiceRefusal) -> ServiceClient? {
        if let client = holdings.clients[name] { return client }
        if let waiting = arriving[name] {
            guard waiting.count < SecretService.mostArriving.ofOne else { throw CallTurns.tooMany }
            try wait(name, message)
            return nil
        }
        guard let process = try? BusNames(on: connection).process(of: name), process > 0 else { throw .denied }
        switch DoorClient.Look(process) {
        case .known(nil): throw .denied
        case .known(let found?): return enter(name, found)
        case .takesLong:
            try wait(name, message)
            Task {
                let found = await DoorWorker.run { DoorClient(process) }
                arrived(name, found)
            }
            return nil
        }
    }

    private func wait(_ name: String, _ message: BusMessage) throws(ServiceRefusal) {
        guard arriving.values.reduce(0, { $0 + $1.count }) < SecretService.mostArriving.ofAll else {
            throw CallTurns.tooMany
        }
        arriving[name, default: []].append(message)
    }

    /// - Parameter process: the client; `nil` if it has ended.
    func arrived(_ name: String, _ process: DoorClient?) {
        // `nil`: the connection has ended meanwhile, and nothing would free its state.
        guard let messages = arriving.removeValue(forKey: name) else { return }
        if let process { _ = enter(name, process) }
        for message in messages { process == nil ? refuse(message, .denied) : take(message) }
    }

    private func enter(_ name: String, _ process: DoorClient) -> ServiceClient {
        let client = ServiceClient(name: name, process: process)
        holdings.enter(client)
        return client
    }

    /// Frees all state of a client that has disconnected.
    func forgetClient(_ name: String) {
        arriving[name] = nil
        guard let (client, prompts) = holdings.remove(name) else { return }
        for number in prompts { asking.leave(.prompt(number)) }
        asking.leave(.search(name))
        let rest = holdings.clients.values
        if !rest.contains(where: { $0.memory == client.memory }) { memories.forget(client.memory) }
        if !rest.contains(where: { $0.process == client.process }) { views.remove(client.process) }
    }

    // MARK: Limits

    /// Makes room for a session or a prompt: ``ClientHoldings/makeRoom(for:)``.
    func makeRoom(for client: ServiceClient) throws(ServiceRefusal) {
        if let (prompt, owner) = try holdings.makeRoom(for: client) { dismiss(prompt, owner) }
    }

    /// Waits for the user, without blocking other calls.
    func waitAside<R: Sendable>(_ client: ServiceClient, _ body: () async -> R) async -> R {
        turns.beginSearch(of: client.program)
        let result = await body()
        turns.endSearch(of: client.program)
        return result
    }

    /// Makes room for a search that waits for the user.
    func checkWaiting(_ client: ServiceClient) throws(ServiceRefusal) {
        guard let most = try turns.programToGiveWay(to: client.program) else { return }
        guard asking.giveUpOne(of: most) else { throw CallTurns.tooMany }
    }

    /// Returns the placeholder of a search until the vault is unlocked.
    func standIn(
        for attributes: ProgramAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) throws(ServiceRefusal) -> ServiceObject {
        let number = try holdings.standIn(for: attributes, in: collection, client)
        return .search(collection ?? viewAtOnce(for: client).map { $0.collection($0.home) } ?? .login, number)
    }
}
