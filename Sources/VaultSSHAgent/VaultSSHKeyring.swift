// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultDoorKit

/// The keys of the vault, accessed through its agent.
final class VaultSSHKeyring: SSHKeyring {
    private let house: any DoorHouse
    /// The connections on behalf of each client, oldest first: access rules may be added at any time, and apply to the
    /// calling program.
    private let agents = Mutex<[(client: DoorClient, agent: AgentClient)]>([])

    private static let mostAgents = 16

    init(_ house: any DoorHouse) { self.house = house }

    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey] {
        // Without a vault there is nothing to unlock.
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

    private func with<R>(_ client: DoorClient, _ body: (SSHItems) throws(VaultError) -> R) throws(SSHRefusal) -> R {
        let items = try items(for: client)
        do throws(VaultError) { return try body(items) } catch { throw refusal(error, client) }
    }

    /// Returns the items of the user's own group; for a client confined to other groups, those of its groups. In a
    /// group of its own, every application could store a key that the user's programs would then offer to each host.
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

    /// Maps an error of the agent; drops a connection that has ended.
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
