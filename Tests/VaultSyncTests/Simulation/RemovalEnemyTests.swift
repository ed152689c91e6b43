// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// Removals altered in transit by the operator of a remote.
struct RemovalEnemyTests {
    /// Makes a fleet that has just removed `c`, unknown to its other devices.
    private static func removal(
        _ seed: String
    ) throws -> (enemy: EnemyStore, address: RecordAddress, record: [UInt8], before: Records) {
        let enemy = try EnemyStore(seed)
        for device in [enemy.b, enemy.c] { try device.sync(enemy.remote, isSilent: true) }
        let before = enemy.remote.records
        #expect(try enemy.fleet.remove(enemy.c, by: enemy.a))
        let stream = RecordStream(.roster, enemy.world.realmID)
        let address = RecordAddress(stream, before.last(stream) + 1)
        return (enemy, address, try #require(enemy.remote.records[address]), before)
    }

    /// Shows a device the remote's state from before the removal, with this record added.
    private static func show(
        _ record: [UInt8], at address: RecordAddress, _ before: Records, to device: SimulatedDevice,
        _ enemy: EnemyStore
    ) throws {
        (device.alarms, device.notes, device.isRemoved) = ([], [], false)
        enemy.remote.lie = { name, records in
            guard name == device.name else { return records }
            var lie = before
            lie[address] = record
            return lie
        }
        try enemy.twice(device)
        enemy.remote.lie = nil
    }

    private static func places(_ record: SealedRecord) -> [Int] {
        let box = record.box
        return Array(0..<box.lowerBound + 40) + stride(from: box.lowerBound + 40, to: box.upperBound, by: 37)
    }

    @Test func `no byte of a removal can be changed for those who stay`() throws {
        let (enemy, address, bytes, before) = try Self.removal("removal of another")
        let (b, file, mirror) = (enemy.b, enemy.b.file.copy(), enemy.b.mirror.records)
        let view = enemy.fleet.canonical(b)
        for place in Self.places(try SealedRecord(parsing: bytes, .roster)) {
            (b.file, b.mirror.records) = (file.copy(), mirror)
            var altered = bytes
            altered[place] ^= 1 << UInt8(place % 8)
            try Self.show(altered, at: address, before, to: b, enemy)
            #expect(enemy.said(b, .damaged, .forged) && !b.isRemoved, "byte \(place): \(b.alarms)")
            #expect(enemy.fleet.canonical(b) == view && b.mirror.records[address] == nil)
        }
        #expect(try enemy.isHealed())
    }

    @Test func `a removed device believes its farewell, as an owner signed it, and nothing else`() throws {
        let (enemy, address, bytes, before) = try Self.removal("removal of oneself")
        let (c, file, mirror) = (enemy.c, enemy.c.file.copy(), enemy.c.mirror.records)
        let record = try SealedRecord(parsing: bytes, .roster)
        let farewell = try #require(record.farewell(at: 0))
        for place in Self.places(record) {
            (c.file, c.mirror.records) = (file.copy(), mirror)
            var altered = bytes
            altered[place] ^= 1 << UInt8(place % 8)
            try Self.show(altered, at: address, before, to: c, enemy)
            #expect(c.isRemoved || enemy.said(c, .damaged), "byte \(place): \(c.alarms)")
            if place < 10 || farewell.contains(place) { #expect(!c.isRemoved, "byte \(place)") }
            #expect(c.mirror.records[address] == nil)
        }
        (c.file, c.mirror.records) = (file.copy(), mirror)
        try Self.show(bytes, at: address, before, to: c, enemy)
        #expect(c.isRemoved && !enemy.said(c, .damaged))
    }

    enum Lie: CaseIterable {
        case noFarewell, rubbish, otherRealm, otherSequence, otherDevice, otherSigner, removedSigner, cutOff
    }

    @Test(arguments: Lie.allCases) func `no record without a farewell of an owner's removes a device`(lie: Lie) throws {
        let (enemy, address, bytes, _) = try Self.removal("lie \(lie)")
        let (a, b, c) = (enemy.a, enemy.b, enemy.c)
        try b.sync(enemy.remote, isSilent: true)
        let next = RecordAddress(address.stream, address.sequence + 1)
        let (realm, device) = (enemy.world.realmID, b.rosterDevice)
        let owner = a.file.identity
        let farewells: [[UInt8]]
        switch lie {
        case .noFarewell, .cutOff: farewells = []
        case .rubbish: farewells = [[UInt8](repeating: 9, count: SealedRecord.farewellLength)]
        case .otherRealm:
            let other = Bytes16([UInt8](repeating: 9, count: 16))
            farewells = [try Farewell.seal(to: device, other, next.sequence, signedBy: owner)]
        case .otherSequence:
            farewells = [
                try Farewell.seal(to: device, realm, address.sequence, signedBy: owner),
                try Farewell.seal(to: device, realm, next.sequence + 1, signedBy: owner),
            ]
        case .otherDevice:
            // The farewell of `c`, for the key of `b`.
            var other = c.rosterDevice
            (other.boxKey, other.signingKey) = (device.boxKey, device.signingKey)
            let record = try SealedRecord(parsing: bytes, .roster)
            farewells = [
                try Farewell.seal(to: other, realm, next.sequence, signedBy: owner),
                Array(bytes[try #require(record.farewell(at: 0))]),
            ]
        case .otherSigner:
            let stranger = try Identity(realm, seeds: Secret(try enemy.world.names.secret(64)), epochKeys: [:])
            farewells = [try Farewell.seal(to: device, realm, next.sequence, signedBy: stranger)]
        case .removedSigner:
            farewells = [try Farewell.seal(to: device, realm, next.sequence, signedBy: c.file.identity)]
        }
        var record = try SealedRecord.plainPart(.roster, epoch: 3, farewells: farewells)
        record += [UInt8](repeating: 7, count: 24 + 528)
        if lie == .cutOff {
            record = try SealedRecord.plainPart(
                .roster, epoch: 3, farewells: [Farewell.seal(to: device, realm, next.sequence, signedBy: owner)])
            record += [UInt8](repeating: 7, count: 24 + 500)
        }
        let whole = enemy.remote.records
        try Self.show(record, at: next, whole, to: b, enemy)
        #expect(enemy.said(b, .damaged) && !b.isRemoved)
        #expect(b.mirror.records[next] == nil)
        // The altered file is removed.
        (b.alarms, b.notes) = ([], [])
        try enemy.oneMore(a)
        #expect(try enemy.isHealed())
    }
}
