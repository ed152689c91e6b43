// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgentServer

/// The socket of a door: one that systemd has made, or of this process's own, which goes with it.
final class DoorSocket {
    /// Bound.
    let descriptor: Int32
    private var own: AgentSocket?

    init(_ path: FilePath) throws {
        guard path.string.hasPrefix("/") else {
            throw CommandError.usage("a door's socket has an absolute path", hint: "such as %t/vault/… in a unit")
        }
        if let activated = DoorSocket.activated(at: path) {
            descriptor = activated
            return
        }
        do throws(AgentSocketError) {
            let socket = try AgentSocket.make(path)
            descriptor = socket.descriptor
            own = consume socket
        } catch .running {
            throw CommandError(.busy, "another process listens at '\(path.string.printable)'")
        } catch { throw CommandError(error, of: "door") }
    }

    /// One of those that systemd has handed over: sd_listen_fds(3).
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
}
