// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultDoorKit
@testable import VaultSSHAgent

/// Keys, certificates and signatures made by OpenSSH 9.2 for these tests only.
enum SSHSamples {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().path() + "Samples/"
    static let keys = ["ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa2048", "rsa3072"]
    static let certified = ["ed25519", "ecdsa256", "rsa2048"]
    static let message = Array("a message that OpenSSH has signed".utf8)

    static func file(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: directory + name))) }

    static func key(_ name: String) throws -> SSHPrivateKey {
        try SSHPrivateKey.read(bytes: file(name))
    }

    /// Returns the blob of a line in authorized_keys(5) format.
    static func blob(_ name: String) throws -> [UInt8] {
        let parts = String(decoding: try file(name), as: UTF8.self).split(separator: " ")
        return Array(Data(base64Encoded: String(parts[1])) ?? Data())
    }

    static func name(_ name: String) throws -> SSHKeyName { try SSHKeyName(bytes: blob(name)) }

    /// The signatures with their key and flags.
    static func signatures() throws -> [(key: String, flags: UInt32, signature: [UInt8])] {
        String(decoding: try file("signatures.txt"), as: UTF8.self).split(separator: "\n").map { line in
            let parts = line.split(separator: " ")
            return (String(parts[0]), UInt32(parts[1]) ?? 0, Array(Data(base64Encoded: String(parts[2])) ?? Data()))
        }
    }

    /// Returns a request that adds a key, in ssh-add(1)'s form.
    ///
    /// - Parameter constraints: The constraints; `nil` for a request without constraints.
    static func adding(
        _ name: String, certificate: String? = nil, comment: String = "c", constraints: [UInt8]? = nil
    ) throws -> [UInt8] {
        try adding(name, certified: certificate.map { try blob($0) }, comment: comment, constraints: constraints)
    }

    /// - Parameter certified: The certificate in the wire format.
    static func adding(
        _ name: String, certified: [UInt8]?, comment: String = "c", constraints: [UInt8]? = nil
    ) throws -> [UInt8] {
        var buffer = try SecretBuffer()
        try key(name).put(to: &buffer)
        var numbers = try buffer.bytes().exposed
        if let blob = certified {
            // The certificate replaces the type and the public numbers.
            let plain = try key(name).publicKey
            var reader = SSHReader(numbers.span)
            _ = try reader.string(numbers.span)
            switch plain {
            case .ed25519: break
            case .foreign:
                for _ in 0..<2 { _ = try reader.string(numbers.span) }
            }
            numbers = Array(numbers[reader.offset...])
            var start: [UInt8] = []
            start.put(try SSHCertificate(blob.span).type)
            start.put(bytes: blob)
            numbers = start + numbers
        }
        var request: [UInt8] = [constraints == nil ? 17 : 25]
        request += numbers
        request.put(comment)
        return request + (constraints ?? [])
    }

    /// Returns the certificate of the Ed25519 key with another validity, in the wire format.
    static func certificate(valid: Range<UInt64>) throws -> [UInt8] {
        var blob = try blob("ed25519-cert.pub")
        var reader = SSHReader(blob.span)
        // The type, the nonce, and the key's number.
        for _ in 0..<3 { _ = try reader.string(blob.span) }
        _ = (try reader.longNumber(blob.span), try reader.number(blob.span))
        // The certificate's name, and the users.
        for _ in 0..<2 { _ = try reader.string(blob.span) }
        var dates: [UInt8] = []
        for date in [valid.lowerBound, valid.upperBound] {
            dates.put(UInt32(date >> 32))
            dates.put(UInt32(truncatingIfNeeded: date))
        }
        blob.replaceSubrange(reader.offset..<reader.offset + 16, with: dates)
        for _ in dates { _ = try reader.byte(blob.span) }
        // The options, the extensions, what is reserved, and the authority's key. Its signature is made anew.
        for _ in 0..<4 { _ = try reader.string(blob.span) }
        blob = Array(blob[..<reader.offset])
        blob.put(bytes: try key("authority").sign(blob))
        return blob
    }

    static func signing(_ name: String, _ message: [UInt8] = message, flags: UInt32 = 0) throws -> [UInt8] {
        var request: [UInt8] = [13]
        request.put(bytes: try blob(name))
        request.put(bytes: message)
        request.put(flags)
        return request
    }

    static func removing(_ name: String) throws -> [UInt8] {
        var request: [UInt8] = [18]
        request.put(bytes: try blob(name))
        return request
    }

    static func locking(_ locks: Bool, _ passphrase: String) -> [UInt8] {
        var request: [UInt8] = [locks ? 22 : 23]
        request.put(passphrase)
        return request
    }

    /// Returns a session binding, signed by the host or by `signer`.
    static func binding(
        _ host: String, session: [UInt8] = [1, 2, 3], signedBy signer: String? = nil, isForwarding: Bool = false
    ) throws -> [UInt8] {
        var request: [UInt8] = [27]
        request.put("session-bind@openssh.com")
        request.put(bytes: try blob(host))
        request.put(bytes: session)
        let signer = signer ?? String(host.prefix { $0 != "." && $0 != "-" })
        request.put(bytes: try key(signer).sign(session))
        return request + [isForwarding ? 1 : 0]
    }

    /// Returns the data that a client signs for authentication to a server.
    static func authentication(
        _ name: String, user: String = "ada", session: [UInt8] = [1, 2, 3], host: String? = nil,
        algorithm: String? = nil
    ) throws -> [UInt8] {
        var message: [UInt8] = []
        message.put(bytes: session)
        message.append(50)
        message.put(user)
        message.put("ssh-connection")
        message.put(host == nil ? "publickey" : "publickey-hostbound-v00@openssh.com")
        message.append(1)
        message.put(try algorithm ?? Self.name(name).type)
        message.put(bytes: try blob(name))
        if let host { message.put(bytes: try blob(host)) }
        return message
    }

    /// Encodes the permitted hops of a key: `(user, host, keys)` each.
    static func destinations(_ ways: [(from: Hop?, to: Hop)]) throws -> [UInt8] {
        var list: [UInt8] = []
        for way in ways {
            var one: [UInt8] = []
            for hop in [way.from, way.to] {
                var bytes: [UInt8] = []
                bytes.put(hop?.user ?? "")
                bytes.put(hop?.host ?? "")
                bytes.put("")
                for key in hop?.keys ?? [] {
                    bytes.put(bytes: try blob(key))
                    bytes.append(hop?.isAuthority == true ? 1 : 0)
                }
                one.put(bytes: bytes)
            }
            one.put("")
            list.put(bytes: one)
        }
        var constraint: [UInt8] = [255]
        constraint.put("restrict-destination-v00@openssh.com")
        constraint.put(bytes: list)
        return constraint
    }

    struct Hop {
        var user = ""
        var host: String
        var keys: [String]
        var isAuthority = false
    }

    static let failure: [UInt8] = [5]
    static let success: [UInt8] = [6]
}

