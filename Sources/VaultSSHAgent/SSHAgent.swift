// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultCrypto
internal import VaultFormat
internal import VaultDoorKit

/// Answers the requests of an ssh agent (draft-ietf-sshm-ssh-agent; OpenSSH's PROTOCOL.agent), with no other socket,
/// clock or vault than those passed to it.
///
/// Keys that programs add stay in this process, or are stored in the vault, whose keys are served as well. Threads may
/// share an agent: a request that waits for the user blocks only requests that wait for the same answer.
final class SSHAgent: Sendable {
    /// The maximum length of a request or an answer, in bytes, without the length field.
    static let longestFrame = 256 << 10
    private static let mostKeys = 1024
    private static let longestComment = 4096

    private struct State {
        /// The keys, in the order in which they were added.
        var keys: [MemorySSHKey] = []
        var lock = SSHLock()
    }

    private let state = Mutex(State())
    private let keyring: (any SSHKeyring)?
    private let questions: SSHQuestions
    private let keepsKeys: Bool
    private let clock: SSHClock
    private let order: SSHOrder
    private let report: @Sendable (SSHRefusal) -> Void

    /// - Parameters:
    ///   - keyring: the vault's keys; `nil` to keep keys in memory only.
    ///   - keepsKeys: whether added keys are stored in the vault.
    ///   - order: the keys that hosts have accepted.
    ///   - report: receives the reason why a key was not added, which the protocol does not carry.
    init(
        _ keyring: (any SSHKeyring)?, _ person: any SSHPerson, keepsKeys: Bool, clock: SSHClock = .system,
        order: SSHOrder = SSHOrder(), report: @escaping @Sendable (SSHRefusal) -> Void = { _ in }
    ) {
        (self.keyring, self.keepsKeys, questions) = (keyring, keepsKeys, SSHQuestions(person, clock))
        (self.clock, self.order, self.report) = (clock, order, report)
    }

    private enum Answer {
        static let failure: [UInt8] = [5]
        static let success: [UInt8] = [6]
        static let identities: UInt8 = 12
        static let signature: UInt8 = 14
        static let extensionFailure: [UInt8] = [28]
        static let extensionAnswer: UInt8 = 29
    }

    /// Answers a request. Waits for the vault's agent, and for the user.
    ///
    /// - Parameters:
    ///   - frame: a request without its length field. It may contain private keys.
    ///   - line: the connection of the request.
    /// - Returns: the answer, without its length field.
    func answer(_ frame: Span<UInt8>, _ session: inout SSHSession, _ line: SSHLine = SSHLine()) -> [UInt8] {
        removeEnded()
        var reader = SSHReader(frame)
        do throws(SSHRefusal) {
            let type = try reader.byte(frame)
            if state.withLock({ $0.lock.isLocked }), ![23, 27].contains(type) {
                return type == 11 ? identities([]) : Answer.failure
            }
            // Another machine may use keys, but neither lock nor unlock the agent, nor remove all keys.
            guard ![9, 19, 22, 23].contains(type) || !session.isForwarded else { throw .denied }
            switch type {
            case 11:
                try reader.finish()
                let keys = try visible(session, line)
                // A list without a choice, as of a locked vault, tells nothing about its keys.
                if keys.count > SSHOrder.untouched { session.noteList() }
                return identities(session.target.map { order.sorted(keys, for: $0, name: \.name) } ?? keys)
            case 13: return try sign(&reader, frame, &session, line)
            case 17, 25:
                do throws(SSHRefusal) { try add(&reader, frame, isConstrained: type == 25, session, line) } catch {
                    report(error)
                    throw error
                }
            case 18: try remove(&reader, frame, &session)
            // Request 9 removes all keys of version 1 of the protocol, of which there are none.
            case 19, 9:
                try reader.finish()
                if type == 19 { removeAll() }
            case 22, 23: try setLocked(type == 22, &reader, frame)
            // Allowed while the agent is locked: otherwise a forwarded connection would count as a local one later.
            case 27: return answerExtension(&reader, frame, &session)
            default: return Answer.failure
            }
            return Answer.success
        } catch { return Answer.failure }
    }

    // MARK: Looking

    private func visible(
        _ session: SSHSession, _ line: SSHLine
    ) throws(SSHRefusal) -> [(name: SSHKeyName, comment: [UInt8])] {
        let seconds = clock.seconds()
        let own = state.withLock(\.keys)
        var seen = Set(own.map(\.name))
        var visible = own.filter { session.permits($0.constraints.destinations, for: nil, at: seconds) }.map {
            (name: $0.name, comment: $0.comment)
        }
        // Keys in memory are served while the vault is locked as well.
        let stored =
            (try? unlocked(session, line) { keyring, client throws(SSHRefusal) in
                try keyring.keys(for: client)
            }) ?? []
        for key in stored {
            for name in key.names where seen.insert(name).inserted {
                visible.append((name, Array(key.comment.utf8)))
            }
        }
        // Offered, such a certificate would only use up one of the tries that a server allows.
        return visible.filter { !$0.name.isRefusedEverywhere(at: seconds) }
    }

