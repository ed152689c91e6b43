// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// Attacks by the operator of a remote, with or without the help of a former member device.
struct EnemyStoreTests {
    enum Attack: String, CaseIterable {
        case flipAByte, moveARecord, replayAsTheNextRecord, spliceIntoAnotherLog
        case withholdWhatWasCited, withholdWhatDidNotFit, cutOutOfTheMiddle, rollTheStoreBack
        case forkAndJoin, forkThenJoinOnTheSly, twoRecordsAtOneAddress, hideARemoval
        case aRemovedDeviceWritesOn, aRemovedDeviceWritesAsAnother, pretendThatALogWasTrimmed
    }

    static let seeds = 0..<5

    @Test(arguments: Attack.allCases) func `every attack is noticed by the device that it is meant for`(
        attack: Attack
    ) throws {
        for seed in Self.seeds {
            let enemy = try EnemyStore(
                "\(attack.rawValue) \(seed)", size: attack == .withholdWhatDidNotFit ? 4 : 3,
                mostTips: attack == .withholdWhatDidNotFit ? 1 : LogTip.limit)
            #expect(try play(attack, enemy), "\(attack) \(seed): \(enemy.b.alarms) \(enemy.b.notes)")
            #expect(enemy.world.problems.isEmpty)
        }
    }

    private func play(_ attack: Attack, _ enemy: EnemyStore) throws -> Bool {
        switch attack {
        case .flipAByte, .moveARecord, .replayAsTheNextRecord, .spliceIntoAnotherLog:
            return try change(attack, enemy)
        case .withholdWhatWasCited, .withholdWhatDidNotFit, .cutOutOfTheMiddle, .rollTheStoreBack, .hideARemoval,
            .pretendThatALogWasTrimmed:
            return try withhold(attack, enemy)
        case .forkAndJoin, .forkThenJoinOnTheSly, .twoRecordsAtOneAddress: return try fork(attack, enemy)
        case .aRemovedDeviceWritesOn, .aRemovedDeviceWritesAsAnother: return try writeAfterRemoval(attack, enemy)
        }
    }

    private func change(_ attack: Attack, _ enemy: EnemyStore) throws -> Bool {
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        let new = try enemy.oneMore(a)
        switch attack {
        case .flipAByte:
            let place = enemy.world.random.number(in: 8...500)
            try enemy.show { records in
                var records = records
                records[new.stream]?[new.sequence]?[place] ^= 4
                return records
            }
        case .moveARecord:
            let newer = try enemy.oneMore(a)
            try enemy.show { records in
                var records = records
                records[newer] = records[new]
                return records
            }
        case .replayAsTheNextRecord:
            try b.sync(enemy.remote, isSilent: true)
            try enemy.show { records in
                var records = records
                records[RecordAddress(new.stream, new.sequence + 1)] = records[new]
                return records
            }
        default:
            let next = RecordAddress(RecordStream(.log, c.log), c.items.saved.sequence + 1)
            try enemy.show { records in
                var lie = enemy.hide(new, from: new.sequence)(records)
                lie[next] = records[new]
                return lie
            }
        }
        return try enemy.said(b, .damaged) && enemy.isHealed()
    }

    private func withhold(_ attack: Attack, _ enemy: EnemyStore) throws -> Bool {
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        switch attack {
        case .withholdWhatWasCited:
            let new = try enemy.oneMore(a)
            try c.sync(enemy.remote)
            try enemy.oneMore(c)
            try enemy.show(enemy.hide(new, from: new.sequence))
        case .withholdWhatDidNotFit:
            try enemy.oneMore(a)
            let late = try enemy.oneMore(c)
            // Each new record cites an earlier one.
            for _ in 0..<4 { try enemy.oneMore(enemy.fleet.devices[3]) }
            try enemy.show(enemy.hide(late, from: late.sequence))
        case .cutOutOfTheMiddle:
            let first = try enemy.oneMore(a)
            for _ in 0..<2 { try enemy.oneMore(a) }
            try enemy.show(enemy.hide(first, from: first.sequence, to: first.sequence))
        case .rollTheStoreBack:
            let old = enemy.remote.records
            try enemy.oneMore(a)
            try b.sync(enemy.remote)
            try enemy.show { _ in old }
            return try enemy.said(b, .rolledBack) && enemy.isHealed()
        case .hideARemoval:
            let old = enemy.remote.records
            guard try enemy.fleet.remove(c, by: a) else { return false }
            try enemy.oneMore(a)
            let roster = RecordAddress(RecordStream(.roster, enemy.world.realmID), 1)
            try enemy.show(enemy.hide(roster, from: old.last(roster.stream) + 1))
        default:
            let first = try enemy.oneMore(a)
            try enemy.oneMore(a)
            try enemy.show(enemy.hide(first, to: first.sequence))
            return try enemy.said(b, .withheld, .rolledBack) && enemy.isHealed()
        }
        return try enemy.said(b, .withheld) && enemy.isHealed()
    }