// Arrays lend their spans for one call each: Swift 6.3.1 fails to compile a temporary's span in a call that throws.

extension [UInt8] {
    mutating func put(bytes: [UInt8]) { put(string: bytes.span) }
}

extension SSHKeyName {
    init(bytes: [UInt8]) throws(SSHRefusal) { try self.init(bytes.span) }
}

extension SSHCertificate {
    init(bytes: [UInt8]) throws(SSHRefusal) { try self.init(bytes.span) }
}

extension SSHPublicKey {
    func verify(_ signature: [UInt8], of message: [UInt8]) throws(SSHRefusal) {
        try verify(signature.span, of: message.span)
    }
}

extension SSHPrivateKey {
    static func read(bytes: [UInt8]) throws(SSHRefusal) -> SSHPrivateKey { try read(file: bytes.span) }

    func sign(_ message: [UInt8], _ flags: Flags = .sha512) throws(SSHRefusal) -> [UInt8] {
        try sign(message.span, flags)
    }
}

/// The keys in a test's vault.
final class FakeKeyring: SSHKeyring {
    private struct State {
        var isLocked = false
        var keys: [(key: StoredSSHKey, file: Secret)] = []
    }

    private let state = Mutex(State())

    var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    var kept: [StoredSSHKey] { state.withLock { state in state.keys.map { $0.key } } }

    private func check() throws(SSHRefusal) { if isLocked { throw .unavailable } }

    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey] {
        try check()
        return kept
    }

    func key(_ key: SSHPublicKey, for client: DoorClient) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret)? {
        try check()
        return state.withLock { state in state.keys.first { $0.key.publicKey == key } }
    }

    func keep(_ new: NewSSHKey, for client: DoorClient) throws(SSHRefusal) {
        let file = try new.file()
        try check()
        state.withLock { state in
            let old = state.keys.firstIndex { $0.key.publicKey == new.key.publicKey }
            let certificate = old.flatMap { state.keys[$0].key.certificate }
            let key = StoredSSHKey(
                publicKey: new.key.publicKey, certificate: new.certificate ?? certificate, comment: new.comment,
                isConfirmed: new.isConfirmed)
            if let old { state.keys[old] = (key, file) } else { state.keys.append((key, file)) }
        }
    }

    func remove(_ name: SSHKeyName, for client: DoorClient) throws(SSHRefusal) -> SSHCertificate? {
        try check()
        guard let index = kept.firstIndex(where: { $0.names.contains(name) }) else { throw .denied }
        let (key, file) = state.withLock { $0.keys.remove(at: index) }
        guard case .certificate = name else { return key.certificate }
        let plain = StoredSSHKey(
            publicKey: key.publicKey, certificate: nil, comment: key.comment, isConfirmed: key.isConfirmed)
        state.withLock { $0.keys.insert((plain, file), at: index) }
        return nil
    }
}