    /// Lists as many keys as fit into an answer.
    private func identities(_ keys: [(name: SSHKeyName, comment: [UInt8])]) -> [UInt8] {
        var (body, count): ([UInt8], UInt32) = ([], 0)
        for key in keys {
            let blob = key.name.blob
            guard body.count + blob.count + key.comment.count + 13 <= SSHAgent.longestFrame else { continue }
            body.put(string: blob.span)
            body.put(string: key.comment.span)
            count += 1
        }
        var answer = [Answer.identities]
        answer.put(count)
        return answer + body
    }

    // MARK: Signing

    private func sign(
        _ reader: inout SSHReader, _ frame: Span<UInt8>, _ session: inout SSHSession, _ line: SSHLine
    ) throws(SSHRefusal) -> [UInt8] {
        let name = try SSHKeyName(frame.extracting(try reader.string(frame)))
        let message = frame.extracting(try reader.string(frame))
        let flags = SSHPrivateKey.Flags(rawValue: try reader.number(frame))
        try reader.finish()
        var signature: [UInt8] = []
        if let own = state.withLock({ $0.keys.first { $0.name == name } }) {
            if !own.constraints.destinations.isEmpty {
                let request = try SSHSignatureRequest(message, for: name)
                guard session.permits(own.constraints.destinations, for: request, at: clock.seconds()) else {
                    throw .denied
                }
            }
            if own.constraints.isConfirmed {
                try questions.confirm(own.name.key, String(decoding: own.comment, as: UTF8.self), session, line)
                // The key may have been removed, or have expired, while the user was asked.
                removeEnded()
                guard state.withLock({ state in !state.lock.isLocked && state.keys.contains { $0 === own } }) else {
                    throw .denied
                }
            }
            signature = try own.key.sign(message, flags)
        } else {
            signature = try signStored(name, message, flags, session, line)
        }
        session.note(signatureOf: message, by: name)
        var answer = [Answer.signature]
        answer.put(string: signature.span)
        return answer
    }

