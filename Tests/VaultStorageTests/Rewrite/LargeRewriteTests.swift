// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

struct LargeRewriteTests {
    /// Returns two handles on one disk; the first copies without the lock, regardless of the size.
    private static func stores() throws -> (VaultStore, VaultStore, SimulatedDisk, VaultBuilder) {
        let builder = try VaultBuilder()
        let disk = SimulatedDisk()
        disk.put(builder.bytes, as: VaultBuilder.name)
        func open(_ seed: String) throws -> VaultStore {
            var environment = VaultEnvironment.seeded(seed, on: disk)
            environment.lockFreeCopyLength = 0
            return try VaultStore.open(on: disk, vaultKey: builder.keys.vaultKey, environment: environment)
        }
        return (try open("copier"), try open("writer"), disk, builder)
    }

    private static func values(_ store: VaultStore) throws -> [String] {
        try store.records.sorted.sorted { $0.ordinal < $1.ordinal }.map { operation in
            guard let value = try store.openValue(of: operation) else { return "-" }
            return String(decoding: value.exposed, as: UTF8.self)
        }
    }

    private final class Once: @unchecked Sendable {
        var action: (() -> Void)?

        func run() {
            let action = action
            self.action = nil
            action?()
        }
    }

    @Test func `what others commit while a large vault is copied is in the new file`() throws {
        let (copier, writer, disk, _) = try Self.stores()
        let once = Once()
        once.action = {
            do {
                try VaultBuilder.add("meanwhile", to: writer, account: "new")
                try VaultBuilder.replace(1, with: "two again", in: writer)
                try writer.change { (session: inout WriteSession) throws(StorageError) in
                    guard var removal = writer.records[2] else { return }
                    removal.kind = .delete
                    removal.version += 1
                    removal.attributes = EncodedAttributes()
                    try session.stage(removal, value: .none)
                }
            } catch { Issue.record("\(error)") }
        }
        try Self.compact(copier, on: disk, meanwhile: once)
        let expected = ["one again", "two again", "meanwhile"]
        #expect(try Self.values(copier) == expected)
        try writer.refresh()
        #expect(try Self.values(writer) == expected)
        #expect(try copier.verify(deep: true).opened == 3)
        #expect(copier.header.generation == 2)
        #expect(copier.sequence >= 7)
    }

    private static func compact(_ copier: VaultStore, on disk: SimulatedDisk, meanwhile once: Once) throws {
        // At the first sync of the copy, the lock is free.
        disk.judge.withLock {
            $0 = { [once] step in
                if step == .dataSync { once.run() }
                return .done
            }
        }
        try copier.compact()
        disk.judge.withLock { $0 = nil }
    }

    @Test func `a file that another process replaced while it was copied is compacted all the same`() throws {
        let (copier, writer, disk, _) = try Self.stores()
        let once = Once()
        once.action = { do { try writer.compact() } catch { Issue.record("\(error)") } }
        try Self.compact(copier, on: disk, meanwhile: once)
        #expect(copier.header.generation == 3)
        #expect(try Self.values(copier) == ["one again", "two", "three"])
    }
}
