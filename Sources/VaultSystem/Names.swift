// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SystemPackage

/// Calls of the system that make, change or remove a name in a directory, for code that needs no port to the disk.
package enum Names {
    /// Makes a directory with this mode, whatever the umask.
    package static func makeDirectory(_ path: String, mode: UInt32 = 0o700) throws(Errno) {
        guard unsafe mkdir(path, mode) == 0, unsafe chmod(path, mode) == 0 else { throw Errno(rawValue: errno) }
    }

    package static func makeSymbolicLink(_ path: String, to target: String) throws(Errno) {
        guard unsafe symlink(target, path) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Returns the text of a symbolic link, at most a path's length.
    package static func target(ofLink path: String) throws(Errno) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = unsafe readlink(path, &buffer, buffer.count)
        guard length >= 0 else { throw Errno(rawValue: errno) }
        return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes a directory that is empty.
    package static func removeDirectory(_ path: String) throws(Errno) {
        guard unsafe rmdir(path) == 0 else { throw Errno(rawValue: errno) }
    }

    package static func removeFile(_ path: String) throws(Errno) {
        guard unsafe unlink(path) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Replaces a file, or an empty directory, of the new name.
    package static func rename(_ path: String, to other: String) throws(Errno) {
        guard unsafe Glibc.rename(path, other) == 0 else { throw Errno(rawValue: errno) }
    }

    /// - Parameter rights: of access(2), such as `R_OK`.
    package static func checkAccess(_ path: String, _ rights: Int32) throws(Errno) {
        guard unsafe access(path, rights) == 0 else { throw Errno(rawValue: errno) }
    }
}