    private func fork(_ attack: Attack, _ enemy: EnemyStore) throws -> Bool {
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        let fork = enemy.remote.records
        switch attack {
        case .forkAndJoin:
            try enemy.oneMore(a)
            try enemy.oneMore(a)
            let other = SimulatedRemote(fork)
            try enemy.oneMore(b, at: other)
            try enemy.oneMore(c, at: other)
            try b.sync(other, isSilent: true)
            let last = try enemy.oneMore(a)
            // Device b sees the newest record of the other side, without the record in between.
            try enemy.show { records in
                var lie = other.records
                lie[last] = records[last]
                return lie
            }
            return enemy.said(b, .withheld)
        case .forkThenJoinOnTheSly:
            let new = try enemy.oneMore(a)
            var joined = fork
            joined[new] = enemy.remote.records[new]
            let other = SimulatedRemote(joined)
            try c.sync(other, isSilent: true)
            try enemy.oneMore(c, at: other)
            try enemy.show { _ in
                var lie = other.records
                lie[new] = nil
                return lie
            }
            return enemy.said(b, .withheld)
        default:
            // A device that lies itself: the two recipients got different records.
            try a.editForSure()
            let (twin, mirror) = (a.file.copy(), a.mirror.records)
            try enemy.oneMore(a)
            let seen = enemy.remote.records
            (a.file, a.mirror.records) = (twin, mirror)
            try a.editForSure()
            let other = SimulatedRemote(fork)
            try a.withReplica(other) { replica, _ in try replica.publish(isForced: true) }
            try a.sync(other, isSilent: true)
            try b.sync(enemy.remote, isSilent: true)
            try c.sync(other, isSilent: true)
            try enemy.oneMore(c, at: other)
            enemy.remote.records = other.records.merging(seen) { $0.merging($1) { $1 } }
            for device in [b, c] { try device.sync(enemy.remote, isSilent: true) }
            return enemy.said(b, .forked) || enemy.said(c, .forked)
        }
    }

    private func writeAfterRemoval(_ attack: Attack, _ enemy: EnemyStore) throws -> Bool {
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        let poison = Array("poison".utf8)
        try c.sync(enemy.remote)
        guard try enemy.fleet.remove(c, by: a) else { return false }
        try b.sync(enemy.remote)
        let gone = attack == .aRemovedDeviceWritesOn
        // The removed device still has the old epoch's key, and the operator's help.
        let forged = try enemy.seal(
            enemy.next(of: gone ? c : a, telling: poison), signedBy: c.file.identity, epoch: 1)
        enemy.remote.records[forged.address] = forged.bytes
        try b.sync(enemy.remote, isSilent: true)
        return !enemy.believes(b, poison) && (gone || enemy.said(b, .forged))
    }

    @Test func `without the check of signatures a removed device could write as another`() throws {
        let enemy = try EnemyStore("unsigned")
        let poison = Array("poison".utf8)
        let forged = try enemy.seal(
            enemy.next(of: enemy.a, telling: poison), signedBy: enemy.c.file.identity, epoch: 1)
        enemy.remote.records[forged.address] = forged.bytes
        let entry = try #require(enemy.world.entry(in: forged))
        let connection = enemy.b.connection(enemy.remote)
        try enemy.b.withReplica(enemy.remote) { replica, _ in
            // As if the record had been verified before.
            try replica.withRun(connection) { run throws(SyncError) in
                run.checks.entries[forged.address] = CheckedEntry(
                    entry, hash: run.sealer.hash(forged.address, forged.bytes))
                try run.mirror.add([forged])
                try run.applyAll()
            }
        }
        #expect(enemy.believes(enemy.b, poison))
    }

    // MARK: Bytes

