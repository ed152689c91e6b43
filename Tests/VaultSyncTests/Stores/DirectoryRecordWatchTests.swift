// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync

/// The hints of a folder's store and of a served store.
struct DirectoryRecordWatchTests {
    private static let log = RecordStream.logs[0]

    /// A collector of hints.
    private final class Listener: Sendable {
        private let heard = Mutex<[RecordHint]>([])
        private let bell = DispatchSemaphore(value: 0)

        func hear(_ hint: RecordHint) {
            heard.withLock { $0.append(hint) }
            bell.signal()
        }

        func hears(_ isWanted: (RecordHint) -> Bool) -> Bool {
            while !heard.withLock({ $0.contains(where: isWanted) }) {
                guard bell.wait(timeout: Patience.deadline) == .success else { return false }
            }
            return true
        }

        var count: Int { heard.withLock { $0.count } }
    }

    private let directory: TemporaryDirectory
    private let folder: FilePath

    init() throws {
        directory = try TemporaryDirectory()
        folder = directory.path.appending("shared")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
    }

    private func store() -> DirectoryRecordStore { directory.store(createsRoot: false) }

    private func stores() -> [any RecordStore] {
        [store(), ServedRecordStore(ServedPair.link(to: folder), realm: .of(0xab))]
    }

    @Test func `what others store is told of, in streams that are there and in new ones`() throws {
        for (index, store) in stores().enumerated() {
            let listener = Listener()
            let watch = try #require(try store.watch { listener.hear($0) })
            let stream = RecordStream(.log, .of(UInt8(index + 10)))
            _ = try self.store().append([.of(stream, 1)])
            #expect(listener.hears { $0 == .changed || $0 == .appended(stream, 1) })
            let again = Listener()
            let second = try #require(try store.watch { again.hear($0) })
            _ = try self.store().append([.of(stream, 2)])
            #expect(again.hears { $0 == .appended(stream, 2) } && listener.hears { $0 == .appended(stream, 2) })
            for watch in [watch, second] { watch.end() }
            let count = (listener.count, again.count)
            _ = try self.store().append([.of(stream, 3)])
            #expect((listener.count, again.count) == count)
        }
    }

    @Test func `a folder that goes is told of, and so is one that was not there`() throws {
        for store in stores() {
            let listener = Listener()
            let watch = try #require(try store.watch { listener.hear($0) })
            try FileManager.default.removeItem(atPath: folder.string)
            #expect(
                listener.hears { hint in
                    if case .lost(.unreachable) = hint { true } else { false }
                })
            watch.end()
            #expect(throws: RecordStoreError.self) { try store.watch { _ in } }
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: false)
        }
    }

    @Test func `from time to time something may have changed`() throws {
        let listener = Listener()
        let watch = try store().watch(every: .milliseconds(20)) { listener.hear($0) }
        #expect(listener.hears { $0 == .changed })
        watch.end()
    }

    @Test func `a hint may end its own watch`() throws {
        let kept = Mutex<(any RecordWatch)?>(nil)
        let listener = Listener()
        let watch = try store().watch(every: .milliseconds(20)) { hint in
            kept.withLock { $0 }?.end()
            listener.hear(hint)
        }
        kept.withLock { $0 = watch }
        #expect(listener.hears { $0 == .changed })
        kept.withLock { $0 = nil }
        watch.end()
    }
}
