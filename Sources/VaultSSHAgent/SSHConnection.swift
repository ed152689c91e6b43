// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import VaultCrypto
internal import VaultDoorKit

/// A client of the agent's socket. Its requests are answered in order, on a queue of their own: a request that waits
/// for the user, or a client that does not read, blocks no other client.
final class SSHConnection: Sendable {
    private struct State: ~Copyable {
        /// The session; `nil` if nothing was received yet, and the client is not identified.
        var session: SSHSession?
        var inbox: SSHInbox
    }

    private let descriptor: Int32
    private let agent: SSHAgent
    private let state: Mutex<State>
    private let source = Mutex<DoorSource?>(nil)
    private let hasEnded: @Sendable () -> Void

    /// The timeout for a client that does not read its answer, in seconds.
    static let patience = 10

    /// Fails for another user's client, or without memory, and closes the descriptor.
    ///
    /// - Parameter hasEnded: called once, when the connection has ended.
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

    /// Answers requests until the client disconnects; the connection retains itself until then.
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

    /// - Returns: `false` if the connection is to end.
    private func receive() -> Bool {
        state.withLock { state in
            let received = state.inbox.fill { room in
                // The kernel writes at most the size of the buffer.
                unsafe room.withUnsafeMutableBytes {
                    unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
            }
            guard received > 0 else { return received < 0 && [EAGAIN, EINTR].contains(errno) }
            // Identified on this queue, where waiting blocks no other client.
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
