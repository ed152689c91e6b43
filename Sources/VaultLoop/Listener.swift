// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import SystemPackage
package import VaultSystem

/// A listening socket, of which a ``SocketLoop`` waits for connections.
package final class Listener {
    /// A new connection, and the process that made it.
    package struct Peer: ~Copyable, Sendable {
        fileprivate let socket: Descriptor
        /// The process and its user at the time of the connection.
        package let process: Int32
        package let user: UInt32

        /// The connected socket, lent while it is open.
        package var descriptor: Int32 { socket.number }

        /// Hands the socket over to a new owner.
        package consuming func takeSocket() -> Descriptor { socket }
    }

    private let socket: Descriptor
    private let sendingPatience: Int
    /// No connection is accepted before this time: the process had no free descriptor.
    private var acceptsFrom: SuspendingClock.Instant?

    /// The most connections that are accepted before the others have their turn.
    package static let mostAtOnce = 64
    /// The pause after a failure to accept a connection.
    private static let pause = Duration.milliseconds(100)

    /// - Parameters:
    ///   - descriptor: a bound socket. Closed with the value, or if this throws.
    ///   - backlog: the most connections that wait to be accepted.
    ///   - sendingPatience: the timeout for sending to a client, in seconds; 0 for none.
    /// - Throws: the error of a system call.
    package init(_ descriptor: Int32, backlog: Int32, sendingPatience: Int = 0) throws(Errno) {
        let socket = Descriptor(owning: descriptor)
        // accept(2) on an inherited socket might block for a connection that has gone meanwhile.
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0, listen(descriptor, backlog) == 0 else {
            throw Errno(rawValue: errno)
        }
        self.socket = socket
        self.sendingPatience = sendingPatience
    }

    /// The events to wait for.
    package var wait: SocketLoop.Wait {
        if let acceptsFrom, acceptsFrom > .now { return SocketLoop.Wait(patience: Listener.pause) }
        return SocketLoop.Wait([(socket.number, .reading)])
    }

    /// Whether connections wait, by the events of ``wait``.
    package func isCalled(_ ready: [Int32: SocketLoop.Events]) -> Bool { ready[socket.number] != nil }

    /// Accepts a connection; `nil` if none waits, or no descriptor is free.
    package func accept() -> Peer? {
        while true {
            do throws(Errno) {
                let client = try Descriptor(clinux_accept(socket.number, sendingPatience))
                if let peer = Descriptor.peer(of: client.number) {
                    return Peer(socket: client, process: peer.process, user: peer.user)
                }
            } catch {
                guard error != .connectionAbort, error != .interrupted else { continue }
                // Without a free descriptor the client stays in the backlog, and its event would come again at once.
                if error != .wouldBlock { acceptsFrom = .now + Listener.pause }
                return nil
            }
        }
    }
}

extension SocketLoop.Wait {
    /// Waits for another value's events as well.
    package mutating func add(_ other: SocketLoop.Wait) {
        descriptors += other.descriptors
        patience = [patience, other.patience].compactMap(\.self).min()
    }
}
