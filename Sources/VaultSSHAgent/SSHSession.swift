// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultDoorKit

/// The state of one connection: the hosts to which its requests belong, as announced by ssh(1) (PROTOCOL.agent:
/// session-bind@openssh.com).
struct SSHSession: Sendable {
    struct Binding: Equatable, Sendable {
        let host: SSHKeyName
        let session: [UInt8]
        /// Whether the host may forward requests of other hosts.
        let isForwarding: Bool
    }

    /// The process at the other end.
    let client: DoorClient
    private(set) var bindings: [Binding] = []
    /// Whether a host was announced without a valid proof.
    private var hasFailed = false
    /// The certificates removed together with their keys: ssh-add(1) removes the key first, and then its certificate.
    var removed: Set<[UInt8]> = [] { didSet { if removed.count > SSHSession.mostRemoved { removed = oldValue } } }
    /// Whether keys were listed for the login to the last host.
    private(set) var hasListed = false
    /// The last key that has signed for this login.
    private(set) var signed: SSHKeyName?

    private static let mostBindings = 16
    private static let mostRemoved = 64
    private static let longestSession = 128

    init(_ client: DoorClient) { self.client = client }

    /// Whether requests come from another machine, or may do so.
    var isForwarded: Bool { hasFailed || bindings.contains(where: \.isForwarding) }

    /// The host to which the connection logs in, also from another machine; `nil` if unknown.
    var target: SSHPublicKey? {
        guard !hasFailed, let last = bindings.last, !last.isForwarding else { return nil }
        return last.host.key
    }

    /// Notes that the client has got the keys from which it chooses.
    mutating func noteList() { if target != nil { hasListed = true } }

    /// Notes a signature, if it is for the login.
    mutating func note(signatureOf message: Span<UInt8>, by name: SSHKeyName) {
        guard target != nil, let request = try? SSHSignatureRequest(message, for: name),
            request.session == bindings.last?.session
        else { return }
        signed = name
    }

    /// Whether a host was announced.
    var isBound: Bool { hasFailed || !bindings.isEmpty }

    /// Records a host.
    ///
    /// - Throws: `.untrue` if the host has not signed the session; earlier records stay.
    mutating func bind(_ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        do throws(SSHRefusal) { try add(&reader, bytes) } catch {
            hasFailed = true
            throw error
        }
    }

    private mutating func add(_ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        let host = try SSHKeyName(bytes.extracting(try reader.string(bytes)))
        let session = try reader.string(bytes)
        let signature = try reader.string(bytes)
        let isForwarding = try reader.flag(bytes)
        try reader.finish()
        guard (1...SSHSession.longestSession).contains(session.count) else { throw .malformed }
        if case .certificate(let certificate) = host { try certificate.verify() }
        try host.key.verify(bytes.extracting(signature), of: bytes.extracting(session))
        let new = Binding(host: host, session: bytes.array(session), isForwarding: isForwarding)
        // A connection bound for an authentication cannot be bound to another host.
        guard bindings.allSatisfy(\.isForwarding) else { throw .denied }
        if let old = bindings.first(where: { $0.session == new.session }) {
            guard old.host == host else { throw .denied }
            return
        }
        guard bindings.count < SSHSession.mostBindings else { throw .denied }
        bindings.append(new)
    }

    /// Returns whether a key may be listed, or used for the requested user, on this connection.
    ///
    /// - Parameters:
    ///   - request: the data to be signed; `nil` if the key is only listed.
    ///   - seconds: since 1970.
    func permits(_ destinations: [SSHDestination], for request: SSHSignatureRequest?, at seconds: UInt64) -> Bool {
        guard !destinations.isEmpty else { return true }
        guard let last = bindings.last else {
            // Without a host the key is used on the agent's own host, which cannot be for an authentication.
            return !hasFailed && request == nil
        }
        if let request {
            guard !last.isForwarding, request.session == last.session,
                request.host.map({ $0 == last.host }) ?? (bindings.count == 1)
            else { return false }
        }
        var from: SSHKeyName?
        for (index, binding) in bindings.enumerated() {
            let isLast = index == bindings.count - 1
            guard isLast || binding.isForwarding else { return false }
            let user = isLast ? request?.user : nil
            guard destinations.contains(where: { $0.allows(from: from, to: binding.host, user: user, at: seconds) })
            else { return false }
            from = binding.host
        }
        // A key that may be used to reach a host, but not beyond, is not listed there.
        guard request == nil, last.isForwarding else { return true }
        return destinations.contains { $0.allows(from: last.host, to: nil, user: nil, at: seconds) }
    }
}

/// An authentication request to be signed (RFC 4252, 7; PROTOCOL: publickey-hostbound-v00@openssh.com).
struct SSHSignatureRequest: Equatable {
    let session: [UInt8]
    let user: String
    /// The host of the request; `nil` if absent.
    let host: SSHKeyName?

    /// - Parameter name: the signing key.
    /// - Throws: `.malformed` for any other data, and for a request with another key.
    init(_ bytes: Span<UInt8>, for name: SSHKeyName) throws(SSHRefusal) {
        var reader = SSHReader(bytes)
        session = try reader.data(bytes)
        guard !session.isEmpty, try reader.byte(bytes) == SSHSignatureRequest.messageType else { throw .malformed }
        user = try reader.text(bytes)
        guard try reader.text(bytes) == "ssh-connection" else { throw .malformed }
        let method = try reader.text(bytes)
        guard try reader.byte(bytes) == 1 else { throw .malformed }
        let algorithm = try reader.text(bytes)
        guard try SSHKeyName(bytes.extracting(try reader.string(bytes))) == name,
            SSHSignatureRequest.isAlgorithm(algorithm, of: name)
        else { throw .malformed }
        switch method {
        case "publickey": host = nil
        case "publickey-hostbound-v00@openssh.com":
            host = try SSHKeyName(bytes.extracting(try reader.string(bytes)))
        default: throw .malformed
        }
        try reader.finish()
    }

    /// SSH_MSG_USERAUTH_REQUEST
    private static let messageType: UInt8 = 50

    /// Returns whether the data begins like an authentication request.
    static func isOne(_ bytes: Span<UInt8>) -> Bool {
        var reader = SSHReader(bytes)
        return (try? reader.string(bytes)) != nil && (try? reader.byte(bytes)) == messageType
    }

    private static func isAlgorithm(_ algorithm: String, of name: SSHKeyName) -> Bool {
        guard name.key.isRSA else { return algorithm == name.type }
        let suffix = if case .certificate = name { "-cert-v01@openssh.com" } else { "" }
        return ["rsa-sha2-256" + suffix, "rsa-sha2-512" + suffix].contains(algorithm)
    }
}
