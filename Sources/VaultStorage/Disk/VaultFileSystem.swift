// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultSystem

/// The port to the disk: all disk access of ``VaultStore`` goes through it, so that crashes can be enumerated.
package protocol VaultFileSystem: Sendable {
    /// The path with every symbolic link followed; its last component need not exist.
    func resolve(_ path: FilePath) throws(Errno) -> FilePath
    /// The directory to which relative paths refer.
    func workingDirectory() throws(Errno) -> FilePath
    /// Creates the directory and missing parents, mode 0700.
    func createDirectories(_ path: FilePath) throws(Errno)
    func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory
    /// The effective user.
    var user: UInt32 { get }
    /// Whether the user is the only member of the group.
    func isPrivateGroup(_ group: UInt32) -> Bool
    /// The largest file that this process may write (RLIMIT_FSIZE), or `Int.max`.
    var fileSizeLimit: Int { get }
    /// MemAvailable in bytes, if the system reports it.
    var availableMemory: UInt64? { get }
}

/// An open directory; names are single components.
package protocol VaultDirectory: AnyObject, Sendable {
    var path: FilePath { get }
    func status() throws(Errno) -> FileStatus
    /// Does not follow a symbolic link. `nil` if there is no such name.
    func status(of name: String) throws(Errno) -> FileStatus?
    /// Opens an existing file; does not follow a symbolic link or wait for a FIFO.
    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile
    /// Opens a file, created empty with mode 0600 if it does not exist.
    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile
    /// Creates a file, mode 0600 whatever the umask, with this name or unnamed until it is installed.
    func createTemporary(_ name: String) throws(Errno) -> any VaultFile
    /// Gives a temporary file its final name.
    ///
    /// - Throws: `.fileExists` if the name is taken and must not be replaced.
    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno)
    func remove(_ name: String) throws(Errno)
    /// Calls the body with each name without keeping it, unordered. A name added or removed meanwhile may be included
    /// or not.
    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno)
    /// Opens a directory in this one; does not follow a symbolic link.
    func directory(_ name: String) throws(Errno) -> any VaultDirectory
    /// Creates a directory in this one, mode 0700 whatever the umask.
    ///
    /// - Throws: `.fileExists` if the name is taken.
    func createDirectory(_ name: String) throws(Errno)
    /// `fsync` of the directory.
    func synchronize() throws(Errno)
    /// The file system's name if its locks and renames are weaker, as on network file systems; else `nil`.
    var weakFileSystem: String? { get }
}

extension VaultDirectory {
    package func names() throws(Errno) -> [String] {
        var names: [String] = []
        try forEachName { names.append($0) }
        return names
    }
}

/// An open file. Reads and writes specify an offset; there is no position.
package protocol VaultFile: AnyObject, Sendable {
    func status() throws(Errno) -> FileStatus
    /// Up to `count` bytes; fewer only at the end of the file.
    func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8]
    /// Writes at least one of the bytes and returns how many.
    func write(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) -> Int
    func truncate(to size: Int) throws(Errno)
    /// Allocates disk space beyond the end without changing the size (`FALLOC_FL_KEEP_SIZE`).
    func reserve(_ count: Int, at offset: Int) throws(Errno)
    /// Makes the disk begin to write these bytes, so that a later sync takes less time (`sync_file_range`). A hint.
    func beginWriting(_ count: Int, at offset: Int)
    /// `fdatasync`
    func synchronizeData() throws(Errno)
    /// `fsync`
    func synchronize() throws(Errno)
    /// An open-file-description lock on the whole file. Returns `false` if another holder conflicts.
    func tryLock(exclusive: Bool) throws(Errno) -> Bool
    /// - Returns: `false` if the system does not release the lock; closing the file does then.
    @discardableResult
    func unlock() -> Bool
}

extension VaultFile {
    package func beginWriting(_ count: Int, at offset: Int) {}

    /// Writes every byte, continuing after short writes.
    package func writeAll(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) {
        var written = 0
        while written < bytes.count {
            written += try write(bytes.extracting(written..<bytes.count), at: offset + written)
        }
    }
}

/// The source of time, passed in.
package protocol VaultClock: Sendable {
    /// Seconds since 2001-01-01T00:00:00Z (CFAbsoluteTime).
    var now: Double { get }
    /// A monotonic time.
    var uptime: Duration { get }
    func sleep(for duration: Duration)
}

extension VaultClock {
    /// This moment as a stamp: milliseconds since 1970 << 16.
    package var stamp: UInt64 { UInt64(min(max((now + 978_307_200) * 1000, 0), 0x7FFF_FFFF_FFFF)) << 16 }
}
