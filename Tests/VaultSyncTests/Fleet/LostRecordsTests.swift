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

    /// A device that has followed the roster does not read the mirror's copy again.
    @Test func `an altered copy of the roster is not put back at a remote that lost it`() throws {
        let homes = try Home.fleet(["a", "b"])
        for home in homes + homes { try home.sync() }
        let realm = try homes[0].fleet.membership().identity.realmID
        let stream = RecordStream(.roster, realm)
        let address = RecordAddress(stream, 1)
        let (mirror, store) = (
            homes[0].fleet.mirrorStore(of: realm), try homes[0].fleet.store(at: Home.access, realm: realm)
        )
        let honest = try #require(try store.record(at: address))
        var altered = honest
        altered[altered.count - 1] ^= 1
        try mirror.remove(address)
        _ = try mirror.append([StoredRecord(address, altered)])
        try store.remove(stream, below: .max)
        _ = try? homes[0].fleet.sync()
        #expect(try store.record(at: address) == nil)
        try homes[1].sync()
        #expect(try store.record(at: address) == honest)
        try homes[0].sync()
        #expect(try mirror.record(at: address) == honest)
    }
}
