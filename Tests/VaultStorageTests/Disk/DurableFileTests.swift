// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import VaultStorage

/// A file that gets its name once its whole content is durable, or disappears without a trace.
struct DurableFileTests {
    private let disk = SimulatedDisk()

    private func directory() throws -> any VaultDirectory { try disk.openDirectory(disk.root) }

    private func write(_ bytes: [UInt8], to name: String = "f", replacing: Bool = true) throws {
        try DurableFile.write(bytes.span, to: name, in: directory(), replacing: replacing, SeededRandom("durable"))
    }

    private func failing(_ step: SimulatedDisk.Step, _ body: () throws -> Void) rethrows {
        disk.judge.withLock { $0 = { $0 == step ? .fails(.ioError) : .done } }
        defer { disk.judge.withLock { $0 = nil } }
        try body()
    }

    @Test(arguments: [SimulatedDisk.Step.write, .fileSync, .install])
    func `what fails before it has its name leaves what was there, and nothing else`(
        step: SimulatedDisk.Step
    ) throws {
        try write([1])
        failing(step) { #expect(throws: Errno.ioError) { try write([2]) } }
        #expect(try directory().names() == ["f"])
        #expect(disk.inode("f")?.bytes == [1])
    }

    @Test func `a directory that cannot be synced leaves the new file, and says that the name may go again`() throws {
        let directory = try directory()
        try failing(.directorySync) {
            let file = try DurableFile("f", in: directory, SeededRandom("durable"))
            do throws(DurableFile.Failure) {
                try file.finish(replacing: false)
                Issue.record("nothing failed")
            } catch {
                #expect(error.hasName && error.errno == .ioError)
            }
        }
        #expect(try directory.names() == ["f"])
    }

    @Test func `a name that is taken is not replaced unless that is meant, and the new file goes`() throws {
        try write([1])
        #expect(throws: Errno.fileExists) { try write([2], replacing: false) }
        #expect(try directory().names() == ["f"])
        try write([2])
        #expect(disk.inode("f")?.bytes == [2])
    }

    @Test func `one that is let go without a name is nowhere`() throws {
        let directory = try directory()
        do {
            let file = try DurableFile("f", in: directory, SeededRandom("durable"))
            try file.file.writeAll([1, 2].span, at: 0)
        }
        #expect(try directory.names().isEmpty)
    }

    @Test func `of leftovers those go that this program made for that name and that nobody is writing`() throws {
        let directory = try directory()
        let own = ".f.tmp-0123456789abcdef"
        let others = [
            ".f.tmp-0123456789abcde", ".f.tmp-0123456789abcdeF", ".f.tmp-0123456789abcdef0", ".g.tmp-0123456789abcdef",
            "f", ".f.tmp-",
        ]
        for name in others + [own] { disk.put([1], as: name) }
        let written = ".f.tmp-fedcba9876543210"
        disk.put([1], as: written)
        let file = try directory.open(written, writable: true)
        #expect(try file.tryLock(exclusive: true))
        DurableFile.removeLeftovers(of: "f", in: directory, ownedBy: disk.user)
        #expect(try Set(directory.names()) == Set(others + [written]))
        file.unlock()
        DurableFile.removeLeftovers(of: "f", in: directory, ownedBy: disk.user)
        #expect(try Set(directory.names()) == Set(others))
    }
}
