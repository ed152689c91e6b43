// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultAgent
internal import VaultCrypto
package import VaultDoorKit
internal import VaultLoop

/// A socket named by `LoadCredential=ID:SOCKET`, from which systemd gets the credentials of units.
package final class CredentialSocket {
    private let server: SocketServer

    /// Clients wait for a place: closing without a byte would start the unit with an empty credential. Each unit has a
    /// process of its own, with one connection at a time, so only other programs exceed their share. A client that does
    /// not read is disconnected soon, since the unit waits as well.
    private static let rules = SocketServer.Rules(
        servesAtOnce: true, Places(most: 64, .ofMachine), refusesMore: false, sendingPatience: 5)

    /// Listens on a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket. Closed with the value, or if this returns `nil`.
    ///   - report: receives each refusal and its reason, for the journal.
    package init?(_ descriptor: Int32, house: any DoorHouse, report: @escaping @Sendable (String) -> Void) {
        let reports = LimitedReport(report)
        let server = SocketServer(descriptor, CredentialSocket.rules) { peer in
            // systemd binds its socket to the request. Another program has no use for an answer.
            CredentialRequest(peer: peer.descriptor).map {
                CredentialClient(
                    descriptor: peer.descriptor, user: peer.user, request: $0, house: house, reports: reports)
            }
        }
        guard let server else { return nil }
        self.server = server
    }

    deinit { server.end() }
}

private struct CredentialClient: SocketClient {
    let descriptor: Int32
    let user: UInt32
    let request: CredentialRequest
    let house: any DoorHouse
    let reports: LimitedReport

    /// The size from which systemd rejects a credential, in bytes.
    private static let limit = 1 << 20

    func hangUp() {}

    func serve() -> Bool {
        do throws(CredentialRefusal) {
            let secret = try secret()
            secret.withBytes { bytes in
                // The bytes are valid for the duration of the call.
                _ = unsafe bytes.withUnsafeBytes { unsafe clinux_send(descriptor, $0.baseAddress, $0.count, 0) }
            }
        } catch {
            reports.note(error.text)
            // Closing without a byte would start the unit with an empty credential; systemd refuses a credential of
            // this size.
            let zeros = [UInt8](repeating: 0, count: CredentialClient.limit + 1)
            _ = unsafe clinux_send(descriptor, zeros, zeros.count, 0)
        }
        return false
    }

    private func secret() throws(CredentialRefusal) -> Secret {
        let client = try client()
        let found: Result<Secret, CredentialRefusal.Reason>
        do throws(VaultError) { found = try find(for: client) } catch {
            switch error {
            case .locked: found = .failure(.locked)
            case .accessGroupDenied, .agent(.refused): found = .failure(.notAllowed)
            case .agent(.notRunning): found = .failure(.noAgent)
            default: found = .failure(.failed(error))
            }
        }
        do throws(CredentialRefusal.Reason) { return try found.get() } catch { throw CredentialRefusal(request, error) }
    }

    private func find(for client: DoorClient?) throws(VaultError) -> Result<Secret, CredentialRefusal.Reason> {
        guard let agent = try house.agent(for: client, in: [CredentialRequest.group]) else { return .failure(.noAgent) }
        guard agent.greeting.access == .full else { return .failure(.notAllowed) }
        for service in request.services {
            var query = Query(.genericPassword, service: service, account: request.id)
            query.attributes[.accessGroup] = .string(CredentialRequest.group)
            query.returnsSecrets = true
            guard let item = try agent.allMatching(query).first else { continue }
            guard let secret = try item.openedSecret(), secret.count > 0 else { return .failure(.empty) }
            return secret.count < CredentialClient.limit ? .success(secret) : .failure(.tooLong)
        }
        return .failure(.absent)
    }

    /// Returns the client on whose behalf the agent is asked; `nil` for this process. Every process may bind the name
    /// that systemd binds. A process of root is trusted. A process of the own user gets what the agent would give it: a
    /// process of the user's manager is the one that becomes the unit's, and is already in the unit's control group.
    private func client() throws(CredentialRefusal) -> DoorClient? {
        guard user == 0 || user == geteuid() else { throw CredentialRefusal(request, .notSystemd) }
        guard user == geteuid() else { return nil }
        guard let client = DoorClient(peer: descriptor) else { throw CredentialRefusal(request, .notSystemd) }
        return client
    }
}

extension CredentialRequest {
    /// Reads the request from the name of the client's socket.
    fileprivate init?(peer descriptor: Int32) {
        var name = [UInt8](repeating: 0, count: 256)
        let count = unsafe clinux_unix_name(descriptor, 1, &name, name.count)
        guard count > 0 else { return nil }
        self.init(Array(name[..<count]))
    }
}

/// The reason why a unit does not get its credential.
private struct CredentialRefusal: Error {
    enum Reason: Error {
        case notSystemd, noAgent, locked, absent, empty, tooLong, notAllowed
        case failed(VaultError)
    }

    let request: CredentialRequest
    let reason: Reason

    init(_ request: CredentialRequest, _ reason: Reason) { (self.request, self.reason) = (request, reason) }

    /// The text for the journal: made of systemd's own names, in which a terminal finds no control characters.
    var text: String { "the credential \(request.id) of \(request.unit) is refused: \(why)" }

    private var why: String {
        switch reason {
        case .notSystemd: "it is not systemd that asks"
        case .noAgent: "no agent is running"
        case .locked: "the vault is locked"
        case .absent: "there is no such item in the access group \(CredentialRequest.group)"
        case .empty: "the item has no secret, or an empty one"
        case .tooLong: "systemd takes less than 1 MiB"
        case .notAllowed: "the agent's policy does not let this process read it"
        case .failed(let error): "\(error)"
        }
    }
}
