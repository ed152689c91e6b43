// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import VaultCrypto

/// A client of the agent's socket. Its requests are answered one after the other, on a queue of their own: one that
/// waits for a person, or a client that does not read, keeps no other client waiting.
final class SSHConnection: Sendable {
    private struct State: ~Copyable {
        /// Nil: nothing has come yet, and nobody has looked who the client is.
        var session: SSHSession?
        var inbox: SSHInbox
    }

    private let descriptor: Int32
    private let agent: SSHAgent
    private let state: Mutex<State>
    private let source = Mutex<DoorSource?>(nil)
    private let hasEnded: @Sendable () -> Void

    /// How long a client may take to read an answer, in seconds.
    static let patience = 10

    /// Nil: another user's, or there is no memory. The descriptor is closed then.
    ///
    /// - Parameter hasEnded: called once.
    init?(_ descriptor: Int32, _ agent: SSHAgent, hasEnded: @escaping @Sendable () -> Void) {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(descriptor, &process, &user) == 0, user == geteuid(),
            let inbox = try? SSHInbox()
        else {
            close(descriptor)
            return nil
        }
        (self.descriptor, self.agent, self.hasEnded) = (descriptor, agent, hasEnded)
        state = Mutex(State(session: nil, inbox: inbox))
    }

    /// Answers until the client goes, which it keeps itself for.
    func start() {
        let source = DoorSource(descriptor, on: "vault.ssh.client") { source in
            if !self.receive() { source.end() }
        } gone: {
            close(self.descriptor)
            self.hasEnded()
        }
        self.source.withLock { $0 = source }
        source.start()
    }

    func end() { source.withLock(\.self)?.end() }

    /// - Returns: false: that was all.
    private func receive() -> Bool {
        state.withLock { state in
            let received = state.inbox.fill { room in
                // The kernel writes no more than the room has.
                unsafe room.withUnsafeMutableBytes {
                    unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
            }
            guard received > 0 else { return received < 0 && [EAGAIN, EINTR].contains(errno) }
            // Here, where it keeps no other client waiting.
            guard var session = state.session ?? DoorClient(peer: descriptor).map({ SSHSession($0) }) else {
                return false
            }
            var isRead = true
            do throws(SSHRefusal) {
                try state.inbox.drain { request in
                    isRead = send(agent.answer(request, &session, SSHLine(descriptor: descriptor)))
                    return isRead
                }
            } catch { isRead = false }
            state.session = session
            return isRead
        }
    }

    private func send(_ answer: [UInt8]) -> Bool {
        var frame: [UInt8] = []
        frame.reserveCapacity(answer.count + 4)
        frame.put(string: answer.span)
        return unsafe frame.withUnsafeBytes { unsafe clinux_send(descriptor, $0.baseAddress, $0.count, 0) } == 0
    }
}