/// A test's clock and person.
final class TestPerson: SSHPerson {
    private struct State {
        var now = ContinuousClock.now
        var answers: [PromptOutcome] = []
        var asked: [[String]] = []
        var waits: [Duration] = []
        var whenAsked: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let keyring: FakeKeyring

    init(_ keyring: FakeKeyring) { self.keyring = keyring }

    var clock: SSHClock {
        SSHClock(
            now: { self.now }, seconds: { 1_800_000_000 },
            wait: { end in
                self.state.withLock { state in
                    state.waits.append(state.now.duration(to: end))
                    state.now = max(state.now, end)
                }
            })
    }

    var now: ContinuousClock.Instant { state.withLock { $0.now } }
    var waits: [Duration] { state.withLock { $0.waits } }
    var asked: [[String]] { state.withLock { $0.asked } }

    func pass(_ duration: Duration) { state.withLock { $0.now += duration } }

    func says(_ answers: [PromptOutcome]) { state.withLock { $0.answers = answers } }

    func whenAsked(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenAsked = body } }

    private func answer(_ question: [String]) -> PromptOutcome {
        let (outcome, body) = state.withLock { state in
            state.asked.append(question)
            return (state.answers.isEmpty ? .unavailable : state.answers.removeFirst(), state.whenAsked)
        }
        body?()
        return outcome
    }

    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome {
        let outcome = answer(Array(PromptQuestion.askerLines(client, isForwarded: isForwarded).dropFirst()))
        if outcome == .done { keyring.isLocked = false }
        return outcome
    }

    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        answer(question)
    }
}

/// An agent with a test's vault, clock and person.
final class SSHWorld: Sendable {
    let keyring = FakeKeyring()
    let agent: SSHAgent
    private let person: TestPerson
    static let client = DoorClient(process: 7, startTime: 1, program: "ssh", sandbox: nil)

    init(keepsKeys: Bool = false, order: SSHOrder = SSHOrder()) {
        let person = TestPerson(keyring)
        self.person = person
        agent = SSHAgent(keyring, person, keepsKeys: keepsKeys, clock: person.clock, order: order)
    }

    func pass(_ duration: Duration) { person.pass(duration) }

    /// The time until the next key expires.
    var nextEnd: Duration? { agent.nextEnd.map { person.now.duration(to: $0) } }

    var waits: [Duration] { person.waits }

    /// The questions to the person, without their common lines; a question for a passphrase has only those.
    var asked: [[String]] { person.asked }

    /// Scripts the person's answers, in order; afterwards the person is absent.
    func says(_ answers: PromptOutcome...) { person.says(answers) }

    func whenAsked(_ body: @escaping @Sendable () -> Void) { person.whenAsked(body) }

    /// Opens a connection.
    func connect() -> Line { Line(agent: agent) }

    final class Line {
        private let agent: SSHAgent
        private var session = SSHSession(SSHWorld.client)

        init(agent: SSHAgent) { self.agent = agent }

        func ask(_ request: [UInt8]) -> [UInt8] { agent.answer(request.span, &session) }

        func end() { agent.end(session) }

        /// The comments of the listed keys.
        func comments() throws -> [String] { try SSHWorld.identities(ask([11])).map(\.comment) }
    }

    static func identities(_ answer: [UInt8]) throws -> [(blob: [UInt8], comment: String)] {
        var reader = SSHReader(answer.span)
        guard try reader.byte(answer.span) == 12 else { throw SSHRefusal.malformed }
        let count = try reader.number(answer.span)
        var found: [([UInt8], String)] = []
        while !reader.isAtEnd {
            let blob = try reader.data(answer.span)
            found.append((blob, String(decoding: try reader.data(answer.span), as: UTF8.self)))
        }
        guard found.count == Int(count) else { throw SSHRefusal.malformed }
        return found
    }

    /// Whether an answer is a signature made by the key.
    static func isSignature(_ answer: [UInt8], by name: String, of message: [UInt8]) throws -> Bool {
        var reader = SSHReader(answer.span)
        guard try reader.byte(answer.span) == 14 else { return false }
        let signature = try reader.data(answer.span)
        try reader.finish()
        return (try? SSHSamples.name(name).key.verify(signature.span, of: message.span)) != nil
    }
}
