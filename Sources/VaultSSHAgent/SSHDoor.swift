// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
internal import VaultCrypto
package import VaultDoorKit
internal import VaultLoop

/// A socket with the protocol of ssh-agent(1), by which the user's programs sign with the keys of the vault, and with
/// those that they add.
package final class SSHDoor: Sendable {
    private let agent: SSHAgent
    private let server: SocketServer

    /// The clients at once: each shell on another machine with a forwarded agent is one. All those of a machine belong
    /// to the process of ssh that is connected to it.
    static let places = Places(most: 512, .ofMachine)

    /// Listens, and serves the keys of a vault through its agent.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket. Closed with the value, or if this returns `nil`.
    ///   - keepsKeys: whether keys added without a lifetime are stored in the vault.
    ///   - order: the file of the keys that hosts have accepted; `nil` to forget them with the value.
    ///   - note: receives the reason why a security key's key was not added.
    package convenience init?(
        _ descriptor: Int32, _ house: any DoorHouse, keepsKeys: Bool, order: FilePath? = nil,
        note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(
            descriptor, VaultSSHKeyring(house), HousePerson(house: house), keepsKeys: keepsKeys, SSHOrder(order), note)
    }

    /// Listens, and stores added keys in an open vault.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket. Closed with the value, or if this returns `nil`.
    ///   - note: as above.
    package convenience init?(
        _ descriptor: Int32, _ store: any ItemStore, note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(descriptor, OpenSSHKeyring(store: store), NoPerson(), keepsKeys: true, SSHOrder(), note)
    }

    private init?(
        _ descriptor: Int32, _ keyring: any SSHKeyring, _ person: any SSHPerson, keepsKeys: Bool,
        _ order: SSHOrder, _ note: @escaping @Sendable (String) -> Void
    ) {
        let reports = LimitedReport(note)
        let agent = SSHAgent(keyring, person, keepsKeys: keepsKeys, order: order) { refusal in
            if refusal == .securityKey { reports.note(SSHDoor.ofSecurityKey) }
        }
        let server = SocketServer(
            descriptor,
            SocketServer.Rules(
                servesAtOnce: false, SSHDoor.places, refusesMore: true,
                sendingPatience: SSHConnection.patience),
            chore: {
                agent.removeEnded()
                return agent.nextEnd
            },
            client: { SSHConnection($0, agent) })
        guard let server else { return nil }
        (self.agent, self.server) = (agent, server)
    }

    private static let ofSecurityKey =
        "a key of a security key (sk-…) was not added: ssh uses such a file without an agent (IdentityFile)"

    deinit { close() }

    /// Cancels all questions, stops signing, and wipes the keys in memory.
    package func close() {
        server.end()
        agent.close()
    }
}

/// The user, asked through a door's process.
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

/// No user to ask: the vault is open.
private struct NoPerson: SSHPerson {
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome { .unavailable }

    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        .unavailable
    }
}

/// A vault, opened by this process or by an agent, that only stores added keys. None of its keys is used: any program
/// of the user may connect meanwhile, and the vault was not opened for that.
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
