// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// The keys of the vault, through its agent.
final class VaultSSHKeyring: SSHKeyring {
    private let house: any DoorHouse
    /// On behalf of each client, in the order of their arrival: rules may come at any time, and are for the program
    /// that asks.
    private let agents = Mutex<[(client: DoorClient, agent: AgentClient)]>([])

    private static let mostAgents = 16

    init(_ house: any DoorHouse) { self.house = house }

    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey] {
        // Without a vault there is none that could be unlocked.
        guard house.hasVault else { return [] }
        return try with(client) { items throws(VaultError) in try items.keys() }
    }

    func key(_ key: SSHPublicKey, for client: DoorClient) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret)? {
        guard house.hasVault else { return nil }
        return try with(client) { items throws(VaultError) in try items.key(key) }
    }

    func keep(_ new: NewSSHKey, for client: DoorClient) throws(SSHRefusal) {
        let file = try new.file()
        let items = try items(for: client)
        do throws(VaultError) { try items.keep(new, file: file) } catch { throw refusal(error, client) }
    }

    func remove(_ name: SSHKeyName, for client: DoorClient) throws(SSHRefusal) -> SSHCertificate? {
        guard house.hasVault else { throw .denied }
        let removed = try with(client) { items throws(VaultError) in try items.remove(name) }
        guard removed.isFound else { throw .denied }
        return removed.certificate
    }

    private func with<R>(
        _ client: DoorClient, _ body: (SSHItems) throws(VaultError) -> R
    ) throws(SSHRefusal) -> R {
        let items = try items(for: client)
        do throws(VaultError) { return try body(items) } catch { throw refusal(error, client) }
    }

    /// In the user's own group, and for a client that is confined to other groups in those: in its group, every
    /// application could store a key that the user's programs would then offer to each host.
    private func items(for client: DoorClient) throws(SSHRefusal) -> SSHItems {
        let agent = try agent(for: client)
        return SSHItems(agent, in: client.sandbox == nil && agent.greeting.groups == nil ? "default" : nil)
    }

    private func agent(for client: DoorClient) throws(SSHRefusal) -> AgentClient {
        if let known = agents.withLock({ $0.first { $0.client == client }?.agent }) { return known }
        let found: AgentClient?
        do throws(VaultError) { found = try house.agent(for: client) } catch { throw SSHRefusal(error) }
        guard let agent = found else { throw .unavailable }
        guard agent.greeting.access == .full else { throw .denied }
        agents.withLock { agents in
            agents.append((client, agent))
            if agents.count > VaultSSHKeyring.mostAgents { agents.removeFirst() }
        }
        return agent
    }

    /// What an error of the agent's means; a connection that has ended is not used again.
    private func refusal(_ error: VaultError, _ client: DoorClient) -> SSHRefusal {
        if case .agent = error { agents.withLock { $0.removeAll { $0.client == client } } }
        return SSHRefusal(error)
    }
}

extension NewSSHKey {
    func file() throws(SSHRefusal) -> Secret {
        Secret(try key.file(comment: comment, check: UInt32.random(in: .min ... .max)))
    }
}

extension SSHRefusal {
    init(_ error: VaultError) {
        self =
            switch error {
            case .locked, .closed, .agent(.notRunning), .agent(.gone): .unavailable
            default: .denied
            }
    }
}
