// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// Restored files of a device, at the worst moments.
struct PutBackTests {
    @Test(arguments: 0..<6) func `one copy of a file can be put back twice`(seed: Int) throws {
        let enemy = try EnemyStore("twice \(seed)")
        let (a, remote) = (enemy.a, enemy.remote)
        let old = a.file.copy()
        for _ in 0..<3 { try enemy.oneMore(a) }
        a.file = old.copy()
        try a.sync(remote, isSilent: true)
        try a.editForSure()
        for _ in 0..<2 {
            try a.withReplica(remote) { replica, _ in try replica.publish() }
            try a.sync(remote, isSilent: true)
        }
        // Trims the abandoned log.
        try a.withReplica(remote) { replica, _ in
            #expect(!replica.leftLogs().isEmpty)
            try replica.trim(replica.leftLogs())
        }
        try a.sync(remote, isSilent: true)
        // Restored again, without a mirror.
        a.file = old
        a.mirror.records = [:]
        try a.editForSure()
        for _ in 0..<5 {
            enemy.world.now += 2 * enemy.world.minute
            for device in enemy.fleet.devices { try device.sync(remote) }
        }
        #expect(enemy.fleet.problems(SimulatedFleet.Life(), hasPutBack: true).isEmpty)
    }

    @Test(arguments: 0..<7) func `a log that was left goes up in part, and nobody takes that for withholding`(
        after count: Int
    ) throws {
        let enemy = try EnemyStore("left")
        let (a, b, remote) = (enemy.a, enemy.b, enemy.remote)
        let old = a.file.copy()
        try enemy.oneMore(a)
        for _ in 0..<3 {
            try a.editForSure()
            try a.withReplica(remote) { replica, _ in try replica.publish(isForced: true) }
        }
        a.file = old
        remote.accepts = count
        try a.sync(remote)
        remote.accepts = nil
        try enemy.twice(b)
        #expect(b.alarms.isEmpty)
    }

    @Test func `a change that was pending goes on at its own item, also when the mirror was lost`() throws {
        let enemy = try EnemyStore("pending")
        let (a, remote) = (enemy.a, enemy.remote)
        let old = a.file.copy()
        for _ in 0..<4 { try enemy.oneMore(a) }
        let count = enemy.fleet.devices[0].items.view.alive.count
        // Changed in the restored copy: an item that only the device's own log has published.
        a.file = old
        let item = try #require(a.items.view.visible.sorted().first)
        a.setClock()
        a.items.write(item, [.life: .plain([1]), .secret: .secret(try Secret(text: "pending"))])
        a.mirror.records = [:]
        for _ in 0..<3 {
            enemy.world.now += 2 * enemy.world.minute
            for device in enemy.fleet.devices { try device.sync(remote) }
        }
        #expect(enemy.fleet.problems(SimulatedFleet.Life(), hasPutBack: true).isEmpty)
        #expect(enemy.believes(enemy.b, Array("pending".utf8)))
        #expect(a.items.view.alive.count <= count + 1)
        #expect(enemy.world.stats["moved values"] == nil)
    }

    @Test func `a device removes records when an entry of its own says so, and not before`() throws {
        let enemy = try EnemyStore("own entry")
        let (a, b, remote) = (enemy.a, enemy.b, enemy.remote)
        let (old, first) = (a.file.copy(), RecordStream(.log, a.log))
        for _ in 0..<3 { try enemy.oneMore(a) }
        a.file = old
        try a.sync(remote, isSilent: true)
        try enemy.oneMore(a)
        let whole = remote.records[first]
        try a.withReplica(remote) { replica, _ in try replica.trim(replica.leftLogs()) }
        try a.sync(remote, isSilent: true)
        #expect(remote.records[first]?.count == 1)
        // A remote that has the whole log again, and a device that only knows of the trim.
        remote.records[first] = whole
        try b.sync(remote, isSilent: true)
        try b.sync(remote, isSilent: true)
        #expect(remote.records[first] == whole)
        try b.withReplica(remote) { replica, _ in try replica.publish(isForced: true) }
        try b.sync(remote, isSilent: true)
        #expect(remote.records[first]?.count == 1)
    }

    @Test func `a beginning of a log that no remote has heard of is void`() throws {
        let enemy = try EnemyStore("void")
        let (a, remote) = (enemy.a, enemy.remote)
        func write(_ id: ItemID, _ secret: String, isNew: Bool = false) throws {
            enemy.world.now += enemy.world.unit
            a.setClock()
            var changes: [FieldID: FieldValue<Secret>] = [
                .life: .plain([1]), .secret: .secret(try Secret(text: secret)),
            ]
            if isNew {
                let list: AttributeList = [Attribute.account.tag: .string(secret)]
                changes[.primaryKey] = .plain(EncodedAttributes(list, user: [:]).bytes)
                changes[.protection] = .plain([1])
            }
            a.items.write(id, changes)
        }
        func tell() throws {
            try a.withReplica(remote) { replica, _ in try replica.publish(isForced: true) }
            try a.sync(remote, isSilent: true)
        }
        let old = a.file.copy()
        let (first, item, another) = (a.log, a.items.makeItemID(), a.items.makeItemID())
        try write(item, "told once", isNew: true)
        for _ in 0..<3 { try tell() }
        // The file is restored, and abandons its log.
        a.file = old
        try a.sync(remote, isSilent: true)
        try write(another, "another", isNew: true)
        try tell()
        #expect(a.items.items[item]?.state.context.keys.contains(first) == true && a.log != first)
        // This file trims that log, but then a twin closes this file's log as well.
        let twin = (a.file.copy(), a.mirror.records)
        try a.withReplica(remote) { replica, _ in
            #expect(replica.leftLogs() == [first])
            try replica.trim(replica.leftLogs())
            try replica.withRun { run throws(SyncError) in try run.removeTrimmed(isAcknowledged: false) }
        }
        let trimmed = (a.file.copy(), a.mirror.records)
        #expect(trimmed.1[RecordStream(.log, first)]?.count == 1)
        (a.file, a.mirror.records) = twin
        try write(another, "by the twin")
        for _ in 0..<3 { try tell() }
        (a.file, a.mirror.records) = trimmed
        try write(item, "pending")
        for _ in 0..<4 {
            enemy.world.now += 2 * enemy.world.minute
            for device in enemy.fleet.devices { try device.sync(remote) }
        }
        let problems = enemy.fleet.problems(SimulatedFleet.Life(), hasPutBack: true)
        #expect(problems.isEmpty)
        #expect(enemy.world.stats["moved values"] == nil)
        #expect(enemy.believes(enemy.b, Array("pending".utf8)))
    }
}
