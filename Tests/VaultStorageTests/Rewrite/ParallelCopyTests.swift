// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A rewrite whose records several threads copy.
struct ParallelCopyTests {
    private static let items = 600

    /// Returns a store of items, each with an older version that has the same value. The settings come first in a
    /// rewrite, so the two versions of some items fall to different threads.
    private static func store(
        in home: Home = Home("runs"), copiesBesideWriters: Bool = false, padding: Int = 0
    ) throws -> VaultStore {
        var environment = home.environment()
        if copiesBesideWriters { environment.lockFreeCopyLength = 0 }
        let store = try VaultStore.create(
            at: home.path(), unlockedBy: Home.secret(), cost: .weakest, environment: environment)
        try store.keepHistory(3)
        let secrets = try (0..<items).map { try Secret(text: "value \($0)" + String(repeating: " ", count: padding)) }
        try store.change { (session: inout WriteSession) throws(StorageError) in
            for secret in secrets {
                let operation = Operation(
                    kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: session.makeItemID(),
                    version: 1, valueVersion: 0, ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil,
                    deviceID: .init(repeating: 0), attributes: .init())
                try session.stage(operation, value: .set(secret))
            }
        }
        let stored = store.records.sorted.filter { $0.itemClass != nil }
        try store.change { (session: inout WriteSession) throws(StorageError) in
            for operation in stored {
                var (past, next) = (operation, operation)
                past.kind = .past
                next.version += 1
                try session.stage(past, value: .keep)
                try session.stage(next, value: .keep)
            }
        }
        return store
    }

    @Test func `two versions with one value share its box after the rewrite`() throws {
        let store = try Self.store()
        let values = try Home.values(of: store)
        try store.compact()
        #expect(try Home.values(of: store) == values)
        let items = store.records.sorted.filter { $0.itemClass != nil }
        #expect(items.count == Self.items)
        for item in items {
            let versions = try #require(store.records.past[item.id])
            #expect(versions.map(\.value) == [item.value])
        }
        #expect(try store.verify(deep: true).opened == 2 * Self.items)
        let size = store.log.size
        try store.compact()
        #expect(store.log.size == size)
    }

    @Test func `the changes of another handle while threads copy are in the new file`() throws {
        let home = Home("beside")
        let copier = try Self.store(in: home, copiesBesideWriters: true)
        // Used by the copier's thread, while the copier waits.
        nonisolated(unsafe) let writer = try home.open()
        let place = try #require(writer.records.sorted.last.flatMap { writer.records.place(of: $0.id) })
        let isFirst = Atomic(true)
        // At the first sync of the copy, the lock is free.
        home.disk.judge.withLock {
            $0 = { step in
                guard step == .dataSync, isFirst.exchange(false, ordering: .relaxed) else { return .done }
                do {
                    try writer.put("meanwhile")
                    try writer.put("instead", at: place, keepingOld: true)
                } catch { Issue.record("\(error)") }
                return .done
            }
        }
        try copier.compact()
        home.disk.judge.withLock { $0 = nil }
        #expect(copier.header.generation == 2)
        for store in [copier, writer] {
            try store.refresh()
            let values = try Home.values(of: store)
            #expect(values.count == Self.items + 1)
            #expect(values.contains("meanwhile") && values.contains("instead"))
            #expect(try store.verify(deep: true).opened == 2 * Self.items + 2)
        }
    }

    @Test func `histories that are removed leave the shared boxes to their items`() throws {
        let store = try Self.store()
        let values = try Home.values(of: store)
        try store.purge { VaultStore.Purge(histories: Set(store.records.past.keys)) }
        try store.refresh()
        #expect(store.records.past.isEmpty)
        #expect(try Home.values(of: store) == values)
        #expect(try store.verify(deep: true).opened == Self.items)
    }

    @Test(arguments: [false, true])
    func `a changed box in any run stops the rewrite, and the file stays`(copiesBesideWriters: Bool) throws {
        let home = Home("changed box")
        let store = try Self.store(in: home, copiesBesideWriters: copiesBesideWriters)
        let generation = store.header.generation
        let last = try #require(store.records.sorted.last?.value)
        let file = store.log.file
        var box = try file.read(1, at: Int(last.offset) + Layout.nonceLength)
        box[0] ^= 1
        try file.writeAll(box.span, at: Int(last.offset) + Layout.nonceLength)
        #expect(throws: StorageError.self) { try store.compact() }
        #expect(store.header.generation == generation)
        #expect(try home.isTidy)
    }

    @Test func `a write that the disk changes stops the rewrite, whichever it is, and the file stays`() throws {
        let home = Home("spoiled", disk: SimulatedDisk(tearsWrites: false, namesTemporaries: true))
        let store = try Self.store(in: home, copiesBesideWriters: true, padding: 8192)
        try store.settleMarks()
        let values = try Home.values(of: store)
        let bytes = try home.bytes()
        let writes = Atomic(0)
        func compact(spoiling spoiled: Int) throws {
            writes.store(0, ordering: .relaxed)
            home.disk.judge.withLock {
                $0 = { step in
                    guard step == .write else { return .done }
                    return writes.add(1, ordering: .relaxed).oldValue == spoiled ? .spoils : .done
                }
            }
            defer { home.disk.judge.withLock { $0 = nil } }
            try store.compact()
        }
        // Five groups of frames, while other threads read back, and the header with the marks.
        for spoiled in 0..<6 {
            #expect(throws: StorageError.self) { try compact(spoiling: spoiled) }
            #expect(try home.bytes() == bytes)
            #expect(try home.isTidy)
        }
        try compact(spoiling: .max)
        #expect(try Home.values(of: store) == values)
        #expect(try store.verify(deep: true).opened == 2 * Self.items)
    }
}
