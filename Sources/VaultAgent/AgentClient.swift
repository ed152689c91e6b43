// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
public import SystemPackage
public import Vault
public import VaultCrypto
public import VaultStorage

/// A vault that an agent keeps open: the four verbs through its socket. No key is ever on this side.
///
/// Threads may share a client; their requests go one after the other. When the agent was restarted, the next request
/// finds the new one.
public final class AgentClient: OpenVault {
    /// What becomes of the secrets that a client asks for.
    public enum Purpose: UInt8, Sendable {
        /// They are shown, copied, or handed to whoever asked.
        case reveal = 1
        /// They go to a command or into a file, and nobody sees them. An agent may let a client do this alone.
        case use
    }

    private let address: FilePath
    private let hello: AgentRequest
    private let connection: Mutex<Connected>
    /// What the agent said of itself when the client found it.
    public let greeting: AgentStatus

    private struct Connected: ~Copyable {
        var connection: AgentConnection?
    }

    /// Finds the agent of a vault.
    ///
    /// - Parameters:
    ///   - address: its socket; nil: there is none.
    ///   - vault: the vault file; nil: whichever the agent has.
    ///   - accessGroups: those of the caller; nil: ``Vault/AccessGroups/ofProcess``.
    /// - Throws: `.agent(.otherVault)`; `.agent(.refused)` when another user listens there; `.agent(.busy)`.
    public init?(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath?, accessGroups: AccessGroups?,
        purpose: Purpose = .reveal
    ) throws(VaultError) {
        guard let address else { return nil }
        self.address = address
        let named = accessGroups ?? .ofEnvironment
        hello = .hello(
            vault: vault?.string ?? "", groups: (named ?? .ofProcess).list, purpose: purpose, isNamed: named != nil)
        guard var connection = try AgentConnection.open(address) else { return nil }
        greeting = try AgentClient.greet(hello, on: &connection)
        self.connection = Mutex(Connected(connection: connection))
    }

    private static func greet(_ hello: AgentRequest, on connection: inout AgentConnection) throws(VaultError)
        -> AgentStatus
    {
        let reply: AgentReply
        do throws(VaultError) {
            try connection.send(hello)
            reply = try connection.receive(isPatient: false)
        } catch {
            // Nothing was asked for yet, so nothing may have happened.
            throw error == .agent(.gone) ? .agent(.busy) : error
        }
        switch reply {
        case .status(let status): return status
        case .failure(let error): throw error
        default: throw .agent(.protocolViolation)
        }
    }

    // MARK: Requests

    /// Asks once more for what only reads, when the agent has let the connection go: nobody needs to hear that a look
    /// may have happened or not.
    private func asking<R>(_ request: AgentRequest, _ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        do throws(VaultError) { return try body() } catch {
            guard error == .agent(.gone), request.onlyReads else { throw error }
        }
        do throws(VaultError) { return try body() } catch { throw error == .agent(.gone) ? .agent(.notRunning) : error }
    }

