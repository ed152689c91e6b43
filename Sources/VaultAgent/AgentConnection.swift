// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto

/// A blocking socket to an agent: frames out, frames in. Secrets go between the socket and locked memory, and through nothing else.
struct AgentConnection: ~Copyable {
    private let descriptor: Int32
    /// In which process it was opened: a forked child must not speak in the middle of its parent's sentences.
    private let process = ForkMark.process
    private var number: UInt32 = 0

    /// How long an answer may take that needs neither a person nor a key derivation.
    private static let patience = 60

    /// - Returns: nil when nobody listens there.
    /// - Throws: `.agent(.refused)` when the one who listens is another user; `.agent(.busy)` when it accepts nobody.
    static func open(_ path: FilePath) throws(VaultError) -> AgentConnection? {
        let opened = unsafe clinux_connect_unix(path.string, patience)
        guard opened >= 0 else {
            switch Errno(rawValue: CInt(-opened)) {
            case .wouldBlock, .resourceTemporarilyUnavailable: throw .agent(.busy)
            case .permissionDenied: throw .agent(.refused)
            default: return nil
            }
        }
        let connection = AgentConnection(Int32(opened))
        var (peer, user): (Int32, UInt32) = (0, 0)
        // Whoever made the socket would be told the passphrase.
        guard unsafe clinux_peer(connection.descriptor, &peer, &user) == 0, user == geteuid() else { throw .agent(.refused) }
        return connection
    }

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Whether a request can be sent: the agent may have ended since the last one.
    var isUsable: Bool { process == ForkMark.process && clinux_is_out_of_step(descriptor) == 0 }

    /// - Throws: `.agent(.gone)`; `.storage` with `.attributesTooLarge` or `.valueTooLarge` for what fits into no frame.
    mutating func send(_ request: AgentRequest) throws(VaultError) {
        number &+= 1
        let frame = request.frame(number)
        guard frame.body.count <= Frame.longestBody else { throw .storage(.attributesTooLarge) }
        guard frame.secretsLength <= Frame.longestSecrets else { throw .storage(.valueTooLarge) }
        try send(frame.open.span, more: !frame.secrets.isEmpty)
        for (index, secret) in frame.secrets.enumerated() {
            try secret.withBytes { bytes throws(VaultError) in try self.send(bytes, more: index + 1 < frame.secrets.count) }
        }
    }

    private func send(_ bytes: Span<UInt8>, more: Bool) throws(VaultError) {
        // The span is as long as it says.
        let result = unsafe bytes.withUnsafeBytes { unsafe clinux_send(descriptor, $0.baseAddress, $0.count, more ? 1 : 0) }
        guard result == 0 else { throw .agent(.gone) }
    }

    /// - Parameter isPatient: a person may be asked, or a disk be slow.
    mutating func receive(isPatient: Bool) throws(VaultError) -> AgentReply {
        clinux_set_patience(descriptor, isPatient ? 0 : Self.patience)
        let bytes = try receive(Frame.headLength)
        do throws(MessageError) {
            let head = try MessageHead(bytes.span)
            // Number 0 answers a connection, and not a request of its.
            guard head.number == number || head.number == 0 else { throw .invalid }
            let body: [UInt8]
            var secrets: Secret?
            do throws(VaultError) {
                body = try receive(head.bodyLength)
                if head.secretsLength > 0 { secrets = try receiveSecret(head.secretsLength) }
            } catch {
                throw .truncated
            }
            return try AgentReply(Frame(head, body: body, secrets: secrets))
        } catch {
            throw .agent(error == .truncated ? .gone : .protocolViolation)
        }
    }

    private func receive(_ count: Int) throws(VaultError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // The array has `count` bytes.
        let received = unsafe bytes.withUnsafeMutableBytes { unsafe clinux_receive(descriptor, $0.baseAddress, count) }
        guard received == count else { throw .agent(.gone) }
        return bytes
    }

    private func receiveSecret(_ count: Int) throws(VaultError) -> Secret {
        var secret: SecretBytes
        do throws(CryptoError) { secret = try SecretBytes(zeroed: count) } catch { throw .storage(.resourceUnavailable) }
        let received = secret.withMutableBytes { bytes in
            // The span has `count` bytes.
            unsafe bytes.withUnsafeMutableBytes { unsafe clinux_receive(descriptor, $0.baseAddress, count) }
        }
        guard received == count else { throw .agent(.gone) }
        return Secret(secret)
    }
}
