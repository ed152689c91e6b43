// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync
@testable import VaultSyncEtcd

/// Several members behind one URL, some of which are killed.
@Suite(.enabled(if: EtcdServer.isThere), .serialized) struct EtcdClusterTests {
    private static let log = RecordStream.logs[0]

    /// Repeats a call until it succeeds, while the members elect a leader.
    private static func persist<R>(_ body: () throws(RecordStoreError) -> R) throws -> R {
        let end = Patience.end
        while true {
            do throws(RecordStoreError) { return try body() } catch {
                guard case .unreachable = error, ContinuousClock.now < end else { throw error }
            }
        }
    }

    @Test func `a leader that is killed among appends takes no record along, and none is there twice`() async throws {
        let cluster = try EtcdCluster()
        let count = 160
        let leader = try cluster.leader()
        // The leader is asked first.
        let access = try cluster.access([leader] + (0..<3).filter { $0 != leader })
        let records = (1...count).map { StoredRecord.of(Self.log, UInt64($0)) }
        let hints = Hints()
        let store = try EtcdRecordStore(access, realm: .of(0xab))
        let watch = try #require(try store.watch { hints.take($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    let store = try EtcdRecordStore(access, realm: .of(0xab))
                    for start in stride(from: writer * 4, to: count, by: 8) {
                        let batch = Array(records[start..<start + 4])
                        let results = try Self.persist { () throws(RecordStoreError) in try store.append(batch) }
                        // Records whose acknowledgement was lost are there already.
                        #expect(!results.contains(.differs))
                        // Kills the leader while the other device writes.
                        if start == 40 { cluster.kill(leader) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try Self.persist { () throws(RecordStoreError) in try store.all(Self.log) } == records)
        let head = StreamHead(Self.log, first: 1, last: UInt64(count), count: UInt64(count))
        #expect(try Self.persist { () throws(RecordStoreError) in try store.heads() } == [head])
        // The watch was on the leader and ended with it; another one begins.
        watch.end()
        let again = try Self.persist { () throws(RecordStoreError) in try store.watch { hints.take($0) } }
        #expect(again != nil)
        // The member that was away has everything as well.
        try cluster.start(leader)
        let back = try EtcdRecordStore(cluster.access([leader]), realm: .of(0xab))
        #expect(try Self.persist { () throws(RecordStoreError) in try back.all(Self.log) } == records)
    }

    @Test func `a member that has lost the others says so, to who asks and to who watches`() throws {
        let cluster = try EtcdCluster()
        let store = try EtcdRecordStore(cluster.access(), realm: .of(0xab))
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        let hints = Hints()
        let watched = try EtcdRecordStore(cluster.access([2]), realm: .of(0xab))
        let watch = try #require(try watched.watch { hints.take($0) })
        cluster.kill(0)
        cluster.kill(1)
        guard case .lost(.unreachable) = try #require(hints.next(1).first) else {
            Issue.record("the watch goes on, or says something else")
            return
        }
        watch.end()
        do throws(RecordStoreError) {
            _ = try store.append([.of(Self.log, 2)])
            Issue.record("one member of three has stored a record")
        } catch {
            guard case .unreachable = error else { throw error }
        }
        try cluster.start(0)
        let results = try Self.persist { () throws(RecordStoreError) in try store.append([.of(Self.log, 2)]) }
        #expect(results != [.differs])
        #expect(try Self.persist { () throws(RecordStoreError) in try store.all(Self.log).count } == 2)
    }
}
