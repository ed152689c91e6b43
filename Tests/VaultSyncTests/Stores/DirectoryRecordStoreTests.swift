// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat
import VaultStorage
@testable import VaultSync
import VaultSystem

/// A folder on the real disk that other programs also write to.
struct DirectoryRecordStoreTests {
    private static let log = RecordStream.logs[0]
    private static let hexadecimalLog = String(repeating: "01", count: 16)
    private static let folder = "vlt1/\(String(repeating: "ab", count: 16))/1/\(hexadecimalLog)"
    private static let files = LinuxFileSystem()

    private let directory: TemporaryDirectory
    private let store: DirectoryRecordStore
    /// The log's folder, with its first record.
    private let folder: any VaultDirectory

    init() throws {
        directory = try TemporaryDirectory()
        store = directory.store()
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        folder = try Self.files.openDirectory(directory.path.appending("shared").appending(Self.folder))
    }

    private func put(_ bytes: [UInt8], as name: String) throws {
        try folder.openOrCreate(name).writeAll(bytes.span, at: 0)
    }

    private func path(_ name: String) -> String { folder.path.appending(name).string }

    private func name(_ sequence: UInt64) -> String { RecordName(sequence).text }

    private func expectInTheWay(_ sequence: UInt64) {
        #expect(throws: RecordStoreError.inputOutput(.fileExists, path(name(sequence)))) {
            try store.append([.of(Self.log, sequence)])
        }
    }

    // MARK: Refusals

    @Test func `a folder that is missing is unreachable and is not made`() throws {
        let store = directory.store("stick", createsRoot: false)
        let unreachable = RecordStoreError.unreachable(directory.path.appending("stick").string)
        #expect(throws: unreachable) { try store.heads() }
        #expect(throws: unreachable) { try store.all(Self.log) }
        #expect(throws: unreachable) { try store.append([.of(Self.log, 1)]) }
        #expect(throws: unreachable) { try store.remove(Self.log, below: 2) }
        #expect(throws: unreachable) { try store.streams() }
        try directory.write([], to: "stick")
        #expect(throws: unreachable) { try store.heads() }
    }

    @Test(arguments: [0, 1, 63])
    func `a file that is too short is not there yet, and gives way to a record`(count: Int) throws {
        try put([UInt8](repeating: 1, count: count), as: name(2))
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        let lock = try folder.open(name(2), writable: true)
        #expect(try lock.tryLock(exclusive: true))
        expectInTheWay(2)
        lock.unlock()
        #expect(try store.append([.of(Self.log, 2)]) == [.created])
        #expect(try store.all(Self.log, from: 2) == [.of(Self.log, 2)])
        #expect(try folder.names().count == 2)
    }

    @Test func `a file that is too long is not there`() throws {
        try put([UInt8](repeating: 1, count: RecordKind.log.limit + 1), as: name(2))
        try put([UInt8](repeating: 1, count: RecordKind.log.limit + 1), as: name(1) + ".sync-conflict-1")
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        expectInTheWay(2)
    }

    @Test func `a link in the place of a record is not followed`() throws {
        let bytes = StoredRecord.of(Self.log, 2).bytes
        try directory.write(bytes, to: "elsewhere")
        let target = directory.path.appending("elsewhere").string
        for (sequence, target) in [(UInt64(2), target), (3, "/dev/zero"), (4, "missing"), (5, name(5))] {
            try FileManager.default.createSymbolicLink(
                atPath: path(name(sequence)), withDestinationPath: target)
            expectInTheWay(sequence)
        }
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        #expect(try directory.read("elsewhere") == bytes)
        try store.remove(Self.log, below: 9)
        #expect(try folder.names().isEmpty && directory.read("elsewhere") == bytes)
    }

    @Test func `a pipe in the place of a record is not waited for`() throws {
        #expect(mkfifo(path(name(2)), 0o600) == 0)
        try put(StoredRecord.of(Self.log, 3).bytes, as: name(3))
        #expect(try store.all(Self.log) == [.of(Self.log, 1), .of(Self.log, 3)])
        expectInTheWay(2)
    }

    @Test func `a directory in the place of a record is not there, and stays`() throws {
        try folder.createDirectory(name(2))
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        expectInTheWay(2)
        try store.remove(Self.log, below: 9)
        #expect(try folder.names() == [name(2)])
    }

    @Test(arguments: 0..<4)
    func `a link, a file or a pipe in the place of a folder is not followed`(depth: Int) throws {
        let components = Self.folder.split(separator: "/").map(String.init)
        let parent = components[..<depth].reduce(directory.path.appending("shared")) { $0.appending($1) }
        let own = parent.appending(components[depth]).string
        let moved = directory.path.appending("moved").string
        try FileManager.default.moveItem(atPath: own, toPath: moved)
        for make in [
            { try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: moved) },
            { try Data("file".utf8).write(to: URL(fileURLWithPath: own)) },
            { #expect(mkfifo(own, 0o600) == 0) },
        ] {
            try make()
            #expect(try store.heads().isEmpty && store.all(Self.log).isEmpty && store.streams().isEmpty)
            #expect(throws: RecordStoreError.inputOutput(.notDirectory, own)) {
                try store.append([.of(Self.log, 2)])
            }
            try FileManager.default.removeItem(atPath: own)
        }
        try FileManager.default.moveItem(atPath: moved, toPath: own)
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
    }

    @Test func `names that are not a record's, a stream's or a kind's are passed over`() throws {
        let bytes = StoredRecord.of(Self.log, 2).bytes
        for name in [
            ".tmp-0123456789abcdef", "0000000000000000", "000000000000000", "000000000000000A", "00000000000000002",
            "0000000000000002.tmp", "0000000000000002.sync-conflict", ".0000000000000002", "notes.txt",
            "~syncthing~0000000000000002.tmp", ".syncthing.0000000000000002.tmp",
        ] {
            try put(bytes, as: name)
        }
        let kinds = folder.path.removingLastComponent().removingLastComponent()
        for path in ["1/notes", "1/\(Self.hexadecimalLog)0", "1/" + String(repeating: "AB", count: 16), "4", "01", "x"]
        {
            let path = kinds.appending(path).appending(Self.hexadecimalLog)
            try Self.files.createDirectories(path)
            try Self.files.openDirectory(path).openOrCreate(name(1)).writeAll(bytes.span, at: 0)
        }
        #expect(try store.heads() == [StreamHead(Self.log, first: 1, last: 1, count: 1)])
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        #expect(try store.sequences(of: Self.log) == [1] && store.streams() == [Self.log])
    }

    @Test func `a hundred thousand other files are passed over`() throws {
        for index in 0..<50_000 {
            _ = try folder.openOrCreate("\(name(1)).sync-conflict-\(index)")
            _ = try folder.openOrCreate(index % 2 == 0 ? ".tmp-\(name(UInt64(index)))" : "\(name(UInt64(index)))-")
        }
        #expect(try store.append([.of(Self.log, 3), .of(Self.log, 2)]) == [.created, .created])
        #expect(try store.heads() == [StreamHead(Self.log, first: 1, last: 3, count: 3)])
        #expect(try store.all(Self.log) == (1...3).map { .of(Self.log, $0) })
        try store.remove(Self.log, below: 3)
        #expect(try store.sequences(of: Self.log) == [3])
    }

    // MARK: Second records

    @Test func `a sync-conflict copy is a second record at its address`() throws {
        let suffix = ".sync-conflict-20261122-101112-ABCDEFG"
        let (second, only) = (StoredRecord.of(Self.log, 1, "second"), StoredRecord.of(Self.log, 4, "only"))
        try put(second.bytes, as: name(1) + suffix)
        try put(only.bytes, as: name(4) + suffix)
        try put([1], as: name(6) + suffix)
        #expect(try store.append([.of(Self.log, 2)]) == [.created])
        #expect(try store.all(Self.log) == [.of(Self.log, 1), second, .of(Self.log, 2), only])
        #expect(try store.heads() == [StreamHead(Self.log, first: 1, last: 6, count: 4)])
        #expect(try store.sequences(of: Self.log) == [1, 2, 4, 6])
        try store.remove(Self.log, below: 5)
        #expect(try folder.names() == [name(6) + suffix])
    }

    // MARK: The state afterwards

    @Test func `everything it makes is the user's alone, at the address's path`() throws {
        #expect(try directory.read("shared/\(Self.folder)/0000000000000001") == StoredRecord.of(Self.log, 1).bytes)
        #expect(try folder.names() == ["0000000000000001"])
        #expect(try folder.status(of: name(1))?.mode == 0o600)
        var path = folder.path
        while path != directory.path {
            #expect(try Self.files.openDirectory(path).status().mode == 0o700)
            path.removeLastComponent()
        }
    }

    @Test func `one that may make its folder does so with its first record`() throws {
        let store = directory.store("a/b")
        #expect(try store.heads().isEmpty && store.streams().isEmpty && store.all(Self.log).isEmpty)
        #expect(throws: RecordStoreError.self) { try store.append([.of(Self.log, 0)]) }
        #expect(try Self.files.openDirectory(directory.path).status(of: "a") == nil)
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        #expect(try directory.store("a/b", createsRoot: false).heads().count == 1)
    }

    @Test func `realms that share a folder know nothing of each other`() throws {
        let other = DirectoryRecordStore(directory.path.appending("shared"), realm: .of(0xcd), createsRoot: false)
        #expect(try other.heads().isEmpty)
        #expect(try other.append([.of(Self.log, 1, "other")]) == [.created])
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
    }

    @Test func `streams of every kind are listed in order`() throws {
        let streams: [RecordStream] = [.roster, .logs[0], .logs[1], .blob, .mailbox]
        for stream in streams.shuffled() { _ = try store.append([.of(stream, 2), .of(stream, 1)]) }
        #expect(try store.streams() == streams)
        for stream in streams { #expect(try store.sequences(of: stream) == [1, 2]) }
    }

    @Test func `what killed writers left goes after an hour, once it was seen`() throws {
        let (old, young, foreign) = (".tmp-0123456789abcdef", ".tmp-fedcba9876543210", ".tmp-0123")
        for name in [old, young, foreign] { try put([1], as: name) }
        for name in [old, foreign] {
            try FileManager.default.setAttributes([.modificationDate: Date() - 7200], ofItemAtPath: path(name))
        }
        _ = try store.append([.of(Self.log, 2)])
        #expect(try folder.names().count == 5)
        _ = try store.heads()
        _ = try store.append([.of(Self.log, 3)])
        #expect(try Set(folder.names()) == [name(1), name(2), name(3), young, foreign])
    }
}
