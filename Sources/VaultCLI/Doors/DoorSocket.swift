// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgentServer
internal import VaultSystem

/// The socket of a door: inherited from systemd, or made by this process, and removed with the value.
final class DoorSocket {
    /// The bound socket; not yet listening if it is this process's own.
    private let descriptor: Int32
    private var own: AgentSocket?

    private init(_ path: FilePath) throws {
        if let activated = DoorSocket.activated(at: path) {
            descriptor = activated
            return
        }
        do throws(AgentSocketError) {
            let made = try AgentSocket.make(path.isAbsolute ? path : FilePath(".").pushing(path))
            descriptor = made.descriptor
            own = consume made
        } catch { throw DoorSocket.failure(error, path) }
    }

    /// Opens a door at a socket.
    ///
    /// - Parameter open: returns `nil` if it cannot listen.
    /// - Throws: code 14 if another process listens there; 30.
    static func serve<D>(_ path: FilePath, _ open: (Int32) -> D?) throws -> DoorServing.Closing {
        var socket: DoorSocket? = try DoorSocket(path)
        var door = socket.flatMap { open($0.descriptor) }
        guard door != nil else { throw CommandError(.inputOutput, "cannot listen at '\(path.string.printable)'") }
        return {
            door = nil
            // Removes the socket.
            socket = nil
        }
    }

    /// Returns the descriptor passed by systemd for the path: sd_listen_fds(3).
    private static func activated(at path: FilePath) -> Int32? {
        guard ProcessEnvironment.variable("LISTEN_PID").flatMap({ Int32($0) }) == getpid(),
            let count = ProcessEnvironment.variable("LISTEN_FDS").flatMap({ Int32($0) }), (1...16).contains(count)
        else { return nil }
        return (3..<3 + count).first { descriptor in
            var name = [UInt8](repeating: 0, count: 128)
            let length = unsafe clinux_unix_name(descriptor, 0, &name, name.count)
            return clinux_is_unix_listener(descriptor) == 1 && length > 0
                && name[..<length].elementsEqual(path.string.utf8)
        }
    }

    private static func failure(_ error: AgentSocketError, _ path: FilePath) -> CommandError {
        switch error {
        case .running:
            CommandError(
                .busy, "another process listens at '\(path.string.printable)'", hint: "see 'vault doors status'")
        case .noAddress: CommandError(.inputOutput, "there is no place for the socket")
        case .directory(let directory):
            CommandError(
                .inputOutput, "others may look into '\(directory.string.printable)'",
                hint: "a socket is in a directory of your own, mode 0700")
        case .inTheWay(let path):
            CommandError(.inputOutput, "'\(path.string.printable)' is there, and no socket of yours")
        case .system(let errno): .cannot("listen at '\(path.string.printable)'", errno)
        }
    }
}
