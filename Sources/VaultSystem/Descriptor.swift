// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import SystemPackage

/// An open file, pipe, socket or process, closed with its owner: the number of a closed descriptor may belong to
/// another file a moment later, so nothing else closes it.
///
/// An optional one in an actor is not closed when it is set to `nil` (Swift 6.3.1): a class owns it there.
@usableFromInline package struct Descriptor: ~Copyable, Sendable {
    /// Lent to calls of C while the value exists.
    package let number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) { self.number = number }

    /// Takes over the result of a function of CLinux: a descriptor, or a negated error number.
    package init(_ result: Int) throws(Errno) {
        guard result >= 0 else { throw Errno(rawValue: CInt(clamping: -result)) }
        number = Int32(clamping: result)
    }

    /// Opens a file; programs that this process starts do not inherit it.
    ///
    /// - Parameters:
    ///   - flags: of open(2); `O_CLOEXEC` is added.
    ///   - mode: of a file that is made, less the umask.
    ///   - directory: the start of a relative path.
    package init(opening path: String, _ flags: Int32, mode: UInt32 = 0, in directory: Int32 = AT_FDCWD) throws(Errno) {
        var result: Int
        repeat {
            result = unsafe clinux_openat(directory, path, flags | O_CLOEXEC, mode)
        } while result == -Int(EINTR)
        try self.init(result)
    }

    /// Makes a file of mode 0600 to be written.
    ///
    /// - Throws: `.fileExists` if the name is taken, also by a symbolic link.
    package init(making path: String) throws(Errno) {
        try self.init(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    deinit { Glibc.close(number) }

    /// Closes the descriptor before the end of its owner's scope.
    package consuming func close() {}

    /// Hands the descriptor over to a new owner.
    package consuming func take() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// The size in bytes of a regular file, and its permissions; `nil` for anything else.
    package var regularFile: (size: Int, mode: UInt32)? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (Int(status.st_size), UInt32(status.st_mode & 0o7777))
    }

    /// The process and the effective user at the other end of a connected socket, when they connected.
    package static func peer(of socket: Int32) -> (process: Int32, user: UInt32)? {
        var (process, user): (Int32, UInt32) = (0, 0)
        return unsafe clinux_peer(socket, &process, &user) == 0 ? (process, user) : nil
    }

    /// Reads to the end, or until `most` bytes were read. For bytes that are not secret.
    package func readAll(most: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(most, 65_536))
        while bytes.count < most {
            // The end of the room is as long as the rest: a pipe must keep the bytes after it.
            let start = part.count - min(part.count, most - bytes.count)
            var room = part.mutableSpan
            let count = try Descriptor.read(number, into: &room, from: start)
            guard count > 0 else { break }
            bytes += part[start..<start + count]
        }
        return bytes
    }
}

/// Both ends of a pipe; a child inherits only the end that it is given.
@frozen @usableFromInline package struct DescriptorPair: ~Copyable, Sendable {
    @usableFromInline package let reading: Descriptor
    @usableFromInline package let writing: Descriptor

    package init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        // The array has room for both.
        let result = unsafe ends.withUnsafeMutableBufferPointer { unsafe clinux_pipe($0.baseAddress) }
        guard result == 0 else { throw Errno(rawValue: CInt(clamping: -result)) }
        reading = Descriptor(owning: ends[0])
        writing = Descriptor(owning: ends[1])
    }
}

extension Errno {
    /// The system's text as a part of a sentence, such as `permission denied`.
    package var text: String { description.lowercased() }
}