    @Test func `no byte of a record can be changed`() throws {
        let enemy = try EnemyStore("bytes")
        let b = enemy.b
        let roster = RecordAddress(RecordStream(.roster, enemy.world.realmID), 1)
        let old = enemy.remote.records.last(roster.stream)
        let log = try enemy.oneMore(enemy.a)
        _ = try enemy.fleet.enrol("new", by: enemy.a)
        let new = RecordAddress(roster.stream, old + 1)
        let (file, mirror, view) = (b.file.copy(), b.mirror.records, enemy.fleet.canonical(b))
        let records = enemy.remote.records
        for address in [log, new] {
            let record = try #require(enemy.remote.records[address])
            let box = address == log ? 8 : 10
            for place in Array(0..<box + 60) + stride(from: box + 60, to: record.count, by: 37) {
                (b.file, b.mirror.records, b.alarms, b.notes) = (file.copy(), mirror, [], [])
                enemy.remote.records = records
                try enemy.show { records in
                    // No other new record, which could cite the altered one.
                    var lie = enemy.hide(roster, from: new.sequence + (address == log ? 0 : 1))(records)
                    for stream in lie.keys where stream.kind == .log {
                        let last = address == log && stream == log.stream ? log.sequence : mirror.last(stream)
                        lie = enemy.hide(RecordAddress(stream, 1), from: last + 1)(lie)
                    }
                    lie[address.stream]?[address.sequence]?[place] ^= 1 << UInt8(place % 8)
                    return lie
                }
                // A reader waits for the key of an unknown epoch.
                let isEpoch = (4..<8).contains(place)
                #expect(
                    enemy.said(b, .damaged, .forged) || isEpoch && enemy.said(b, .withheld),
                    "\(address) byte \(place): \(b.alarms)")
                #expect(enemy.fleet.canonical(b) == view && !b.isRemoved)
                enemy.remote.lie = nil
            }
        }
    }

    enum Rubbish: CaseIterable { case otherRealm, zeros, empty, short, tooLong, reader }

    @Test(arguments: Rubbish.allCases) func `what is no record stops no log but its own, and goes away`(
        rubbish: Rubbish
    ) throws {
        let enemy = try EnemyStore("rubbish \(rubbish)")
        let b = enemy.b
        let reader = try #require(try enemy.fleet.enrol("reader", by: enemy.a, role: .reader))
        for device in enemy.fleet.devices { try device.sync(enemy.remote, isSilent: true) }
        try enemy.oneMore(enemy.c)
        let next = RecordAddress(RecordStream(.log, enemy.a.log), enemy.a.items.saved.sequence + 1)
        let poison = Array("poison".utf8)
        var bytes: [UInt8] = []
        var address = next
        switch rubbish {
        case .otherRealm:
            let other = try EnemyStore("other realm")
            bytes = try #require(other.remote.records[RecordStream(.log, other.a.log)]?.values.first)
        case .zeros: bytes = [UInt8](repeating: 0, count: 256 << 10)
        case .empty: break
        case .short: bytes = [UInt8](repeating: 1, count: 63)
        case .tooLong: bytes = [UInt8](repeating: 1, count: 256 << 10 + 1)
        case .reader:
            let log = reader.log
            let entry = try enemy.next(of: reader, in: log, telling: poison)
            let record = try enemy.seal(entry, signedBy: reader.file.identity, epoch: 1)
            (bytes, address) = (record.bytes, record.address)
        }
        try enemy.show { records in
            var records = records
            records[address] = bytes
            return records
        }
        #expect(enemy.said(b, rubbish == .reader ? .forged : .damaged), "\(b.alarms)")
        #expect(!enemy.believes(b, poison))
        #expect(enemy.world.problems.isEmpty)
        #expect(enemy.fleet.canonical(b) == enemy.fleet.canonical(enemy.c), "what others told arrives nevertheless")
        #expect(try enemy.isHealed())
    }

    @Test func `a roster's record by no owner changes nothing`() throws {
        let enemy = try EnemyStore("writer")
        let writer = try #require(try enemy.fleet.enrol("writer", by: enemy.a, role: .writer))
        for device in enemy.fleet.devices { try device.sync(enemy.remote, isSilent: true) }
        let (b, before) = (enemy.b, enemy.b.items.saved.rosterSequence)
        try writer.withReplica(enemy.remote) { replica, _ in
            let connection = writer.connection(enemy.remote)
            _ = try replica.appendToRoster([.remove(enemy.c.id, cuts: [])], at: connection)
        }
        #expect(enemy.said(writer, .forged))
        try enemy.twice(b)
        #expect(enemy.said(b, .forged))
        #expect(b.items.saved.rosterSequence == before && !enemy.fleet.differ)
    }

    @Test func `records that come twice are no harm, and different ones are noticed`() throws {
        let enemy = try EnemyStore("doubled")
        let new = try enemy.oneMore(enemy.a)
        enemy.remote.twins = { record in [record] }
        try enemy.twice(enemy.b)
        #expect(enemy.b.alarms.isEmpty && enemy.fleet.canonical(enemy.b) == enemy.fleet.canonical(enemy.a))
        let newer = try enemy.oneMore(enemy.a)
        enemy.remote.twins = { record in
            guard record.address == newer else { return [] }
            var bytes = record.bytes
            bytes[100] ^= 1
            return [StoredRecord(newer, bytes)]
        }
        try enemy.twice(enemy.b)
        #expect(enemy.said(enemy.b, .damaged) && !enemy.said(enemy.b, .forked))
        #expect(new.sequence < newer.sequence)
    }
}
