// SPDX-License-Identifier: Apache-2.0
package import Glibc
package import SystemPackage

/// The status of a file, as returned by `lstat`, `stat` or `fstat`.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Sendable { case regular, directory, symbolicLink, socket, characterDevice, other }

    package var kind: Kind
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    package var owner: UInt32
    package var group: UInt32
    /// The low twelve bits.
    package var mode: UInt32
    package var links: Int
    /// The time of the last modification, in seconds since 2001, by the file system's clock.
    package var modified: Double

    package init(
        kind: Kind, device: UInt64, inode: UInt64, size: Int, owner: UInt32, group: UInt32, mode: UInt32, links: Int,
        modified: Double = 0
    ) {
        self.kind = kind
        self.device = device
        self.inode = inode
        self.size = size
        self.owner = owner
        self.group = group
        self.mode = mode
        self.links = links
        self.modified = modified
    }

    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

extension FileStatus {
    private init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFSOCK: .socket
            case S_IFCHR: .characterDevice
            default: .other
            }
        self.init(
            kind: kind, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int(status.st_size),
            owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777, links: Int(status.st_nlink),
            modified: status.st_mtim.secondsSince2001)
    }

    /// The status of an open file.
    package init(of descriptor: borrowing Descriptor) throws(Errno) {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw Errno(rawValue: errno) }
        self.init(status)
    }

    /// The status of the file at a path.
    ///
    /// - Parameters:
    ///   - followsLink: whether a path that ends with a symbolic link stands for the link's target.
    ///   - directory: the start of a relative path.
    package init(at path: String, followsLink: Bool = false, in directory: Int32 = AT_FDCWD) throws(Errno) {
        var status = stat()
        let flags = followsLink ? 0 : AT_SYMLINK_NOFOLLOW
        guard unsafe fstatat(directory, path, &status, flags) == 0 else { throw Errno(rawValue: errno) }
        self.init(status)
    }
}

extension timespec {
    /// The time of a clock that counts from 1970, in seconds since 2001, which is 978,307,200 s later.
    package var secondsSince2001: Double { Double(tv_sec - 978_307_200) + Double(tv_nsec) / 1e9 }
}
