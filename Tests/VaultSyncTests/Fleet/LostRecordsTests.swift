// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync

/// Remotes that have lost records.
struct LostRecordsTests {
    /// A server restored while a device writes has the device's last record, and none of those before.
    @Test func `records that are gone below the end of a log are said to be gone, and put back`() throws {
        let homes = try Home.fleet(["a", "b"])
        for number in 0..<3 {
            try homes[0].add("\(number)", "one")
            try homes[0].sync()
        }
        try homes[1].sync()
        let membership = try homes[0].fleet.membership()
        let store = try homes[0].fleet.store(at: Home.access, realm: membership.identity.realmID)
        let stream = RecordStream(.log, membership.state.log)
        let before = try #require(try store.heads().first { $0.stream == stream })
        try store.remove(RecordAddress(stream, before.last - 1))
        let healed = try homes[1].sync()
        #expect(healed.notes.map(\.kind) == [.rolledBack])
        #expect(try store.heads().first { $0.stream == stream } == before)
        #expect(try homes[1].sync().notes.isEmpty)
        #expect(try homes[0].sync().notes.isEmpty)
    }

    @Test func `records that a device puts there first were not lost`() throws {
        let homes = try Home.fleet(["a", "b"])
        for number in 0..<3 {
            try homes[0].add("\(number)", "one")
            #expect(try homes[0].sync().notes.isEmpty)
            #expect(try homes[1].sync().notes.isEmpty)
        }
    }
}
