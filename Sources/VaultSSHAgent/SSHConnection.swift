// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultLoop

/// A client of the agent's socket, whose requests are answered in order.
final class SSHConnection: SocketClient {
    private struct State: ~Copyable {
        /// The session; `nil` if nothing was received yet, and the client is not identified.
        var session: SSHSession?
        var inbox: SSHInbox
    }

    private let descriptor: Int32
    private let agent: SSHAgent
    private let state: Mutex<State>
    private let line = SSHLine()

    /// The timeout for a client that does not read its answer, in seconds.
    static let patience = 10

    /// Fails for another user's client, or without memory.
    init?(_ peer: borrowing Listener.Peer, _ agent: SSHAgent) {
        guard peer.user == geteuid(), let inbox = try? SSHInbox() else { return nil }
        (descriptor, self.agent) = (peer.descriptor, agent)
        state = Mutex(State(session: nil, inbox: inbox))
    }

    func hangUp() { line.end() }

    /// A connection that is bound to a host cannot be replaced by its client in the middle of an authentication.
    var use: Places.Use { state.withLock { $0.session?.isBound == true ? .held : .idle } }

    func serve() -> Bool {
        state.withLock { state in
            let received = state.inbox.fill { room in
                // The kernel writes at most the size of the buffer.
                unsafe room.withUnsafeMutableBytes {
                    unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
            }
            guard received > 0 else {
                if received < 0, [EAGAIN, EINTR].contains(errno) { return true }
                if let session = state.session { agent.end(session) }
                return false
            }
            // Identified on this thread, where waiting blocks no other client.
            guard var session = state.session ?? DoorClient(peer: descriptor).map({ SSHSession($0) }) else {
                return false
            }
            var isRead = true
            do throws(SSHRefusal) {
                try state.inbox.drain { request in
                    isRead = send(agent.answer(request, &session, line))
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
