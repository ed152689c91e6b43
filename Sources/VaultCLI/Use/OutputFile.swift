// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultStorage
internal import VaultSystem

/// A file that is written atomically, and that only its owner can read.
struct OutputFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Whether the file exists; assumed if it cannot be inspected.
    var exists: Bool {
        do throws(Errno) { _ = try FileStatus(at: path) } catch {
            return error != .noSuchFileOrDirectory && error != .notDirectory
        }
        return true
    }

    /// Whether the path is one of the system's links to standard output, which may lead to a regular file.
    private var isInSystemDirectory: Bool {
        let parent = FilePath(path).removingLastComponent()
        guard let directory = try? LinuxFileSystem().resolve(parent.isEmpty ? "." : parent) else { return false }
        return ["/dev", "/proc"].contains { directory.starts(with: $0) }
    }

    /// Creates the file, or replaces an existing one; a symbolic link is replaced and not followed.
    ///
    /// - Parameter durably: whether failing to make the new name durable is an error.
    /// - Throws: code 11 if the file appeared meanwhile, 30 if the path is not a regular file, even behind a link, such
    ///   as /dev/stdout.
    func replace(with bytes: Span<UInt8>, durably: Bool = false) throws {
        let entry = try? FileStatus(at: path)
        let isSystemLink = entry?.kind == .symbolicLink && isInSystemDirectory
        guard !isSystemLink, (try? FileStatus(at: path, followsLink: true))?.kind ?? .regular == .regular else {
            throw CommandError(.inputOutput, "'\(path.printable)' is no file that could be replaced")
        }
        // An interruption must not leave decrypted secrets behind: signals are deferred, and a file without a name
        // vanishes even if this process is killed.
        let interruptions = try Interruptions()
        let target = FilePath(path)
        let parent = target.removingLastComponent()
        guard let name = target.lastComponent?.string else { throw CommandError.cannot("write the file", .isDirectory) }
        do {
            let directory = try LinuxFileSystem().openDirectory(parent.isEmpty ? "." : parent)
            let made = try DurableFile(name, in: directory, SystemRandom(), needsLock: false)
            try made.file.writeAll(bytes, at: 0)
            // Slow work comes before the last check for an interruption.
            try made.synchronize()
            try interruptions.check()
            try made.giveName(replacing: entry != nil)
        } catch {
            let failure = error as? DurableFile.Failure
            if failure?.hasName == true, !durably { return }
            try interruptions.check()
            guard let errno = failure?.errno ?? error as? Errno else { throw error }
            guard errno != .fileExists else {
                throw CommandError(.alreadyExists, "the file exists", hint: "to replace it: --yes")
            }
            throw CommandError.cannot("write the file", errno)
        }
    }
}
