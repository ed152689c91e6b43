// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A synchronized fleet, and a remote whose operator lies to one of its devices.
final class EnemyStore {
    let fleet: SimulatedFleet
    var world: SimulatedWorld { fleet.world }
    var remote: SimulatedRemote { fleet.remote }
    /// The operator's tools write to `a`'s records, lie to `b`, and leave `c` alone.
    let (a, b, c): (SimulatedDevice, SimulatedDevice, SimulatedDevice)

    init(_ seed: String, size: Int = 3, mostTips: Int = LogTip.limit) throws {
        let world = SimulatedWorld("enemy \(seed)")
        world.mostTips = mostTips
        fleet = try SimulatedFleet(world, SimulatedRemote(), size: size)
        (a, b, c) = (fleet.devices[0], fleet.devices[1], fleet.devices[2])
        for _ in 0..<25 {
            world.now += 7 * world.unit
            let device = world.random.element(of: fleet.devices)
            try device.edit()
            if world.random.chance(50) { try device.sync(remote) }
        }
        for _ in 0..<3 { for device in fleet.devices { try device.sync(remote) } }
        guard fleet.devices.allSatisfy({ $0.alarms.isEmpty && $0.notes.isEmpty }) else {
            throw SyncError.alarm((a.alarms + b.alarms + c.alarms + a.notes + b.notes + c.notes)[0])
        }
    }

    /// Publishes a new record of a device at a remote.
    @discardableResult
    func oneMore(_ device: SimulatedDevice, at other: SimulatedRemote? = nil) throws -> RecordAddress {
        let remote = other ?? remote
        try device.editForSure()
        try device.sync(remote, isSilent: true)
        try device.withReplica(remote) { replica, _ in try replica.publish(isForced: true) }
        try device.sync(remote, isSilent: true)
        return RecordAddress(RecordStream(.log, device.log), device.items.saved.sequence)
    }

    /// Syncs twice, with enough time in between for records in transit.
    func twice(_ device: SimulatedDevice) throws {
        for _ in 0..<2 {
            try device.sync(remote, isSilent: true)
            world.now += 2 * world.minute
        }
    }

    /// Shows `b` other records than the other devices see.
    func show(_ lie: @escaping (Records) -> Records) throws {
        remote.lie = { [name = b.name] device, records in device == name ? lie(records) : records }
        try twice(b)
    }

    func hide(_ address: RecordAddress, from low: UInt64 = 0, to high: UInt64 = .max) -> (Records) -> Records {
        { records in
            var records = records
            records.remove(address.stream, low...high)
            return records
        }
    }

    func said(_ device: SimulatedDevice, _ kinds: Alarm.Kind...) -> Bool {
        (device.alarms + device.notes).contains { kinds.contains($0.kind) }
    }

    /// Whether a device shows this secret as one of an item's values.
    func believes(_ device: SimulatedDevice, _ secret: [UInt8]) -> Bool {
        device.items.items.values.contains { entry in
            entry.state.fields[.secret]?.values.contains { $0.exposed == secret } ?? false
        }
    }

    /// Returns a handmade record of a log.
    func seal(
        _ entry: LogEntry<Secret>, signedBy signer: Identity, epoch: UInt32, at address: RecordAddress? = nil
    ) throws -> StoredRecord {
        let address = address ?? RecordAddress(RecordStream(.log, entry.logID), entry.sequence)
        let sealer = RecordSealer(realmID: world.realmID, random: world.names)
        guard let key = world.epochKeys[epoch] else { throw SyncError.notJoined }
        var entry = entry
        entry.epoch = epoch
        return StoredRecord(
            address,
            try sealer.seal(entry.pieces(\.count), at: address, epoch: epoch, key: key, signedBy: signer))
    }

    /// Returns an entry that could follow a device's last record and publishes a secret of an item.
    func next(of device: SimulatedDevice, in log: LogID? = nil, telling secret: [UInt8]) throws -> LogEntry<Secret> {
        let known = device.items.saved
        var item = try #require(b.items.items.values.first { $0.state.isAlive }?.state)
        let stamp = known.clock + 1 << 16
        let name = log ?? known.log
        item.context[name] = stamp
        item.fields[.secret] = [Dot(log: name, stamp: stamp): .secret(try Secret(bytes: secret))]
        return LogEntry(
            epoch: known.epoch, realmID: world.realmID, logID: name, deviceID: device.id,
            sequence: log == nil ? known.sequence + 1 : 1, previous: log == nil ? known.hash : .zero, hlc: stamp,
            logset: 0, rosterSequence: known.rosterSequence, rosterHash: known.rosterHash, items: [item])
    }

    /// Whether the fleet recovers once the operator tells the truth: no trace of the attack stays, and all devices
    /// agree.
    func isHealed() throws -> Bool {
        remote.lie = nil
        for _ in 0..<4 {
            for device in fleet.devices { (device.alarms, device.notes) = ([], []) }
            world.now += 2 * world.minute
            for device in fleet.devices { try device.sync(remote) }
        }
        return !fleet.differ && fleet.live.allSatisfy(\.alarms.isEmpty)
            && fleet.live.allSatisfy { $0.items.saved.suspects.isEmpty }
    }
}
