// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// A record of the changes made for the doors, and of the previous contents. Written before a change is made, so that
/// an interrupted one can be completed, or undone.
struct DoorRecord: Codable {
    struct Entry: Codable {
        let path: String
        var before: PathContent
        var after: PathContent
        /// The key; `nil` if the whole file is the door's.
        var setting: DoorSetting?
    }

    /// The changes by door name; a later version may have further names.
    var doors: [String: [Entry]] = [:]
    /// The directories that were created, outermost first.
    var directories: [String] = []
    /// Replaced files that could not be restored, because another file has taken their place.
    var replaced: [Entry] = []

    var isEmpty: Bool { doors.isEmpty && replaced.isEmpty }
}

/// The record in its file, locked for one process at a time.
final class DoorLedger {
    private let directory: FilePath
    /// The directories that were created for the record.
    private let made: [FilePath]
    private let lock: Descriptor
    var record = DoorRecord()

    static func path(in directory: FilePath) -> FilePath { directory.appending("changes.json") }

    /// - Throws: code 30.
    init(in directory: FilePath) throws {
        self.directory = directory
        let path = DoorLedger.path(in: directory)
        made = PathContent.missingDirectories(directory)
        try PathContent.makeDirectories(directory, 0o700)
        lock = try opened(
            "open '\(directory.string.printable)'",
            try Descriptor(opening: directory.string, O_RDONLY | O_DIRECTORY))
        while flock(lock.number, LOCK_EX) != 0, errno == EINTR {}
        switch try PathContent.at(path) {
        case .nothing: break
        case .file(let bytes, _):
            guard let read = try? JSONDecoder().decode(DoorRecord.self, from: bytes) else { fallthrough }
            record = read
        case .link:
            throw CommandError(
                .inputOutput, "the record of what was changed for doors cannot be read ('\(path.string.printable)')",
                hint: "move it away; the recorded changes then stay")
        }
    }

    deinit {
        // A directory that is not empty stays.
        for directory in [directory] + made.reversed() { try? Names.removeDirectory(directory.string) }
    }

    func save() throws {
        let path = DoorLedger.path(in: directory)
        guard !record.isEmpty else { return try PathContent.nothing.put(at: path) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        try PathContent.file(bytes: encoder.encode(record), mode: 0o600).put(at: path)
    }
}
