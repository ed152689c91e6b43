// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync

/// With a rule taken away the simulation's checks must find out: else they would find nothing.
struct ControlTests {
    private func life(_ seed: Int, without rules: Set<SimulatedWorld.Rule>) throws -> SimulatedFleet.End {
        var life = SimulatedFleet.Life()
        life.hasChaos = seed % 5 != 0
        life.isFolder = seed % 5 == 4
        life.broken = rules
        return try SimulatedFleet.live(90_000 + seed, life)
    }

    @Test(arguments: SimulatedWorld.Rule.allCases.filter { $0 != .sums && $0 != .removalRetelling })
    func `fleets without a rule are found out`(rule: SimulatedWorld.Rule) throws {
        for seed in 0..<60 {
            if !(try life(seed, without: [rule]).problems.isEmpty) { return }
        }
        Issue.record("60 fleets did well without \(rule)")
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

    /// - Returns: whether devices ended with different items; whether none of them says so.
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
            if !remembers { enemy.b.file.remote.seen = [:] }
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
