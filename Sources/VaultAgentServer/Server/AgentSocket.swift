// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import SystemPackage
internal import Vault
internal import VaultSystem

/// The reason why an agent cannot listen.
package enum AgentSocketError: Error, Equatable, Sendable {
    /// Neither `$VAULT_AGENT_SOCK` nor `$XDG_RUNTIME_DIR` is set.
    case noAddress
    /// Another agent holds the directory.
    case running
    /// The directory belongs to another user, or is accessible to others.
    case directory(FilePath)
    /// The path of the socket is occupied by something other than a socket of the user.
    case inTheWay(FilePath)
    case system(Errno)
}

/// The socket of an agent: a private directory, a lock that one agent can hold, and the socket itself.
package struct AgentSocket: ~Copyable {
    /// A bound socket that does not listen yet.
    package let descriptor: Int32
    package let location: Location
    private let lock: Descriptor

    /// The path at which clients look for the socket.
    package struct Location: Sendable {
        fileprivate let path: FilePath
        fileprivate let socket: FileStatus

        /// Whether the path still leads to this socket: the directory is removed when its user logs out, and then no
        /// client can find the agent.
        package var isTaken: Bool { (try? FileStatus(at: path.string))?.isSameFile(as: socket) == true }
    }

    /// Makes the directory, mode 0700, and the socket, mode 0600. Replaces a socket without a listener.
    package static func make(_ path: FilePath) throws(AgentSocketError) -> AgentSocket {
        let directory = path.removingLastComponent()
        // The system or the user makes the directories above.
        do throws(Errno) { try Names.makeDirectory(directory.string) } catch {
            guard error == .fileExists else { throw .system(error) }
        }
        let place: FileStatus
        do throws(Errno) { place = try FileStatus(at: directory.string, followsLink: true) } catch {
            throw .system(error)
        }
        guard place.kind == .directory, place.owner == geteuid(), place.mode & 0o077 == 0 else {
            throw .directory(directory)
        }
        let name = directory.appending(".\(path.lastComponent?.string ?? "agent").lock").string
        let lock: Descriptor
        do throws(Errno) { lock = try Descriptor(opening: name, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600) } catch {
            throw .system(error)
        }
        guard clinux_lock(lock.number, CLINUX_LOCK_EXCLUSIVE) == 0 else { throw .running }
        // Only the agent that holds the lock may remove the old socket.
        if let old = try? FileStatus(at: path.string) {
            guard old.kind == .socket, old.owner == geteuid() else { throw .inTheWay(path) }
            // systemd may listen there for an agent that it has started, or will start.
            let other = unsafe clinux_connect_unix(path.string, 1)
            // A connection is closed at once.
            _ = try? Descriptor(other)
            guard CInt(-other) == ECONNREFUSED || CInt(-other) == ENOENT else { throw .running }
            try? Names.removeFile(path.string)
        }
        do throws(Errno) {
            let bound = try Descriptor(unsafe clinux_bind_unix(path.string))
            let location = Location(path: path, socket: try FileStatus(at: path.string))
            return AgentSocket(bound.take(), location, lock)
        } catch { throw .system(error) }
    }

    private init(_ descriptor: Int32, _ location: Location, _ lock: consuming Descriptor) {
        self.descriptor = descriptor
        self.location = location
        self.lock = lock
    }

    /// Removes the socket, unless another one has replaced it.
    deinit { if location.isTaken { try? Names.removeFile(location.path.string) } }

    /// The listening socket from systemd: `$LISTEN_PID` and `$LISTEN_FDS` of sd_listen_fds(3). `nil` if there is none
    /// for this process.
    package static var activated: Int32? {
        guard ProcessEnvironment.variable("LISTEN_PID").flatMap({ Int32($0) }) == getpid(),
            ProcessEnvironment.variable("LISTEN_FDS") == "1"
        else { return nil }
        // The first of the passed descriptors.
        return clinux_is_unix_listener(3) == 1 ? 3 : nil
    }
}
