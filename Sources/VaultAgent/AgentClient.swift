// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
public import SystemPackage
public import Vault

/// A vault that an agent keeps open, with the four verbs through its socket. This process never has a key.
///
/// Threads may share a client, whose requests are serialized. After a restart of the agent, the next request connects
/// to the new one.
///
/// Size: the verbs are one message each, in a file for each topic.
public final class AgentClient: OpenVault {
    /// The use of the secrets that a client requests.
    public enum Purpose: UInt8, Sendable {
        /// The secrets are shown, copied, or returned to the caller.
        case reveal = 1
        /// The secrets go to a command or into a file, unseen. An agent may limit a client to this purpose.
        case use
    }

    private let address: FilePath
    private let hello: any Hello
    private let connection: Mutex<Connected>
    private let howToAsk = Mutex(Asking.byDoor)
    private let unlocking = Mutex<(@Sendable (AgentClient) throws(VaultError) -> Void)?>(nil)
    private let isBound = Atomic(false)
    private let watching = Mutex<AgentWatch?>(nil)
    /// Whether the client is bound to a connection with a person's permission.
    let isAttended: Bool
    /// The agent's status at the time of the greeting.
    public let greeting: AgentStatus

    private struct Connected: ~Copyable {
        var connection: AgentConnection?
        /// The ticket of the connection, which precedes every request; `nil` if no person was asked.
        var ticket: Ticket?
    }

    /// Finds the agent of a vault.
    ///
    /// - Parameters:
    ///   - address: the agent's socket; `nil` if there is none.
    ///   - vault: the vault file; `nil` accepts the agent's vault.
    ///   - accessGroups: the caller's access groups; `nil` uses ``Vault/AccessGroups/ofProcess``, and for another
    ///     process the groups that the agent assigns.
    ///   - behalf: the process that the client speaks for; `nil` for itself. On every connection the client has only
    ///     the rights that both processes have, and none after the end of that process.
    /// - Throws: `.agent(.otherVault)`; `.agent(.refused)` if another user listens there, or the represented process
    ///   has ended or belongs to another user; `.agent(.busy)`.
    public convenience init?(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath?, accessGroups: AccessGroups?,
        purpose: Purpose = .reveal, behalf: Behalf? = nil
    ) throws(VaultError) {
        try self.init(
            at: address, vault: vault, accessGroups: accessGroups, givesWay: false, purpose: purpose, behalf: behalf)
    }

    /// Does the work of ``init(at:vault:accessGroups:purpose:behalf:)``.
    ///
    /// - Parameter givesWay: whether the groups are only the program's own topic and were not named by a person: then
    ///   the groups that the agent assigns replace them.
    package init?(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath?, accessGroups: AccessGroups?, givesWay: Bool,
        purpose: Purpose = .reveal, behalf: Behalf? = nil
    ) throws(VaultError) {
        guard let address else { return nil }
        self.address = address
        let named = accessGroups ?? .ofEnvironment
        var greeting = Greeting(vault: vault?.string ?? "", groups: named?.list, purpose: purpose)
        if let behalf {
            hello = BehalfHelloRequest(greeting: greeting, behalf: behalf)
        } else if named != nil, !givesWay {
            hello = HelloRequest(greeting)
        } else {
            greeting.groups = (named ?? .ofProcess).list
            hello = ProgramHelloRequest(greeting)
        }
        guard var connection = try AgentConnection.open(address) else { return nil }
        self.greeting = try AgentClient.greet(hello, on: &connection)
        self.connection = Mutex(Connected(connection: connection))
        isAttended = false
    }

    /// Makes a client with a person's permission.
    init(_ client: AgentClient, on connection: consuming AgentConnection, _ ticket: Ticket) {
        (address, hello, greeting) = (client.address, client.hello, client.greeting)
        self.connection = Mutex(Connected(connection: connection, ticket: ticket))
        isAttended = true
    }

    /// The way to ask a person when an item requires presence.
    package var asking: Asking {
        get { howToAsk.withLock { $0 } }
        set { howToAsk.withLock { $0 = newValue } }
    }

    /// Called once when a request finds the vault locked. The program unlocks the vault, and the request, of which
    /// nothing was done, is repeated. With `nil` the request throws `.locked`.
    package var whenLocked: (@Sendable (AgentClient) throws(VaultError) -> Void)? {
        get { unlocking.withLock { $0 } }
        set { unlocking.withLock { $0 = newValue } }
    }

    /// Whether the program relies on the rights in ``greeting``. If so, the first request under different rights throws
    /// `.agent(.gone)` or `.agent(.notRunning)`, and the client is of no further use.
    package var isBoundToRights: Bool {
        get { isBound.load(ordering: .relaxed) }
        set { isBound.store(newValue, ordering: .relaxed) }
    }

    /// Stores the ticket of the client's current connection.
    func keep(_ ticket: Ticket) { connection.withLock { $0.ticket = $0.connection == nil ? nil : ticket } }

