// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A directory in memory that only the user can read, for programs that read secrets only from files. The files are
/// overwritten and removed at the end, even if this process is killed.
struct Scratch: ~Copyable {
    private let path: String
    private let unfinished: DirectoryGuard

    /// Runs the body with the path of a directory, and wipes the directory.
    ///
    /// - Throws: code 30 if no directory is in memory.
    static func withPath<R>(_ body: (String) throws -> R) throws -> R {
        let scratch = try make()
        let result: R
        do { result = try body(scratch.path) } catch {
            scratch.wipe()
            throw error
        }
        scratch.wipe()
        return result
    }

    private static func make() throws -> Scratch {
        for place in ["/dev/shm", RuntimeDirectory.ofProcess?.string].compactMap({ $0 }) where isInMemory(place) {
            let path = place + "/vault.tmp-" + hexadecimal(SystemRandom().bytes(16))
            let unfinished = try DirectoryGuard(path)
            do throws(Errno) { try Names.makeDirectory(path) } catch {
                unfinished.letGo()
                continue
            }
            return Scratch(path: path, unfinished: unfinished)
        }
        throw CommandError(
            .inputOutput, "there is no directory in memory to put secrets into", hint: "mount a tmpfs at /dev/shm")
    }

    private init(path: String, unfinished: consuming DirectoryGuard) {
        self.path = path
        self.unfinished = unfinished
    }

    private static func isInMemory(_ directory: String) -> Bool {
        guard let opened = try? Descriptor(opening: directory, O_RDONLY | O_DIRECTORY) else { return false }
        // TMPFS_MAGIC and RAMFS_MAGIC
        return [0x0102_1994, 0x8584_58f6].contains(clinux_filesystem_type(opened.number))
    }

    /// Overwrites and removes all files.
    private consuming func wipe() {
        for name in (try? FileTree.names(below: path)) ?? [] { Scratch.overwrite(path + "/" + name) }
        try? FileManager.default.removeItem(atPath: path)
        unfinished.letGo()
    }

    /// Overwrites a file's bytes with zeros.
    private static func overwrite(_ file: String) {
        guard let opened = try? Descriptor(opening: file, O_WRONLY | O_NOFOLLOW), let size = opened.regularFile?.size
        else { return }
        overwrite(opened.number, size)
    }

    /// Writes a number of zeros at the position of a descriptor.
    static func overwrite(_ descriptor: Int32, _ count: Int) {
        let zeros = [UInt8](repeating: 0, count: 65_536)
        var left = count
        while left > 0 {
            let part = min(left, zeros.count)
            guard (try? Output.write(zeros.span.extracting(0..<part), to: descriptor)) != nil else { return }
            left -= part
        }
        fsync(descriptor)
    }

    /// Creates a file with mode 0600; fails if it exists.
    static func write(_ bytes: Span<UInt8>, to file: String) throws {
        let made = try opened("make a file", try Descriptor(making: file))
        try Output.write(bytes, to: made.number, as: "a file")
    }
}
