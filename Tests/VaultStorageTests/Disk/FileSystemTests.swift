// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
@testable import VaultStorage
import VaultSystem

/// The file system properties that the storage relies on, checked on the real disk and on the disk in memory.
struct FileSystemTests {
    private func onEach(_ body: (any VaultDirectory) throws -> Void) throws {
        let temporary = try TemporaryDirectory()
        try body(try LinuxFileSystem().openDirectory(temporary.path))
        let memory = MemoryFileSystem()
        try memory.createDirectories("/d")
        try body(try memory.openDirectory("/d"))
    }

    @Test func `what does not exist is absent, and is no error to ask for`() throws {
        try onEach { (directory: any VaultDirectory) throws in
            #expect(try directory.status(of: "none") == nil)
            #expect(throws: Errno.noSuchFileOrDirectory) { try directory.open("none", writable: false) }
            #expect(throws: Errno.noSuchFileOrDirectory) { try directory.remove("none") }
            #expect(try directory.names().isEmpty)
        }
        #expect(throws: Errno.noSuchFileOrDirectory) { try MemoryFileSystem().openDirectory("/none") }
    }

    @Test func `bytes are where they were written, with zeros before and nothing after`() throws {
        try onEach { (directory: any VaultDirectory) throws in
            let file = try directory.openOrCreate("f")
            #expect(try file.read(10, at: 0) == [])
            try file.writeAll([1, 2, 3].span, at: 4)
            #expect(
                try file.read(10, at: 0) == [0, 0, 0, 0, 1, 2, 3] && file.read(1, at: 7) == []
                    && file.read(2, at: 100) == [])
            try file.truncate(to: 5)
            try file.truncate(to: 6)
            #expect(try directory.open("f", writable: false).read(10, at: 3) == [0, 1, 0])
            try file.reserve(4096, at: 6)
            try file.synchronizeData()
            let status = try file.status()
            #expect(status.size == 6 && status.mode == 0o600 && status.kind == .regular)
            #expect(try directory.status(of: "f")?.isSameFile(as: status) == true)
        }
    }

    @Test func `a temporary file takes a place that is free, or replaces the one that is there`() throws {
        try onEach { (directory: any VaultDirectory) throws in
            for (bytes, replacing) in [([UInt8]([1]), false), ([2], true)] {
                let file = try directory.createTemporary(".t")
                try file.writeAll(bytes.span, at: 0)
                try directory.install(file, temporaryName: ".t", as: "f", replacing: replacing)
            }
            let third = try directory.createTemporary(".t")
            #expect(throws: Errno.fileExists) {
                try directory.install(third, temporaryName: ".t", as: "f", replacing: false)
            }
            #expect(try directory.open("f", writable: false).read(2, at: 0) == [2])
            #expect(try directory.names().contains("f"))
            try directory.remove("f")
            #expect(try directory.status(of: "f") == nil)
        }
    }

    @Test func `directories lie in one another, and nothing else is taken for one`() throws {
        func check(_ directory: any VaultDirectory) throws {
            #expect(throws: Errno.noSuchFileOrDirectory) { try directory.directory("d") }
            try directory.createDirectory("d")
            #expect(throws: Errno.fileExists) { try directory.createDirectory("d") }
            let inner = try directory.directory("d")
            #expect(try inner.path == directory.path.appending("d") && inner.names().isEmpty)
            let status = try #require(try directory.status(of: "d"))
            #expect(status.kind == .directory && status.mode == 0o700)
            try inner.createDirectory("e")
            try inner.directory("e").openOrCreate("f").writeAll([1].span, at: 0)
            _ = try inner.openOrCreate("f")
            #expect(try directory.names() == ["d"] && Set(inner.names()) == ["e", "f"])
            #expect(try directory.directory("d").directory("e").open("f", writable: false).read(2, at: 0) == [1])
            #expect(throws: Errno.notDirectory) { try inner.directory("f") }
            #expect(throws: Errno.fileExists) { try inner.createDirectory("f") }
            #expect(throws: Errno.isDirectory) { try directory.remove("d") }
            let file = try directory.createTemporary(".t")
            #expect(throws: Errno.fileExists) {
                try directory.install(file, temporaryName: ".t", as: "d", replacing: false)
            }
            #expect(throws: Errno.ioError) { try inner.forEachName { (_) throws(Errno) in throw .ioError } }
        }
        try onEach(check)
        let disk = SimulatedDisk()
        try check(disk.openDirectory(disk.root))
    }

    @Test func `a link to a directory is not opened`() throws {
        let temporary = try TemporaryDirectory()
        let directory = try LinuxFileSystem().openDirectory(temporary.path)
        try directory.createDirectory("d")
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path.appending("l").string, withDestinationPath: "d")
        #expect(throws: Errno.notDirectory) { try directory.directory("l") }
    }

    @Test func `a lock keeps other handles out until it is given back or its handle is gone`() throws {
        try onEach { (directory: any VaultDirectory) throws in
            let (first, second) = (try directory.openOrCreate("l"), try directory.openOrCreate("l"))
            #expect(try first.tryLock(exclusive: false) && second.tryLock(exclusive: false))
            #expect(try !first.tryLock(exclusive: true))
            second.unlock()
            #expect(
                try first.tryLock(exclusive: true) && !second.tryLock(exclusive: false)
                    && !second.tryLock(exclusive: true))
            first.unlock()
            do {
                let third = try directory.openOrCreate("l")
                #expect(try third.tryLock(exclusive: true))
            }
            #expect(try second.tryLock(exclusive: true))
        }
    }

    @Test func `a key file opens its vault and no other secret does`() throws {
        let memory = MemoryFileSystem()
        let environment = VaultEnvironment.seeded("key file", on: memory)
        func keyFile(_ byte: UInt8) throws -> KeyFile {
            try KeyFile(SecretBytes(copying: [UInt8](repeating: byte, count: 32).span))
        }
        _ = try VaultStore.create(
            at: "/d/v", unlockedBy: .keyFile(try keyFile(1)), cost: .moderate, environment: environment)
        let locked = try LockedStore("/d/v", environment: environment)
        _ = try locked.open(with: try locked.unlock(with: .keyFile(try keyFile(1))))
        #expect(try !locked.open(with: try locked.unlock(with: .keyFile(try keyFile(1)))).hasPassphrase)
        #expect(failure(locked, .keyFile(try keyFile(2))) == .wrongPassphrase)
        #expect(failure(locked, .passphrase(try .of("p"))) == .noMatchingSlot)
        for count in [0, 31, KeyFile.longest + 1] {
            #expect(throws: CryptoError.unacceptableKeyFile) { try KeyFile(SecretBytes(zeroed: count)) }
        }
    }

    private func failure(_ locked: LockedStore, _ secret: UnlockingSecret) -> StorageError? {
        do throws(StorageError) { _ = try locked.unlock(with: secret) } catch { return error }
        return nil
    }
}
