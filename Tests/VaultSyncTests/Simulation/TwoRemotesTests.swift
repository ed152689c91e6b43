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
        // Others write while b reads.
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
}
