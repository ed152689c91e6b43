// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// A handle of a process, which distinguishes it from a later process with the same number.
final class ProcessHandle: Sendable {
    private enum State {
        /// A descriptor of the process.
        case open(Int32)
        case ended
        /// The kernel does not provide descriptors of peers (before Linux 6.5).
        case unheld
    }

    private let state: State

    private init(_ state: State) { self.state = state }

    /// - Parameter descriptor: a descriptor of the process, which the handle closes.
    convenience init(_ descriptor: Int32) { self.init(.open(descriptor)) }

    /// - Parameter socket: a connected socket, whose peer is the process.
    convenience init(ofPeer socket: Int32) {
        let descriptor = clinux_peer_process(socket)
        self.init(
            descriptor >= 0 ? .open(Int32(descriptor)) : Int32(-descriptor) == ENOPROTOOPT ? .unheld : .ended)
    }

    static let ended = ProcessHandle(.ended)
    static let unheld = ProcessHandle(.unheld)

    deinit { if case .open(let descriptor) = state { close(descriptor) } }

    var hasEnded: Bool {
        switch state {
        case .open(let descriptor): clinux_has_ended(descriptor, 0) != 0
        case .ended: true
        case .unheld: false
        }
    }
}
