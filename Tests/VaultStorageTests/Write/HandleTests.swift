// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A handle's duties to the file and the device, regardless of intermediate events.
struct HandleTests {
    private let disk = SimulatedDisk()

    private func environment(_ name: String) -> VaultEnvironment { .seeded(name, on: disk, state: disk.root) }

    private func create(_ name: String) throws -> VaultStore {
        try VaultStore.create(
            at: disk.root.appending(name), unlockedBy: .passphrase(.of(name)), cost: .weakest,
            environment: environment(name))
    }

    private func failing(_ step: SimulatedDisk.Step, _ body: () throws -> Void) rethrows {
        disk.judge.withLock { $0 = { $0 == step ? .fails(.ioError) : .done } }
        defer { disk.judge.withLock { $0 = nil } }
        try body()
    }

    private func bothMarksNameTheTip(of store: VaultStore) throws -> Bool {
        let marks = try Marks(of: store.log.file, generation: store.header.generation, keys: store.log.keys)
        return marks?.bothName(store.tip.position) == true
    }

    @Test func `a commit is named by both marks in the end, though the file was read anew meanwhile`() throws {
        let store = try create("v")
        try VaultBuilder.add("one", to: store, account: "one")
        #expect(try !bothMarksNameTheTip(of: store))
        _ = try store.verify(deep: false)
        try store.settleMarks()
        #expect(try bothMarksNameTheTip(of: store))
        // The remains are not cut off silently.
        let inode = try #require(disk.inode("v"))
        inode.overwrite(Array(inode.bytes[..<Layout.firstFrame]))
        #expect(throws: StorageError.self) {
            let locked = try LockedStore(disk.root.appending("v"), environment: environment("later"))
            _ = try locked.open(with: locked.unlock(with: .passphrase(.of("v"))))
        }
    }

    @Test func `what the device remembers of a vault stays when the one that was to replace it cannot be made durable`()
        throws
    {
        let old = try create("v")
        try VaultBuilder.add("one", to: old, account: "one")
        try old.settleMarks()
        let other = try create("w")
        try VaultBuilder.add("two", to: other, account: "two")
        try other.settleMarks()
        let backup = try LockedStore(disk.root.appending("w"), environment: environment("restore")).openAsBackup(
            with: .passphrase(.of("w")))
        let directory = try disk.openDirectory(disk.root)
        let before = try directory.names().filter { $0.hasSuffix(".anchor") }
        #expect(before.count == 2)
        failing(.fileSync) {
            #expect(throws: StorageError.inputOutput(.ioError, .synchronize)) {
                try VaultStore.restore(
                    backup, to: disk.root.appending("v"), replacing: true, environment: environment("restore"),
                    accepts: { _ in true },
                    report: { _ in })
            }
        }
        #expect(try Set(directory.names().filter { $0.hasSuffix(".anchor") }) == Set(before))
        #expect(try !directory.names().contains { $0.contains(".tmp-") })
    }

    @Test func `a compaction beside a handle that failed loses nothing when it is tried again`() throws {
        let store = try create("v")
        for account in ["one", "two", "three"] { try VaultBuilder.add(account, to: store, account: account) }
        let compactor = try store.makeCompactor()
        failing(.install) { #expect(throws: StorageError.inputOutput(.ioError, .rename)) { try compactor.compact() } }
        try compactor.compact()
        store.rejoin(compactor, after: nil)
        #expect(try store.verify(deep: true).opened == 3)
        #expect(store.header.generation == 2)
    }
}
