// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// A handle of a process, which distinguishes it from a later process with the same number.
final class ProcessHandle: Sendable {
    private enum State: ~Copyable, Sendable {
        /// A descriptor of the process.
        case open(Descriptor)
        case ended
        /// The kernel does not provide descriptors of peers (before Linux 6.5).
        case unheld
    }

    private let state: State

    private init(_ state: consuming State) { self.state = state }

    /// - Parameter process: a descriptor of the process.
    convenience init(_ process: consuming Descriptor) { self.init(.open(process)) }

    /// - Parameter socket: a connected socket, whose peer is the process.
    convenience init(ofPeer socket: Int32) {
        let state: State
        do throws(Errno) { state = .open(try Descriptor(clinux_peer_process(socket))) } catch {
            state = error.rawValue == ENOPROTOOPT ? .unheld : .ended
        }
        self.init(state)
    }

    static let ended = ProcessHandle(.ended)
    static let unheld = ProcessHandle(.unheld)

    var hasEnded: Bool {
        switch state {
        case .open(let descriptor): clinux_has_ended(descriptor.number, 0) != 0
        case .ended: true
        case .unheld: false
        }
    }
}
