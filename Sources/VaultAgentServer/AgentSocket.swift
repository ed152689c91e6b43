// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
public import SystemPackage
internal import Vault

/// Why an agent cannot listen.
public enum AgentSocketError: Error, Equatable, Sendable {
    /// Neither `$VAULT_AGENT_SOCK` nor `$XDG_RUNTIME_DIR` is set.
    case noAddress
    /// Another agent has the directory.
    case running
    /// The directory belongs to another user, or others may look into it.
    case directory(FilePath)
    /// Something that is no socket of the user's lies where the socket should.
    case inTheWay(FilePath)
    case system(Errno)
}

/// The place where an agent listens: a directory of the user's own, a lock that only one agent holds, and the socket.
public struct AgentSocket: ~Copyable {
    /// Bound, and not listening yet.
    public let descriptor: Int32
    public let location: Location
    private let lock: Int32

    /// Where clients look for the socket.
    public struct Location: Sendable {
        fileprivate let path: FilePath
        fileprivate let device: dev_t
        fileprivate let inode: ino_t

        /// Whether it is still this socket that lies there: the directory goes when its user logs out, and nobody finds
        /// the agent any more.
        public var isTaken: Bool {
            var status = stat()
            return unsafe lstat(path.string, &status) == 0 && status.st_dev == device && status.st_ino == inode
        }
    }

    /// Makes the directory, mode 0700, and the socket, mode 0600. A socket that nobody listens at any more is replaced.
    public static func make(_ path: FilePath) throws(AgentSocketError) -> AgentSocket {
        let directory = path.removingLastComponent()
        // What lies above is the system's to make, or the user's.
        if unsafe mkdir(directory.string, 0o700) != 0, errno != EEXIST { throw .system(Errno(rawValue: errno)) }
        var status = stat()
        guard unsafe stat(directory.string, &status) == 0 else { throw .system(Errno(rawValue: errno)) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw .directory(directory)
        }
        let opened = unsafe clinux_openat(
            AT_FDCWD, directory.appending(".\(path.lastComponent?.string ?? "agent").lock").string,
            O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw .system(Errno(rawValue: CInt(-opened))) }
        let lock = Int32(opened)
        do throws(AgentSocketError) {
            guard clinux_lock(lock, CLINUX_LOCK_EXCLUSIVE) == 0 else { throw .running }
            // The agent that has the lock is the only one that may take the old socket away.
            if unsafe lstat(path.string, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else { throw .inTheWay(path) }
                // systemd may listen there for an agent that it has started, or will.
                let other = unsafe clinux_connect_unix(path.string, 1)
                if other >= 0 { close(Int32(other)) }
                guard other < 0, CInt(-other) == ECONNREFUSED || CInt(-other) == ENOENT else { throw .running }
                unsafe unlink(path.string)
            }
            let bound = unsafe clinux_bind_unix(path.string)
            guard bound >= 0 else { throw .system(Errno(rawValue: CInt(-bound))) }
            guard unsafe lstat(path.string, &status) == 0 else { throw .system(Errno(rawValue: errno)) }
            return AgentSocket(Int32(bound), Location(path: path, device: status.st_dev, inode: status.st_ino), lock)
        } catch {
            close(lock)
            throw error
        }
    }

    private init(_ descriptor: Int32, _ location: Location, _ lock: Int32) {
        self.descriptor = descriptor
        self.location = location
        self.lock = lock
    }

    /// Takes the socket away, unless another lies there by now.
    deinit {
        if location.isTaken { unsafe unlink(location.path.string) }
        close(lock)
    }

    /// The listening socket that systemd has made: `$LISTEN_PID` and `$LISTEN_FDS` of sd_listen_fds(3). Nil: there is
    /// none for this process.
    public static var activated: Int32? {
        guard ProcessEnvironment.variable("LISTEN_PID").flatMap({ Int32($0) }) == getpid(),
            ProcessEnvironment.variable("LISTEN_FDS") == "1"
        else { return nil }
        // The first of the descriptors that are handed over.
        return clinux_is_unix_listener(3) == 1 ? 3 : nil
    }
}
