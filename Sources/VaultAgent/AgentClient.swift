// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
public import SystemPackage
public import Vault

/// A vault that an agent keeps open: the four verbs through its socket. No key is ever on this side.
///
/// Threads may share a client; their requests go one after the other. When the agent was restarted, the next request
/// finds the new one.
public final class AgentClient: OpenVault {
    /// What becomes of the secrets that a client asks for.
    public enum Purpose: UInt8, Sendable {
        /// They are shown, copied, or handed to the caller.
        case reveal = 1
        /// They go to a command or into a file, and nobody sees them. An agent may let a client do this alone.
        case use
    }

    private let address: FilePath
    private let hello: any Hello
    private let connection: Mutex<Connected>
    private let howToAsk = Mutex(Asking.byDoor)
    private let unlocking = Mutex<(@Sendable (AgentClient) throws(VaultError) -> Void)?>(nil)
    private let isBound = Atomic(false)
    private let watching = Mutex<AgentWatch?>(nil)
    /// Whether it lives on a connection that a person has allowed something on, and on no other.
    let isAttended: Bool
    /// What the agent said of itself when the client found it.
    public let greeting: AgentStatus

    private struct Connected: ~Copyable {
        var connection: AgentConnection?
        /// Of that connection, which is shown with every request. Nil: no person was asked.
        var ticket: Ticket?
    }

    /// Finds the agent of a vault.
    ///
    /// - Parameters:
    ///   - address: its socket; nil: there is none.
    ///   - vault: the vault file; nil: whichever the agent has.
    ///   - accessGroups: those of the caller; nil: ``Vault/AccessGroups/ofProcess``, and for another process those that
    ///     the agent has for it.
    ///   - behalf: the process that the client speaks for; nil: itself. The agent lets it do what it would let both of
    ///     them do, on every connection that the client makes, and nothing more when that process has ended.
    /// - Throws: `.agent(.otherVault)`; `.agent(.refused)` when another user listens there, or the process to speak for
    ///   has ended or is another user's; `.agent(.busy)`.
    public convenience init?(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath?, accessGroups: AccessGroups?,
        purpose: Purpose = .reveal, behalf: Behalf? = nil
    ) throws(VaultError) {
        try self.init(
            at: address, vault: vault, accessGroups: accessGroups, givesWay: false, purpose: purpose, behalf: behalf)
    }

    /// As ``init(at:vault:accessGroups:purpose:behalf:)``.
    ///
    /// - Parameter givesWay: whether the groups are what the program is about, and nobody has named them: those that
    ///   the agent has for it count instead.
    package init?(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath?, accessGroups: AccessGroups?, givesWay: Bool,
        purpose: Purpose = .reveal, behalf: Behalf? = nil
    ) throws(VaultError) {
        guard let address else { return nil }
        self.address = address
        let named = accessGroups ?? .ofEnvironment
        var greeting = Greeting(vault: vault?.string ?? "", groups: named?.list, purpose: purpose)
        if let behalf {
            hello = BehalfHelloRequest(greeting, behalf)
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

    /// One that a person was asked for.
    init(_ client: AgentClient, on connection: consuming AgentConnection, _ ticket: Ticket) {
        (address, hello, greeting) = (client.address, client.hello, client.greeting)
        self.connection = Mutex(Connected(connection: connection, ticket: ticket))
        isAttended = true
    }

    /// How a person is asked when an item demands it.
    package var asking: Asking {
        get { howToAsk.withLock { $0 } }
        set { howToAsk.withLock { $0 = newValue } }
    }

    /// Called once, when a request finds the vault locked: the program is to unlock it, and the request is made again,
    /// of which nothing was done. Nil: the request ends with `.locked`.
    package var whenLocked: (@Sendable (AgentClient) throws(VaultError) -> Void)? {
        get { unlocking.withLock { $0 } }
        set { unlocking.withLock { $0 = newValue } }
    }

    /// Whether the rights of the ``greeting`` were decided by, and the client is of no more use once the agent says
    /// others: the request that would be the first by those ends with `.agent(.gone)` or `.agent(.notRunning)`.
    package var isBoundToRights: Bool {
        get { isBound.load(ordering: .relaxed) }
        set { isBound.store(newValue, ordering: .relaxed) }
    }

    /// Keeps what a person has allowed on the connection that the client has.
    func keep(_ ticket: Ticket) { connection.withLock { $0.ticket = $0.connection == nil ? nil : ticket } }

    private static func greet(_ hello: some Hello, on connection: inout AgentConnection) throws(VaultError)
        -> AgentStatus
    {
        let reply: Result<StatusReply, VaultError>
        do throws(VaultError) {
            try connection.send(hello)
            reply = try connection.receive(isPatient: false)
        } catch {
            // Nothing was asked for yet, so nothing may have happened.
            throw error == .agent(.gone) ? .agent(.busy) : error
        }
        return try reply.get().value
    }

    // MARK: Requests

    /// Sends a request and waits for the reply.
    ///
    /// - Parameter isPatient: a person may be asked, or a disk be slow.
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

    /// Sends requests that belong together and reads the replies. What only reads is asked once more when the agent has
    /// let the connection go: nobody needs to hear that a look may have happened or not. What the agent refuses since
    /// the vault is locked is asked once more by ``whenLocked``.
    ///
    /// - Parameter isLast: whether no reply comes after this one.
    /// - Returns: one reply or more.
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
                if let ticket = connected.ticket { try AgentClient.show(ticket, on: &connection) }
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
                        // The agent has ended the connection when it has said that.
                        if case .agent = error {} else { connected.connection = consume connection }
                        return .failure(error)
                    }
                }
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The connection, or a new one: the agent may have been restarted.
    private func usable(_ connected: inout Connected) throws(VaultError) -> AgentConnection {
        if let connection = connected.connection.take(), connection.isUsable { return connection }
        // What a person has allowed ends with the connection.
        connected.ticket = nil
        guard !isAttended else { throw .presenceRequired }
        return try connect()
    }

    private static func show(_ ticket: Ticket, on connection: inout AgentConnection) throws(VaultError) {
        try connection.send(PresentRequest(ticket))
        let reply: Result<DoneReply, VaultError> = try connection.receive(isPatient: false)
        _ = try reply.get()
    }

    /// The connection on which changes are told, or a new one.
    func watch() throws(VaultError) -> AgentWatch {
        try watching.withLock { watching throws(VaultError) in
            if let watching, watching.isUsable { return watching }
            let new = AgentWatch(try connect())
            watching = new
            return new
        }
    }

    /// A connection of its own.
    func connect() throws(VaultError) -> AgentConnection {
        guard var another = try AgentConnection.open(address) else { throw .agent(.notRunning) }
        let status = try AgentClient.greet(hello, on: &another)
        guard !isBoundToRights || status.hasRights(of: greeting) else { throw .agent(.gone) }
        return another
    }
}