    private func signStored(
        _ name: SSHKeyName, _ message: Span<UInt8>, _ flags: SSHPrivateKey.Flags, _ session: SSHSession,
        _ line: SSHLine
    ) throws(SSHRefusal) -> [UInt8] {
        func find(_ line: SSHLine?) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret) {
            let found = try unlocked(session, line) { keyring, client throws(SSHRefusal) in
                try keyring.key(name.key, for: client)
            }
            guard let found, found.key.names.contains(name) else { throw .denied }
            return found
        }
        var found = try find(line)
        if found.key.isConfirmed {
            try questions.confirm(name.key, found.key.comment, session, line)
            // The vault may have been locked while the user was asked.
            found = try find(nil)
        }
        let key = try found.file.withBytes { file throws(SSHRefusal) in try SSHPrivateKey.read(file: file) }
        guard key.publicKey == name.key else { throw .untrue }
        return try key.sign(message, flags)
    }

    // MARK: Adding and removing

    private func add(
        _ reader: inout SSHReader, _ frame: Span<UInt8>, isConstrained: Bool, _ session: SSHSession, _ line: SSHLine
    ) throws(SSHRefusal) {
        var certificate: SSHCertificate?
        let key = try SSHPrivateKey(&reader, frame, certificate: &certificate)
        let comment = try reader.data(frame)
        guard comment.count <= SSHAgent.longestComment else { throw .malformed }
        let constraints = isConstrained ? try SSHConstraints(&reader, frame) : SSHConstraints()
        try reader.finish()
        let name = certificate.map { SSHKeyName.certificate($0) } ?? .plain(key.publicKey)
        let seconds = clock.seconds()
        let old = state.withLock { $0.keys.first { $0.name == name } }
        // A connection must not replace a key that it cannot see.
        guard old.map({ session.permits($0.constraints.destinations, for: nil, at: seconds) }) ?? true else {
            throw .denied
        }
        // A key from another machine is kept in memory only.
        if keepsKeys, constraints.lifetime == nil, constraints.destinations.isEmpty, !session.isForwarded {
            let new = NewSSHKey(
                key: key, certificate: certificate, comment: String(decoding: comment, as: UTF8.self),
                isConfirmed: constraints.isConfirmed)
            try keep(new, session, line)
            change { keys in keys.removeAll { $0.name == name } }
            return
        }
        let end = constraints.lifetime.map { clock.now() + .seconds($0) }
        let new = MemorySSHKey(key, name, comment, constraints, end: end)
        let isAdded = change { keys in
            if let index = keys.firstIndex(where: { $0.name == name }) {
                keys[index] = new
            } else {
                guard keys.count < SSHAgent.mostKeys else { return false }
                keys.append(new)
            }
            return true
        }
        guard isAdded else { throw .denied }
    }

    private func keep(_ new: NewSSHKey, _ session: SSHSession, _ line: SSHLine) throws(SSHRefusal) {
        guard let keyring else { throw .unavailable }
        do throws(SSHRefusal) { return try keyring.keep(new, for: session.client) } catch {
            guard error == .unavailable, unlock(session, line) else { throw error }
        }
        try keyring.keep(new, for: session.client)
    }

    private func remove(
        _ reader: inout SSHReader, _ frame: Span<UInt8>, _ session: inout SSHSession
    ) throws(SSHRefusal) {
        let name = try SSHKeyName(frame.extracting(try reader.string(frame)))
        try reader.finish()
        let seconds = clock.seconds()
        let seen = session
        let found = change { keys -> Bool? in
            guard let index = keys.firstIndex(where: { $0.name == name }) else { return nil }
            guard seen.permits(keys[index].constraints.destinations, for: nil, at: seconds) else { return false }
            keys.remove(at: index)
            return true
        }
        if let found {
            guard found else { throw .denied }
            return
        }
        if session.removed.remove(name.blob) != nil { return }
        // Another machine may use the vault's keys, but not delete them.
        guard let keyring, !session.isForwarded else { throw .denied }
        if let certificate = try keyring.remove(name, for: session.client) {
            session.removed.insert(certificate.blob)
        }
    }

    /// Removes the keys in memory: a key in the vault is deleted only by name.
    private func removeAll() { change { $0 = [] } }

    /// The time at which the next key in memory expires; `nil` if none does.
    var nextEnd: ContinuousClock.Instant? { state.withLock { $0.keys.compactMap(\.end).min() } }

    /// Removes the expired keys.
    func removeEnded() {
        let now = clock.now()
        let hasEnded = state.withLock { state in state.keys.contains { $0.hasEnded(at: now) } }
        if hasEnded { change { keys in keys.removeAll { $0.hasEnded(at: now) } } }
    }

    @discardableResult
    private func change<R: Sendable>(_ body: (inout [MemorySSHKey]) -> R) -> R {
        let (result, removed) = state.withLock { state in
            let old = state.keys
            return (body(&state.keys), old)
        }
        // The removed keys are wiped after the lock is released.
        withExtendedLifetime(removed) {}
        return result
    }

    // MARK: Locking

    private func setLocked(_ locks: Bool, _ reader: inout SSHReader, _ frame: Span<UInt8>) throws(SSHRefusal) {
        let passphrase = frame.extracting(try reader.string(frame))
        try reader.finish()
        guard !locks else {
            return try SSHPrivateKey.secured { () throws(CryptoError) in
                guard let lock = try SSHLock(passphrase) else { throw .authenticationFailed }
                state.withLock { $0.lock = lock }
            }
        }
        // Each attempt has a time of its own, later with each failure, even if many arrive at once.
        let now = clock.now()
        guard let moment = state.withLock({ $0.lock.nextTry(now) }) else { throw .denied }
        clock.wait(moment)
        let isRight = state.withLock { $0.lock.open(passphrase) }
        guard isRight else { throw .untrue }
    }

    // MARK: Extensions

    private func answerExtension(
        _ reader: inout SSHReader, _ frame: Span<UInt8>, _ session: inout SSHSession
    ) -> [UInt8] {
        let bind = "session-bind@openssh.com"
        do throws(SSHRefusal) {
            switch try reader.text(frame) {
            case bind:
                try session.bind(&reader, frame)
                return Answer.success
            case "query":
                try reader.finish()
                var answer = [Answer.extensionAnswer]
                for name in ["query", "query", bind] { answer.put(name) }
                return answer
            default: return Answer.extensionFailure
            }
        } catch { return Answer.extensionFailure }
    }

    // MARK: Asking

    /// Runs an operation on the vault's keys, and once more if the user unlocks the vault meanwhile.
    ///
    /// - Parameter line: the connection of the request; `nil` to not ask the user.
    private func unlocked<R>(
        _ session: SSHSession, _ line: SSHLine?,
        _ body: (any SSHKeyring, DoorClient) throws(SSHRefusal) -> R
    ) throws(SSHRefusal) -> R {
        guard let keyring else { throw .denied }
        do throws(SSHRefusal) { return try body(keyring, session.client) } catch {
            guard error == .unavailable, let line, unlock(session, line) else { throw error }
        }
        return try body(keyring, session.client)
    }

    private func unlock(_ session: SSHSession, _ line: SSHLine) -> Bool {
        questions.unlock(session, line) { (try? self.keyring?.keys(for: session.client)) != nil }
    }

    /// Notes that the client of a session has disconnected, as ssh(1) does after the login.
    func end(_ session: SSHSession) {
        guard let host = session.target, session.hasListed || session.signed != nil else { return }
        order.note(session.signed, at: host)
    }

    /// Cancels all questions, and wipes the keys in memory.
    func close() {
        questions.close()
        change { $0 = [] }
    }
}
