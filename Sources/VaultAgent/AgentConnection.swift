// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultCrypto

/// A blocking socket to an agent: frames out, frames in. Secrets go between the socket and locked memory, and through
/// nothing else.
struct AgentConnection: ~Copyable {
    private let descriptor: Int32
    /// What ends the connection from another thread.
    let line: Line
    /// In which process it was opened: a forked child must not speak in the middle of its parent's sentences.
    private let process = ForkMark.process
    private var number: UInt32 = 0
    private var patience = patienceForGreeting
    private var inbox: Inbox

    /// How long an answer may take that needs neither a person nor a key derivation.
    private static let patience = 60
    /// How long a greeting may take: one that takes longer comes from an agent that was stopped.
    private static let patienceForGreeting = 5

    /// - Returns: nil when nobody listens there.
    /// - Throws: `.agent(.refused)` when the one who listens is another user; `.agent(.busy)` when it accepts nobody.
    static func open(_ path: FilePath) throws(VaultError) -> AgentConnection? {
        let opened = unsafe clinux_connect_unix(path.string, patienceForGreeting)
        guard opened >= 0 else {
            switch Errno(rawValue: CInt(-opened)) {
            case .wouldBlock, .resourceTemporarilyUnavailable: throw .agent(.busy)
            case .permissionDenied: throw .agent(.refused)
            default: return nil
            }
        }
        let inbox: Inbox
        do throws(CryptoError) { inbox = try Inbox() } catch {
            close(Int32(opened))
            throw .storage(.resourceUnavailable)
        }
        let connection = AgentConnection(Int32(opened), inbox)
        var (peer, user): (Int32, UInt32) = (0, 0)
        // The process that made the socket would be told the passphrase.
        guard unsafe clinux_peer(connection.descriptor, &peer, &user) == 0, user == geteuid() else {
            throw .agent(.refused)
        }
        return connection
    }

    private init(_ descriptor: Int32, _ inbox: consuming Inbox) {
        self.descriptor = descriptor
        self.inbox = inbox
        line = Line(descriptor)
    }

    deinit {
        line.end()
        close(descriptor)
    }

    /// Lets another thread end a connection that one waits on, or ask for more on it. The number of a descriptor that
    /// was closed may be another's already, and is not used any more then.
    final class Line: Sendable {
        private let descriptor: Mutex<Int32?>

        fileprivate init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        func hangUp() { descriptor.withLock { if let number = $0 { _ = shutdown(number, Int32(SHUT_RDWR)) } } }

        func end() { descriptor.withLock { $0 = nil } }

        /// Sends a request that names no secret.
        ///
        /// - Throws: `.agent(.gone)`; `.storage(.attributesTooLarge)` for what fits into no frame.
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

    /// - Throws: `.agent(.gone)`; `.storage` with `.attributesTooLarge` or `.valueTooLarge` for what fits into no
    ///   frame.
    mutating func send(_ request: some AgentRequest) throws(VaultError) {
        number &+= 1
        let frame = request.frame(number)
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
        // The span is as long as it says.
        let result = unsafe bytes.withUnsafeBytes {
            unsafe clinux_send(descriptor, $0.baseAddress, $0.count, more ? 1 : 0)
        }
        guard result == 0 else { throw .agent(.gone) }
    }

    /// - Parameter isPatient: a person may be asked, or a disk be slow.
    /// - Returns: a reply, or what the agent has refused the request with.
    mutating func receive<Reply: AgentReply>(isPatient: Bool) throws(VaultError) -> Result<Reply, VaultError> {
        let frame = try receiveFrame(isPatient: isPatient)
        // Number 0 answers a connection, and not a request of its.
        guard frame.number == number || frame.number == 0 else { throw .agent(.protocolViolation) }
        do throws(MessageError) {
            guard frame.kind == FailureReply.kind else { return .success(try Reply(frame)) }
            return .failure(try FailureReply(frame).value)
        } catch {
            throw .agent(.protocolViolation)
        }
    }

    /// - Parameter isPatient: as for ``receive(isPatient:)``.
    /// - Returns: the next frame, of whichever number and kind.
    /// - Throws: `.agent` with `.gone`, `.busy` for one that is late, `.protocolViolation`.
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
                } catch {
                    throw .tooLong
                }
                guard received > 0 else { throw received == Int(-EAGAIN) ? .late : .truncated }
            }
        } catch {
            throw .agent(error == .truncated ? .gone : error == .late ? .busy : .protocolViolation)
        }
    }
}