    /// Sends requests that belong together and reads replies until `take` has enough.
    ///
    /// - Parameter take: returns false after the last reply.
    private func exchange(
        _ requests: [AgentRequest], isPatient: Bool = false, _ take: (AgentReply) throws(VaultError) -> Bool
    ) throws(VaultError) {
        let result: Result<Void, VaultError> = connection.withLock { connected in
            do throws(VaultError) {
                var connection = try self.usable(connected.connection.take())
                for request in requests { try connection.send(request) }
                while true {
                    let reply = try connection.receive(isPatient: isPatient)
                    if case .failure(let error) = reply {
                        // The agent has ended the connection when it has said that.
                        if case .agent = error {} else { connected.connection = consume connection }
                        throw error
                    }
                    guard try take(reply) else { break }
                }
                connected.connection = consume connection
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// The connection, or a new one: the agent may have been restarted.
    private func usable(_ connection: consuming AgentConnection?) throws(VaultError) -> AgentConnection {
        if let connection, connection.isUsable { return connection }
        guard var another = try AgentConnection.open(address) else { throw .agent(.notRunning) }
        _ = try AgentClient.greet(hello, on: &another)
        return another
    }

    private func answer(_ request: AgentRequest, isPatient: Bool = false) throws(VaultError) -> AgentReply {
        try asking(request) { () throws(VaultError) in
            var answer = AgentReply.done
            try exchange([request], isPatient: isPatient) { reply throws(VaultError) in
                answer = reply
                return false
            }
            return answer
        }
    }

    func items(_ request: AgentRequest) throws(VaultError) -> [Item] {
        try asking(request) { () throws(VaultError) in
            var items: [Item] = []
            try exchange([request], isPatient: true) { reply throws(VaultError) in
                guard case .items(let part, let isLast) = reply else { throw .agent(.protocolViolation) }
                for stored in part {
                    guard let item = Item(stored, self) else { throw .agent(.protocolViolation) }
                    items.append(item)
                }
                return !isLast
            }
            return items
        }
    }

    func item(_ request: AgentRequest) throws(VaultError) -> Item {
        guard let item = try items(request).first else { throw .agent(.protocolViolation) }
        return item
    }

    func identifier(_ request: AgentRequest) throws(VaultError) -> UUID {
        guard case .identifier(let identifier) = try answer(request, isPatient: true) else {
            throw .agent(.protocolViolation)
        }
        return identifier
    }

    func count(_ request: AgentRequest) throws(VaultError) -> Int {
        guard case .count(let count) = try answer(request, isPatient: true) else { throw .agent(.protocolViolation) }
        return Int(clamping: count)
    }

    private func done(_ request: AgentRequest) throws(VaultError) {
        guard case .done = try answer(request, isPatient: true) else { throw .agent(.protocolViolation) }
    }

    // MARK: The verbs

    @discardableResult
    public func add(_ item: Item) throws(VaultError) -> Item { try self.item(.add(item)) }

    @discardableResult
    public func set(_ item: Item) throws(VaultError) -> Item { try self.item(.set(item)) }

    public func copyMatching(_ query: Query) throws(VaultError) -> [Item] { try items(.copyMatching(query)) }

    @discardableResult
    public func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int {
        try count(.update(query, changes))
    }

    @discardableResult
    public func delete(matching query: Query) throws(VaultError) -> Int { try count(.delete(query)) }

    public func store(_ items: [Item], replacing: Bool) throws(VaultError) {
        var parts: [AgentRequest] = []
        var part: [Item] = []
        var size = 0
        for item in items {
            let itemSize = AgentRequest.size(of: item)
            if size + itemSize > AgentRequest.longestPart, !part.isEmpty {
                parts.append(.store(part, replacing: replacing, isLast: false))
                (part, size) = ([], 0)
            }
            part.append(item)
            size += itemSize
        }
        parts.append(.store(part, replacing: replacing, isLast: true))
        try exchange(parts, isPatient: true) { reply throws(VaultError) in
            guard case .done = reply else { throw .agent(.protocolViolation) }
            return false
        }
    }

    public func secret(of record: ItemRecord) throws(VaultError) -> Secret? {
        guard case .secret(let secret) = try answer(.secret(StoredItem.Key(record)), isPatient: true) else {
            throw .agent(.protocolViolation)
        }
        return secret
    }

    // MARK: The file

    public func compact() throws(VaultError) { try done(.compact) }

    public func verify(deep: Bool) throws(VaultError) -> VaultStore.Verification {
        guard case .verification(let result) = try answer(.verify(deep: deep), isPatient: true) else {
            throw .agent(.protocolViolation)
        }
        return result
    }

    // MARK: The agent

    /// What the agent says of itself. Asking is no use of it.
    public func status() throws(VaultError) -> AgentStatus {
        guard case .status(let status) = try answer(.status) else { throw .agent(.protocolViolation) }
        return status
    }

    /// Waits until nobody else is being asked for the passphrase.
    ///
    /// - Returns: what there is to do by then. Until this client goes, or has unlocked the vault, all others wait in
    ///   their turn.
    public func awaitTurn() throws(VaultError) -> AgentStatus {
        guard case .status(let status) = try answer(.awaitTurn, isPatient: true) else {
            throw .agent(.protocolViolation)
        }
        return status
    }

    /// - Throws: `.storage(.wrongPassphrase)`, and what opening a vault throws. Each failure makes the next attempt
    ///   wait longer.
    public func unlock(with secret: UnlockingSecret) throws(VaultError) { try done(.unlock(secret)) }

    /// Returns when the keys are wiped.
    public func lock() throws(VaultError) { try done(.lock) }

    /// After how many seconds without use the agent locks from now on; 0: never.
    public func setIdleLimit(_ seconds: UInt32) throws(VaultError) { try done(.setIdleLimit(seconds)) }

    /// Ends the agent: it wipes its keys and brings the vault in order first.
    public func stop() throws(VaultError) { try done(.stop) }

    /// - Returns: how many entries the audit log has, and the first that is not what was written.
    public func checkAuditLog() throws(VaultError) -> (entries: Int, firstChanged: Int?) {
        guard case .audit(let entries, let firstChanged) = try answer(.audit, isPatient: true) else {
            throw .agent(.protocolViolation)
        }
        return (Int(clamping: entries), firstChanged.map { Int(clamping: $0) })
    }
}
