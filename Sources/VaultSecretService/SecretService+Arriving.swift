// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultDoorKit

// Identifies each new client. Reading the identity of its sandbox may take a moment, and must not block other clients.

extension SecretService {
    /// The maximum number of messages, of one client and of all, that wait for their client to be identified: each may
    /// have 16 MiB.
    private static let mostArriving = (ofOne: 8, ofAll: 32)

    /// Returns the client of a connection.
    ///
    /// - Parameter message: the message of the connection.
    /// - Returns: `nil` if the client must be identified first; the message is queued.
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
}
