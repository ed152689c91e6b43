// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultStorage

/// A file that is there whole or not at all, and that only its owner reads.
struct OutputFile {
    let path: String

    init(_ path: String) { self.path = path }

    var exists: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Makes the file, or puts a new one in the place of the old; a symbolic link is replaced and not followed.
    ///
    /// - Throws: code 11 for a file that appeared meanwhile, 30 for what is no file.
    func replace(with bytes: Span<UInt8>) throws {
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        guard !isThere || [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) else {
            throw CommandError(.inputOutput, "'\(path.printable)' is no file that could be replaced")
        }
        // An interruption must not leave opened secrets behind.
        let interruptions = try Interruptions()
        let temporary = OutputFile.temporaryPath(beside: path)
        let opened = unsafe clinux_openat(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw OutputFile.failure(Errno(rawValue: CInt(-opened))) }
        defer { close(Int32(opened)) }
        do {
            try Output.write(bytes, to: Int32(opened))
            guard fsync(Int32(opened)) == 0 else { throw OutputFile.failure(Errno(rawValue: errno)) }
            try interruptions.check()
            guard !isThere else {
                guard unsafe rename(temporary, path) == 0 else { throw OutputFile.failure(Errno(rawValue: errno)) }
                return
            }
            let result = unsafe clinux_rename_no_replace(AT_FDCWD, temporary, path)
            guard result != -Int(EEXIST) else { throw CommandError(.alreadyExists, "the file exists", hint: "to replace it: --yes") }
            guard result == 0 else { throw OutputFile.failure(Errno(rawValue: CInt(-result))) }
        } catch {
            unsafe unlink(temporary)
            try interruptions.check()
            throw error
        }
    }

    /// Makes the file's name durable.
    func synchronizeDirectory() throws {
        let parent = FilePath(path).removingLastComponent()
        let opened = unsafe clinux_openat(AT_FDCWD, parent.isEmpty ? "." : parent.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard opened >= 0 else { throw OutputFile.failure(Errno(rawValue: CInt(-opened))) }
        defer { close(Int32(opened)) }
        guard fsync(Int32(opened)) == 0 else { throw OutputFile.failure(Errno(rawValue: errno)) }
    }

    /// Where something is put together that is then moved to `path`.
    static func temporaryPath(beside path: String) -> String {
        path + ".tmp-" + hexadecimal(SystemRandom().bytes(8))
    }

    private static func failure(_ errno: Errno) -> CommandError {
        CommandError(.inputOutput, "cannot write the file: \(errno.description.lowercased())")
    }
}
