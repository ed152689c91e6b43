// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

@testable import VaultSync

struct ReaderTests {
    @Test func `a reader hears everything and tells nothing`() throws {
        let enemy = try EnemyStore("reader")
        let reader = try #require(try enemy.fleet.enrol("reader", by: enemy.a, role: .reader))
        try reader.edit()
        for _ in 0..<4 {
            try enemy.oneMore(enemy.a)
            for device in enemy.fleet.devices { try device.sync(enemy.remote) }
        }
        #expect(enemy.fleet.live.allSatisfy(\.alarms.isEmpty) && reader.items.saved.sequence == 0)
        #expect(enemy.remote.records[RecordStream(.log, reader.log)] == nil)
        #expect(reader.items.saved.logs.values.contains { $0.at != 0 })
        #expect(reader.items.saved.stable > 0 && reader.items.saved.equalAt > 0)
    }
}
