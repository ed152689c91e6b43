// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import VaultSystem

/// A guardian process that removes a directory of decrypted secrets if this process ends, in whatever way, without
/// having moved it to its destination.
struct DirectoryGuard: ~Copyable {
    private let lifeline: Descriptor

    init(_ directory: String) throws {
        let pipe = try Helper.pipe()
        try Helper([
            Helper.ownExecutable, RemoveUnfinished.name, "--", FileManager.default.currentDirectoryPath + "/",
            directory,
        ])
        .leave(reading: pipe.reading.number)
        lifeline = pipe.writing
    }

    /// Ends the guardian: there is nothing left to remove.
    consuming func letGo() {
        var done: UInt8 = 1
        // The guardian may have been killed.
        _ = unsafe clinux_write_some(lifeline.number, &done, 1)
    }
}

/// The process started by ``DirectoryGuard``: waits for a byte, and removes the directory if the pipe is closed without
/// one.
struct RemoveUnfinished: ParsableCommand {
    static let name = "remove-unfinished"
    static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

    @Argument var base: String
    @Argument var directory: String

    func run() throws {
        // Only accepts a name as made by an export, so that a manual call cannot remove anything else.
        let path = directory.hasPrefix("/") ? directory : base + directory
        guard path.split(separator: "/").last?.split(separator: ".").last?.hasPrefix("tmp-") == true else {
            throw CommandError.usage("that is no unfinished directory")
        }
        var word: UInt8 = 0
        var count = unsafe Glibc.read(STDIN_FILENO, &word, 1)
        while count < 0, errno == EINTR { count = unsafe Glibc.read(STDIN_FILENO, &word, 1) }
        guard count <= 0 else { return }
        try? FileManager.default.removeItem(atPath: path)
    }
}
