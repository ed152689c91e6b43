// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

struct ReplicaStateTests {
    private let name = Bytes16([UInt8](1...16))
    private let hash = Bytes32([UInt8](1...32))

    @Test func `what is known of a log is read as it was written, and nothing else is`() throws {
        var log = LogState()
        #expect(LogState(log.encoded()) == log)
        log.device = name
        log.head = LogState.Head(sequence: 1, hash: hash, hlc: 2, ack: 3, logset: 4)
        log.first = (5, 6)
        (log.base, log.baseHash, log.end, log.endHash, log.entered) = (7, hash, 8, hash, 9)
        (log.said, log.at, log.sum, log.cited, log.published, log.differsSince) = (10, 11, 12, 13, 14, 15)
        log.tips = [name: 16, .zero: 17]
        let bytes = log.encoded()
        #expect(LogState(bytes)?.encoded() == bytes)
        for length in 0..<bytes.count { #expect(LogState(Array(bytes[..<length])) == nil) }
        #expect(LogState(bytes + [0]) == nil)
    }

    @Test func `what a device has told is read as it was written, and nothing else is`() throws {
        var state = ReplicaState(log: name)
        (state.sequence, state.hash, state.through) = (1, hash, 2)
        (state.ackedSequence, state.ackedThrough, state.ackedHash) = (3, 4, hash)
        state.unacknowledged = [5: 6, 7: 8]
        (state.clock, state.stable, state.rosterSequence, state.rosterHash, state.epoch) = (9, 10, 11, hash, 12)
        state.ownEnds = [name: 13]
        (state.retellsEnded, state.retellsAll) = (true, true)
        state.removals = [Bytes16([UInt8](repeating: 5, count: 16)), Bytes16([UInt8](repeating: 6, count: 16))]
        (state.healsAt, state.healedAt, state.publishedAt, state.equalAt, state.weighed) = (14, 15, 16, 17, 18)
        state.suspects = ["what is missing": 19]
        let bytes = state.encoded()
        #expect(ReplicaState(bytes) == state)
        for length in 0..<bytes.count { #expect(ReplicaState(Array(bytes[..<length])) == nil) }
        #expect(ReplicaState(bytes + [0]) == nil)
    }

    @Test func `what a remote has shown is read as it was written`() throws {
        var remote = RemoteState()
        #expect(RemoteState(remote.encoded()) == remote)
        (remote.log, remote.acknowledged, remote.lastSync) = (name, 1, 2)
        remote.seen = [RecordStream(.log, name): 3, RecordStream(.roster, .zero): 4]
        let bytes = remote.encoded()
        #expect(RemoteState(bytes) == remote)
        for length in 0..<bytes.count where (length - 40) % 25 != 0 {
            #expect(RemoteState(Array(bytes[..<length])) == nil)
        }
    }
}
