// SPDX-License-Identifier: Apache-2.0
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
    private static func store() throws -> VaultStore {
        let store = try Home("runs").create()
        try store.keepHistory(3)
        let secrets = try (0..<items).map { try Secret(text: "value \($0)") }
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

    @Test func `a changed box in any run stops the rewrite, and the file stays`() throws {
        let store = try Self.store()
        let generation = store.header.generation
        let last = try #require(store.records.sorted.last?.value)
        let file = store.log.file
        var box = try file.read(1, at: Int(last.offset) + Layout.nonceLength)
        box[0] ^= 1
        try file.writeAll(box.span, at: Int(last.offset) + Layout.nonceLength)
        #expect(throws: StorageError.self) { try store.compact() }
        #expect(store.header.generation == generation)
    }
}
