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

    /// What cannot be looked at may be there.
    var exists: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 || ![ENOENT, ENOTDIR].contains(errno)
    }

    /// Whether it is one of the links that every program of the machine finds its standard output by, which may lead to
    /// a regular file.
    private var isInSystemDirectory: Bool {
        let parent = FilePath(path).removingLastComponent()
        guard let directory = try? LinuxFileSystem().resolve(parent.isEmpty ? "." : parent) else { return false }
        return ["/dev", "/proc"].contains { directory.starts(with: $0) }
    }

    /// Makes the file, or puts a new one in the place of the old; a symbolic link is replaced and not followed.
    ///
    /// - Parameter durably: whether a name that a crash may take away again is a failure.
    /// - Throws: code 11 for a file that appeared meanwhile, 30 for what is no file, also behind a link: /dev/stdout is
    ///   one.
    func replace(with bytes: Span<UInt8>, durably: Bool = false) throws {
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        let isSystemLink = isThere && status.st_mode & S_IFMT == S_IFLNK && isInSystemDirectory
        guard !isSystemLink, unsafe stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw CommandError(.inputOutput, "'\(path.printable)' is no file that could be replaced")
        }
        // An interruption must not leave opened secrets behind, and a file without a name none when nothing can be done
        // any more.
        let interruptions = try Interruptions()
        let target = FilePath(path)
        let parent = target.removingLastComponent()
        guard let name = target.lastComponent?.string else { throw OutputFile.failure(.isDirectory) }
        do {
            let directory = try LinuxFileSystem().openDirectory(parent.isEmpty ? "." : parent)
            let made = try DurableFile(name, in: directory, SystemRandom(), needsLock: false)
            try made.file.writeAll(bytes, at: 0)
            // What takes long comes before the last look for an interruption.
            try made.synchronize()
            try interruptions.check()
            try made.giveName(replacing: isThere)
        } catch {
            let failure = error as? DurableFile.Failure
            if failure?.hasName == true, !durably { return }
            try interruptions.check()
            guard let errno = failure?.errno ?? error as? Errno else { throw error }
            guard errno != .fileExists else {
                throw CommandError(.alreadyExists, "the file exists", hint: "to replace it: --yes")
            }
            throw OutputFile.failure(errno)
        }
    }

    private static func failure(_ errno: Errno) -> CommandError {
        CommandError(.inputOutput, "cannot write the file: \(errno.description.lowercased())")
    }
}
