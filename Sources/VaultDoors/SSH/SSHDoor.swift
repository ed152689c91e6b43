// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
package import Vault
internal import VaultCrypto

/// A socket that speaks the protocol of ssh-agent(1): the user's own programs sign by it with the keys of the vault,
/// and with those that they add.
package final class SSHDoor: Sendable {
    private let agent: SSHAgent
    private let listener: DoorSource
    private let timer = DoorTimer(on: "vault.ssh.timer")
    private let clients: Clients

    /// Those that are connected.
    private final class Clients: Sendable {
        private let connections = Mutex<[Int: SSHConnection]>([:])
        private let number = Atomic(0)

        func take(_ client: Int32, _ agent: SSHAgent) {
            guard connections.withLock(\.count) < SSHDoor.mostConnections else {
                _ = Glibc.close(client)
                return
            }
            let number = number.add(1, ordering: .relaxed).newValue
            let connection = SSHConnection(client, agent) { [weak self] in
                self?.connections.withLock { $0[number] = nil }
            }
            guard let connection else { return }
            connections.withLock { $0[number] = connection }
            connection.start()
        }

        func end() { for connection in connections.withLock({ Array($0.values) }) { connection.end() } }
    }

    /// The most clients at once: each shell on another machine that has the agent forwarded is one.
    static let mostConnections = 512

    /// Listens, for a vault's keys through its agent.
    ///
    /// - Parameters:
    ///   - descriptor: of a socket that is bound. It is closed with the value, or when this returns nil.
    ///   - keepsKeys: whether keys that are added without a lifetime go to the vault.
    package convenience init?(_ descriptor: Int32, _ house: any DoorHouse, keepsKeys: Bool) {
        self.init(descriptor, VaultSSHKeyring(house), HousePerson(house: house), keepsKeys: keepsKeys)
    }

    /// Listens for keys that go to an open vault.
    ///
    /// - Parameter descriptor: of a socket that is bound. It is closed with the value, or when this returns nil.
    package convenience init?(_ descriptor: Int32, _ store: any ItemStore) {
        self.init(descriptor, OpenSSHKeyring(store: store), NoPerson(), keepsKeys: true)
    }

    private init?(_ descriptor: Int32, _ keyring: any SSHKeyring, _ person: any SSHPerson, keepsKeys: Bool) {
        // One that was handed over may wait for a connection that has gone meanwhile.
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0, listen(descriptor, 128) == 0 else {
            _ = Glibc.close(descriptor)
            return nil
        }
        let (clients, timer) = (Clients(), timer)
        let agent = SSHAgent(keyring, person, keepsKeys: keepsKeys) { end in
            timer.move(to: end.map { ContinuousClock.now.duration(to: $0) })
        }
        (self.agent, self.clients) = (agent, clients)
        listener = DoorSource(descriptor, on: "vault.ssh") { _ in
            var client = clinux_accept(descriptor, SSHConnection.patience)
            while client >= 0 {
                clients.take(Int32(client), agent)
                client = clinux_accept(descriptor, SSHConnection.patience)
            }
            // Without a descriptor for it a client stays, and would be told of again at once.
            if [EMFILE, ENFILE].contains(Int32(-client)) { usleep(20_000) }
        } gone: {
            _ = Glibc.close(descriptor)
        }
        timer.start { [weak agent] in agent?.removeEnded() }
        listener.start()
    }

    deinit { close() }

    /// Nobody is asked, and nothing is signed any more; keys in memory are wiped.
    package func close() {
        listener.end()
        timer.end()
        clients.end()
        agent.close()
    }
}

/// The person of a door.
private struct HousePerson: SSHPerson {
    let house: any DoorHouse

    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome {
        guard house.hasVault, house.canAsk else { return .unavailable }
        return house.unlock(for: client, isForwarded: isForwarded, until: stop)
    }

    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        house.confirm(PromptQuestion(question), until: stop)
    }
}

/// Nobody: the vault is open.
private struct NoPerson: SSHPerson {
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome { .unavailable }

    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        .unavailable
    }
}

/// A vault that is open in this process, or by an agent, to which keys go. No key of it is used: any program of the
/// user may connect meanwhile, and the vault was not opened for that.
private struct OpenSSHKeyring: SSHKeyring {
    let store: any ItemStore

    private func trying<R>(_ body: (SSHItems) throws(VaultError) -> R) throws(SSHRefusal) -> R {
        do throws(VaultError) { return try body(SSHItems(store)) } catch { throw SSHRefusal(error) }
    }

    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey] { [] }

    func key(_ key: SSHPublicKey, for client: DoorClient) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret)? {
        throw .denied
    }

    func keep(_ new: NewSSHKey, for client: DoorClient) throws(SSHRefusal) {
        let file = try new.file()
        do throws(VaultError) { try SSHItems(store).keep(new, file: file) } catch { throw SSHRefusal(error) }
    }

    func remove(_ name: SSHKeyName, for client: DoorClient) throws(SSHRefusal) -> SSHCertificate? {
        let removed = try trying { items throws(VaultError) in try items.remove(name) }
        guard removed.isFound else { throw .denied }
        return removed.certificate
    }
}
