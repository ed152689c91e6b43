// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultSystem

/// A blocking socket to an agent, which sends and receives frames. Secrets pass only between the socket and locked
/// memory.
struct AgentConnection: ~Copyable {
    private let socket: Descriptor
    private var descriptor: Int32 { socket.number }
    /// The handle that ends the connection from another thread.
    let line: Line
    /// The process that opened the connection: a forked child must not write into its parent's frames.
    private let process = ForkMark.process
    /// The version of the protocol that is spoken here.
    private let version: UInt8
    /// The version of an agent that has refused this one.
    private(set) var otherVersion: UInt8?
    private var number: UInt32 = 0
    private var patience = patienceForGreeting
    private var inbox: Inbox

    /// The limit in seconds for an answer that needs neither a person nor a key derivation.
    private static let patience = 60
    /// The limit in seconds for a greeting: a later one comes from an agent that was suspended.
    private static let patienceForGreeting = 5

    /// - Parameter version: the version of the protocol that the agent speaks.
    /// - Returns: `nil` if no process listens there.
    /// - Throws: `.agent(.refused)` if the listener is another user; `.agent(.busy)` if it does not accept
    ///   connections.
    static func open(_ path: FilePath, version: UInt8 = Frame.version) throws(VaultError) -> AgentConnection? {
        let opened: Descriptor
        do throws(Errno) { opened = try Descriptor(unsafe clinux_connect_unix(path.string, patienceForGreeting)) } catch
        {
            switch error {
            case .wouldBlock, .resourceTemporarilyUnavailable: throw .agent(.busy)
            case .permissionDenied: throw .agent(.refused)
            default: return nil
            }
        }
        let inbox: Inbox
        do throws(CryptoError) { inbox = try Inbox(version: version) } catch {
            throw .storage(.resourceUnavailable)
        }
        let connection = AgentConnection(opened, inbox, version)
        // The process that made the socket would receive the passphrase.
        guard Descriptor.peer(of: connection.descriptor)?.user == geteuid() else { throw .agent(.refused) }
        return connection
    }

    private init(_ socket: consuming Descriptor, _ inbox: consuming Inbox, _ version: UInt8) {
        let descriptor = socket.number
        self.version = version
        self.socket = socket
        self.inbox = inbox
        line = Line(descriptor)
    }

    deinit { line.end() }

    /// A handle by which another thread ends a connection, or sends further requests on it. The number of a closed
    /// descriptor may belong to another file, so the handle drops it.
    final class Line: Sendable {
        private let descriptor: Mutex<Int32?>

        fileprivate init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        func hangUp() { descriptor.withLock { if let number = $0 { _ = shutdown(number, Int32(SHUT_RDWR)) } } }

        func end() { descriptor.withLock { $0 = nil } }

        /// Sends a request without secrets.
        ///
        /// - Throws: `.agent(.gone)`; `.storage(.attributesTooLarge)` for a request longer than a frame.
        func send(_ request: some AgentRequest, number: UInt32) throws(VaultError) {
            let frame = request.frame(number)
            guard frame.body.count <= Frame.longestBody else { throw .storage(.attributesTooLarge) }
            try descriptor.withLock { descriptor throws(VaultError) in
                guard let descriptor else { throw .agent(.gone) }
                try AgentConnection.send(frame.open.span, more: false, to: descriptor)
            }
        }
    }

    /// Whether a request can be sent: the agent may have ended since the last one.
    var isUsable: Bool { process == ForkMark.process && clinux_is_out_of_step(descriptor) == 0 }

    /// - Throws: `.agent(.gone)`; `.storage` with `.attributesTooLarge` or `.valueTooLarge` for a request longer than
    ///   a frame.
    mutating func send(_ request: some AgentRequest) throws(VaultError) {
        number &+= 1
        let frame = request.frame(number, version: version)
        guard frame.body.count <= Frame.longestBody else { throw .storage(.attributesTooLarge) }
        guard frame.secretsLength <= Frame.longestSecrets else { throw .storage(.valueTooLarge) }
        try AgentConnection.send(frame.open.span, more: !frame.secrets.isEmpty, to: descriptor)
        for (index, secret) in frame.secrets.enumerated() {
            try secret.withBytes { bytes throws(VaultError) in
                try AgentConnection.send(bytes, more: index + 1 < frame.secrets.count, to: self.descriptor)
            }
        }
    }

    private static func send(_ bytes: Span<UInt8>, more: Bool, to descriptor: Int32) throws(VaultError) {
        // The span has this length.
        let result = unsafe bytes.withUnsafeBytes {
            unsafe clinux_send(descriptor, $0.baseAddress, $0.count, more ? 1 : 0)
        }
        guard result == 0 else { throw .agent(.gone) }
    }

    /// Sends a request, and returns its only reply.
    ///
    /// - Parameter isPatient: like that of ``receive(isPatient:)``.
    mutating func ask<Request: AgentRequest>(
        _ request: Request, isPatient: Bool = true
    ) throws(VaultError) -> Request.Reply {
        try send(request)
        let reply: Result<Request.Reply, VaultError> = try receive(isPatient: isPatient)
        return try reply.get()
    }

    /// - Parameter isPatient: whether the wait has no limit, since a person may be asked, or a disk may be slow.
    /// - Returns: a reply, or the error of the agent's refusal.
    mutating func receive<Reply: AgentReply>(isPatient: Bool) throws(VaultError) -> Result<Reply, VaultError> {
        let frame = try receiveFrame(isPatient: isPatient)
        // Number 0 answers the connection instead of a request.
        guard frame.number == number || frame.number == 0 else { throw .agent(.protocolViolation) }
        do throws(MessageError) {
            guard frame.kind == FailureReply.kind else { return .success(try Reply(frame)) }
            return .failure(try FailureReply(frame).value)
        } catch { throw .agent(.protocolViolation) }
    }

    /// - Parameter isPatient: like that of ``receive(isPatient:)``.
    /// - Returns: the next frame, with any number and kind.
    /// - Throws: `.agent` with `.gone`, `.busy` after the timeout, `.olderVersion` or `.newerVersion`, or
    ///   `.protocolViolation`.
    mutating func receiveFrame(isPatient: Bool) throws(VaultError) -> Frame {
        let patience = isPatient ? 0 : number == 1 ? Self.patienceForGreeting : Self.patience
        if patience != self.patience {
            self.patience = patience
            clinux_set_patience(descriptor, patience)
        }
        do throws(MessageError) {
            while true {
                if let frame = try inbox.next() { return frame }
                let received: Int
                do throws(CryptoError) {
                    // The inbox has the room that it lends.
                    received = unsafe try inbox.fill { [descriptor] in unsafe clinux_receive_some(descriptor, $0, $1) }
                } catch { throw .tooLong }
                guard received > 0 else { throw received == Int(-EAGAIN) ? .late : .truncated }
            }
        } catch {
            switch error {
            case .truncated: throw .agent(.gone)
            case .late: throw .agent(.busy)
            case .otherVersion(let other):
                otherVersion = other
                throw .agent(other < version ? .olderVersion : .newerVersion)
            case .invalid, .tooLong: throw .agent(.protocolViolation)
            }
        }
    }
}
