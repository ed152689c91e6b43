// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc

/// A process that removes a directory of opened secrets when this one ends without having moved it to its place,
/// whatever ended it.
struct DirectoryGuard: ~Copyable {
    private let lifeline: Int32

    init(_ directory: String) throws {
        let pipe = try Pipe()
        try Helper([
            Helper.ownExecutable, RemoveUnfinished.name, FileManager.default.currentDirectoryPath + "/", directory,
        ])
        .leave(reading: pipe.readEnd)
        pipe.closeReadEnd()
        lifeline = pipe.writeEnd
    }

    deinit { close(lifeline) }

    /// There is nothing to remove any more.
    consuming func letGo() {
        var done: UInt8 = 1
        _ = unsafe write(lifeline, &done, 1)
    }
}

/// What ``DirectoryGuard`` starts: it waits for a word, and when none comes, because nobody is there to say it, removes
/// the directory.
struct RemoveUnfinished: ParsableCommand {
    static let name = "remove-unfinished"
    static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

    @Argument var base: String
    @Argument var directory: String

    func run() throws {
        // A name that nothing but an export makes; a person who calls this by hand removes nothing else.
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
