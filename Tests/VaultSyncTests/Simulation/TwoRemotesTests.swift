// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

@testable import VaultSync

struct TwoRemotesTests {
    @Test func `what waits for a record of one remote is neither passed on to another nor held against that`() throws {
        let enemy = try EnemyStore("two remotes")
        let (a, b, c, world) = (enemy.a, enemy.b, enemy.c, enemy.world)
        let other = SimulatedRemote(number: 1)
        for device in enemy.fleet.devices { try device.sync(other, isSilent: true) }
        let first = try enemy.oneMore(a)
        try c.sync(enemy.remote)
        let second = try enemy.oneMore(c)
        // Other devices write while b reads.
        enemy.remote.lie = { [hide = enemy.hide(first, from: first.sequence)] _, records in hide(records) }
        try b.sync(enemy.remote, isSilent: true)
        for _ in 0..<3 {
            world.now += 2 * world.minute
            try b.sync(other, isSilent: true)
        }
        #expect(b.alarms.isEmpty, "\(b.alarms)")
        #expect(other.records[second] == nil)
        enemy.remote.lie = nil
        try b.sync(enemy.remote, isSilent: true)
        try b.sync(other, isSilent: true)
        #expect(
            other.records[second] != nil && b.alarms.isEmpty && enemy.fleet.canonical(b) == enemy.fleet.canonical(c))
    }

    @Test(arguments: 0..<4) func `what a file that was put back had told one remote alone is told again`(
        seed: Int
    ) throws {
        let enemy = try EnemyStore("late \(seed)")
        let (a, world, other) = (enemy.a, enemy.world, SimulatedRemote(number: 1))
        (enemy.fleet.other, world.remoteCount) = (other, 2)
        for device in enemy.fleet.devices { try device.sync(other, isSilent: true) }
        let old = a.file.copy()
        try enemy.oneMore(a)
        for _ in 0...seed {
            try a.editForSure()
            try a.withReplica(other) { replica, _ in try replica.publish(isForced: true) }
            try a.sync(other, isSilent: true)
        }
        a.file = old
        a.mirror.records = [:]
        // This remote has less of the log than the other: the log ends there.
        try a.sync(enemy.remote)
        for _ in 0..<4 {
            world.now += 2 * world.minute
            for device in enemy.fleet.devices {
                try device.sync(enemy.remote)
                try device.sync(other)
            }
        }
        #expect(enemy.fleet.problems(SimulatedFleet.Life(), hasPutBack: true).isEmpty)
    }
}