    static func greet(_ hello: some Hello, on connection: inout AgentConnection) throws(VaultError)
        -> AgentStatus
    {
        do throws(VaultError) { return try connection.ask(hello, isPatient: false).value } catch {
            // Nothing was requested yet, so nothing can have happened.
            throw error == .agent(.gone) ? .agent(.busy) : error
        }
    }

    // MARK: Requests

    /// Sends a request and waits for the reply.
    ///
    /// - Parameter isPatient: whether the wait has no limit, since a person may be asked, or a disk may be slow.
    func ask<Request: AgentRequest>(_ request: Request, isPatient: Bool = true) throws(VaultError) -> Request.Reply {
        try exchange([request], isPatient: isPatient)[0]
    }

    func items<Request: AgentRequest>(_ request: Request) throws(VaultError) -> [Item]
    where Request.Reply == ItemsReply {
        var items: [Item] = []
        for part in try exchange([request], until: \.isLast) {
            for stored in part.items {
                guard let item = Item(stored, self) else { throw .agent(.protocolViolation) }
                items.append(item)
            }
        }
        return items
    }

    func item<Request: AgentRequest>(_ request: Request) throws(VaultError) -> Item where Request.Reply == ItemsReply {
        guard let item = try items(request).first else { throw .agent(.protocolViolation) }
        return item
    }

    func count<Request: AgentRequest>(_ request: Request) throws(VaultError) -> Int
    where Request.Reply == CountReply {
        Int(clamping: try ask(request).count)
    }

    /// Sends requests that belong together, and reads the replies. Requests that only read are repeated once if the
    /// agent has dropped the connection. After a refusal because of a locked vault, the requests are repeated once
    /// after ``whenLocked``.
    ///
    /// - Parameter isLast: whether a reply is the last one.
    /// - Returns: one or more replies.
    func exchange<Request: AgentRequest>(
        _ requests: [Request], isPatient: Bool = true, until isLast: (Request.Reply) -> Bool = { _ in true }
    ) throws(VaultError) -> [Request.Reply] {
        do throws(VaultError) { return try exchangeSurely(requests, isPatient, isLast) } catch {
            guard error == .locked, let unlock = unlocking.withLock({ $0.take() }) else { throw error }
            try unlock(self)
            return try exchangeSurely(requests, isPatient, isLast)
        }
    }

    private func exchangeSurely<Request: AgentRequest>(
        _ requests: [Request], _ isPatient: Bool, _ isLast: (Request.Reply) -> Bool
    ) throws(VaultError) -> [Request.Reply] {
        do throws(VaultError) { return try exchangeOnce(requests, isPatient, isLast) } catch {
            guard error == .agent(.gone), Request.onlyReads else { throw error }
        }
        do throws(VaultError) { return try exchangeOnce(requests, isPatient, isLast) } catch {
            throw error == .agent(.gone) ? .agent(.notRunning) : error
        }
    }

    private func exchangeOnce<Request: AgentRequest>(
        _ requests: [Request], _ isPatient: Bool, _ isLast: (Request.Reply) -> Bool
    ) throws(VaultError) -> [Request.Reply] {
        let result: Result<[Request.Reply], VaultError> = connection.withLock { connected in
            do throws(VaultError) {
                var connection = try self.usable(&connected)
                if let ticket = connected.ticket { _ = try connection.ask(PresentRequest(ticket), isPatient: false) }
                for request in requests { try connection.send(request) }
                var replies: [Request.Reply] = []
                while true {
                    let reply: Result<Request.Reply, VaultError> = try connection.receive(isPatient: isPatient)
                    switch reply {
                    case .success(let reply):
                        replies.append(reply)
                        guard isLast(reply) else { continue }
                        connected.connection = consume connection
                        return .success(replies)
                    case .failure(let error):
                        // After such an error the agent has ended the connection.
                        if case .agent = error {} else { connected.connection = consume connection }
                        return .failure(error)
                    }
                }
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Returns the connection, or a new one: the agent may have been restarted.
    private func usable(_ connected: inout Connected) throws(VaultError) -> AgentConnection {
        if let connection = connected.connection.take(), connection.isUsable { return connection }
        // A person's permission ends with the connection.
        connected.ticket = nil
        guard !isAttended else { throw .presenceRequired }
        return try connect()
    }

    /// Returns the connection that carries changes, or a new one.
    func watch() throws(VaultError) -> AgentWatch {
        try watching.withLock { watching throws(VaultError) in
            if let watching, watching.isUsable { return watching }
            let new = AgentWatch(try connect())
            watching = new
            return new
        }
    }

    /// Opens another connection.
    func connect() throws(VaultError) -> AgentConnection {
        guard var another = try AgentConnection.open(address) else { throw .agent(.notRunning) }
        let status = try AgentClient.greet(hello, on: &another)
        guard !isBoundToRights || status.hasRights(of: greeting) else { throw .agent(.gone) }
        return another
    }
}
