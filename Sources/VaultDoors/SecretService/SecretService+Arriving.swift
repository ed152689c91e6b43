// SPDX-License-Identifier: Apache-2.0
internal import VaultBus

// A look at each new client. The word of its sandbox may take a moment to read, which other clients do not wait for.

extension SecretService {
    /// The most messages of one client, and of all, that wait for a look at their client: each may have 16 MiB.
    private static let mostArriving = (ofOne: 8, ofAll: 32)

    /// Whom a connection of the bus belongs to.
    ///
    /// - Parameter message: what it has sent.
    /// - Returns: nil when that has to be found out; the message is taken then.
    func client(_ name: String, _ message: BusMessage) throws(ServiceRefusal) -> ServiceClient? {
        if let client = clients[name] { return client }
        if let waiting = arriving[name] {
            guard waiting.count < SecretService.mostArriving.ofOne else { throw .tooMany("too much waits already") }
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
            throw .tooMany("too much waits already")
        }
        arriving[name, default: []].append(message)
    }

    /// - Parameter process: nil: it has ended.
    func arrived(_ name: String, _ process: DoorClient?) {
        // Nil: the connection has gone meanwhile, and nothing would end what it has.
        guard let messages = arriving.removeValue(forKey: name) else { return }
        if let process { _ = enter(name, process) }
        for message in messages { process == nil ? refuse(message, .denied) : take(message) }
    }

    private func enter(_ name: String, _ process: DoorClient) -> ServiceClient {
        let client = ServiceClient(name: name, process: process)
        clients[name] = client
        return client
    }
}
