// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Vault
internal import VaultAgent
internal import VaultCrypto
package import VaultDoorKit

/// A socket named by `LoadCredential=ID:SOCKET`, from which systemd gets the credentials of units.
package final class CredentialSocket {
    private let source: any DispatchSourceRead

    /// The size from which systemd rejects a credential, in bytes.
    private static let limit = 1 << 20
    /// The maximum number of clients served at once.
    private static let mostClients = 64
    /// The timeout for a client that does not read, in seconds: the unit waits as well.
    private static let patience = 5

    /// Listens on a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket. The value takes ownership and closes it.
    ///   - report: receives each refusal and its reason, for the journal.
    package init?(_ descriptor: Int32, house: any DoorHouse, report: @escaping @Sendable (String) -> Void) {
        guard listen(descriptor, SOMAXCONN) == 0 else {
            close(descriptor)
            return nil
        }
        let queue = DispatchQueue(label: "vault.credentials")
        let places = DispatchSemaphore(value: CredentialSocket.mostClients)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            let accepted = clinux_accept(descriptor, CredentialSocket.patience)
            // Without a free descriptor the client stays in the backlog, and the source would fire again at once.
            guard accepted >= 0 else {
                if [EMFILE, ENFILE].contains(Int32(-accepted)) { usleep(20_000) }
                return
            }
            let client = Int32(accepted)
            places.wait()
            DispatchQueue(label: "vault.credential").async {
                CredentialSocket.serve(client, house, report)
                close(client)
                places.signal()
            }
        }
        source.setCancelHandler(handler: { close(descriptor) })
        source.activate()
    }

    deinit { source.cancel() }

    private static func serve(_ client: Int32, _ house: any DoorHouse, _ report: (String) -> Void) {
        do throws(CredentialRefusal) {
            let secret = try secret(for: client, house)
            secret.withBytes { bytes in
                // The bytes are valid for the duration of the call.
                _ = unsafe bytes.withUnsafeBytes { unsafe clinux_send(client, $0.baseAddress, $0.count, 0) }
            }
        } catch {
            report(error.text)
            // Closing without a byte would start the unit with an empty credential; systemd refuses a credential of
            // this size.
            let zeros = [UInt8](repeating: 0, count: limit + 1)
            _ = unsafe clinux_send(client, zeros, zeros.count, 0)
        }
    }

    private static func secret(for client: Int32, _ house: any DoorHouse) throws(CredentialRefusal) -> Secret {
        let (request, peer) = try request(of: client)
        let found: Result<Secret, CredentialRefusal.Reason>
        do throws(VaultError) { found = try find(request, for: peer, house) } catch {
            switch error {
            case .locked: found = .failure(.locked)
            case .accessGroupDenied, .agent(.refused): found = .failure(.notAllowed)
            case .agent(.notRunning): found = .failure(.noAgent)
            default: found = .failure(.failed(error))
            }
        }
        do throws(CredentialRefusal.Reason) { return try found.get() } catch { throw CredentialRefusal(request, error) }
    }

    private static func find(
        _ request: CredentialRequest, for peer: DoorClient?, _ house: any DoorHouse
    ) throws(VaultError) -> Result<Secret, CredentialRefusal.Reason> {
        guard let agent = try house.agent(for: peer, in: [CredentialRequest.group]) else { return .failure(.noAgent) }
        guard agent.greeting.access == .full else { return .failure(.notAllowed) }
        for service in request.services {
            var query = Query(.genericPassword, service: service, account: request.id)
            query.attributes[.accessGroup] = .string(CredentialRequest.group)
            query.returnsSecrets = true
            guard let item = try agent.allMatching(query).first else { continue }
            guard let secret = try item.openedSecret(), secret.count > 0 else { return .failure(.empty) }
            return secret.count < limit ? .success(secret) : .failure(.tooLong)
        }
        return .failure(.absent)
    }

    /// Reads the request from the name of the client's socket. Every process may bind the name that systemd binds. A
    /// process of root is trusted. A process of the own user gets what the agent would give it: a process of the user's
    /// manager is the one that becomes the unit's, and is already in the unit's control group.
    ///
    /// - Returns: the request, and the client on whose behalf the agent is asked; `nil` for this process.
    private static func request(of client: Int32) throws(CredentialRefusal) -> (CredentialRequest, DoorClient?) {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(client, &process, &user) == 0, user == 0 || user == geteuid() else {
            throw CredentialRefusal(nil, .notSystemd)
        }
        var name = [UInt8](repeating: 0, count: 256)
        let count = unsafe clinux_unix_name(client, 1, &name, name.count)
        guard count > 0, let request = CredentialRequest(Array(name[..<count])) else {
            throw CredentialRefusal(nil, .notSystemd)
        }
        guard user == geteuid() else { return (request, nil) }
        guard let peer = DoorClient(peer: client) else { throw CredentialRefusal(request, .notSystemd) }
        return (request, peer)
    }
}

/// The reason why a unit does not get its credential.
private struct CredentialRefusal: Error {
    enum Reason: Error {
        case notSystemd, noAgent, locked, absent, empty, tooLong, notAllowed
        case failed(VaultError)
    }

    let request: CredentialRequest?
    let reason: Reason

    init(_ request: CredentialRequest?, _ reason: Reason) { (self.request, self.reason) = (request, reason) }

    /// The text for the journal: made of systemd's own names, in which a terminal finds no control characters.
    var text: String {
        let what = request.map { "the credential \($0.id) of \($0.unit)" } ?? "a credential"
        return "\(what) is refused: \(why)"
    }

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
