// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// Negative controls: with a rule removed, the simulation's checks must fail; otherwise they would detect nothing.
struct ControlTests {
    private func life(_ seed: Int, without rules: Set<SimulatedWorld.Rule>) throws -> SimulatedFleet.End {
        var life = SimulatedFleet.Life()
        life.hasChaos = seed % 5 != 0
        life.isFolder = seed % 5 == 4
        life.broken = rules
        return try SimulatedFleet.live(90_000 + seed, life)
    }

    @Test(arguments: SimulatedWorld.Rule.played)
    func `fleets without a rule are found out`(rule: SimulatedWorld.Rule) throws {
        for seed in 0..<60 {
            if !(try life(seed, without: [rule]).problems.isEmpty) { return }
        }
        Issue.record("60 fleets did well without \(rule)")
    }

    /// Makes an item that every device knows.
    private func oneItem(_ enemy: EnemyStore) throws -> ItemID {
        try enemy.a.editForSure()
        for _ in 0..<2 { for device in enemy.fleet.devices { try device.sync(enemy.remote) } }
        return try #require(enemy.a.items.view.visible.sorted().first)
    }

    private func tell(_ device: SimulatedDevice, _ enemy: EnemyStore, also: Set<ItemID> = []) throws {
        try device.withReplica(enemy.remote) { replica, _ in try replica.publish(also: also, isForced: true) }
        try device.sync(enemy.remote, isSilent: true)
    }

    private func write(
        _ device: SimulatedDevice, _ item: ItemID, _ changes: [FieldID: FieldValue<Secret>], _ enemy: EnemyStore
    ) {
        enemy.world.now += enemy.world.unit
        device.setClock()
        device.items.write(item, changes)
    }

    @Test(arguments: [[], [SimulatedWorld.Rule.lateErasing]])
    func `values go when nobody can be left who edits the item unaware`(rules: [SimulatedWorld.Rule]) throws {
        let enemy = try EnemyStore("erasing")
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        let item = try oneItem(enemy)
        enemy.world.broken = Set(rules)
        let label = FieldID.attribute(Attribute.label.tag)
        write(c, item, [.life: .plain([1]), label: .plain([1] + Array("of c".utf8))], enemy)
        try tell(c, enemy)
        try a.sync(enemy.remote, isSilent: true)
        write(b, item, [.life: .plain([1]), .secret: .secret(try Secret(text: "of b"))], enemy)
        write(a, item, [.life: .plain([0])], enemy)
        try tell(a, enemy)
        for device in [c, a] { try device.sync(enemy.remote, isSilent: true) }
        // Published before the device receives the others' changes.
        try tell(b, enemy)
        for _ in 0..<2 { for device in [a, c, b] { try device.sync(enemy.remote, isSilent: true) } }
        #expect(enemy.fleet.differ == !rules.isEmpty)
    }

    @Test(arguments: [[], [SimulatedWorld.Rule.lateErasing, .latePurging]])
    func `tombstones go when no record is left that knows the item alive`(rules: [SimulatedWorld.Rule]) throws {
        let enemy = try EnemyStore("purging")
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        let item = try oneItem(enemy)
        enemy.world.broken = Set(rules)
        write(a, item, [.life: .plain([0])], enemy)
        try tell(a, enemy)
        for _ in 0..<2 { try a.sync(enemy.remote, isSilent: true) }
        #expect((a.items.items[item] == nil) == !rules.isEmpty)
        // Published again before the device learns of the deletion, as before a trim.
        try tell(c, enemy, also: [item])
        for _ in 0..<2 { for device in [a, b, c] { try device.sync(enemy.remote, isSilent: true) } }
        #expect(enemy.fleet.differ == !rules.isEmpty)
    }

    @Test func `what a removed device alone has told is told again before it goes`() throws {
        for rules in [[], [SimulatedWorld.Rule.removalRetelling]] {
            let enemy = try EnemyStore("removal")
            try enemy.c.editForSure()
            for _ in 0..<2 { for device in enemy.fleet.devices { try device.sync(enemy.remote) } }
            enemy.world.broken = Set(rules)
            #expect(try enemy.fleet.remove(enemy.c, by: enemy.a))
            _ = try enemy.fleet.enrol("new", by: enemy.a)
            for _ in 0..<2 { for device in enemy.fleet.devices { try device.sync(enemy.remote) } }
            #expect(enemy.fleet.differ == !rules.isEmpty)
        }
    }

    /// - Returns: Whether devices ended with different items, and whether no device raised an alarm.
    private func silence(_ seed: Int, without rules: Set<SimulatedWorld.Rule>) throws -> (differ: Bool, isSilent: Bool)
    {
        let fleet = try life(seed, without: rules).fleet
        return (fleet.differ, fleet.live.allSatisfy(\.alarms.isEmpty))
    }

    @Test(arguments: [SimulatedWorld.Rule.vouching, .retellingBeforeTrim, .orderOfCollisions])
    func `sums tell of differences that would be silent`(rule: SimulatedWorld.Rule) throws {
        var isSilentWithout = false
        for seed in 0..<60 where !isSilentWithout {
            let without = try silence(seed, without: [rule, .sums])
            isSilentWithout = without.differ && without.isSilent
            let with = try silence(seed, without: [rule])
            #expect(!(with.differ && with.isSilent), "VAULT_FLEET_SEED=\(90_000 + seed)")
        }
        #expect(isSilentWithout)
    }

    @Test func `without what a device has seen, a remote could be rolled back unnoticed`() throws {
        for remembers in [true, false] {
            let enemy = try EnemyStore("rolled back")
            let old = enemy.remote.records
            try enemy.oneMore(enemy.a)
            try enemy.b.sync(enemy.remote)
            if !remembers { enemy.b.file.remotes = [:] }
            enemy.remote.lie = { _, _ in old }
            try enemy.b.sync(enemy.remote, isSilent: true)
            #expect(enemy.said(enemy.b, .rolledBack) == remembers)
        }
    }

    @Test func `one look does not make what is missing withheld`() throws {
        let enemy = try EnemyStore("one look")
        let new = try enemy.oneMore(enemy.a)
        try enemy.c.sync(enemy.remote)
        try enemy.oneMore(enemy.c)
        let hidden = enemy.hide(new, from: new.sequence)
        enemy.remote.lie = { _, records in hidden(records) }
        try enemy.b.sync(enemy.remote, isSilent: true)
        #expect(enemy.b.alarms.isEmpty)
        enemy.world.now += 2 * enemy.world.minute
        try enemy.b.sync(enemy.remote, isSilent: true)
        #expect(enemy.said(enemy.b, .withheld))
    }
}
