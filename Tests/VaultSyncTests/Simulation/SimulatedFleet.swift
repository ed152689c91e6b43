// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// Devices that share a remote, and the events of their run.
final class SimulatedFleet {
    let world: SimulatedWorld
    var remote: SimulatedRemote
    /// A second remote, for all devices.
    var other: SimulatedRemote?
    var devices: [SimulatedDevice] = []

    init(_ world: SimulatedWorld, _ remote: SimulatedRemote, size: Int, skews: [Int64] = []) throws {
        (self.world, self.remote) = (world, remote)
        try found()
        for index in 1..<max(size, 1) {
            guard let first = devices.first else { return }
            _ = try enrol("d\(index)", by: first, skew: index < skews.count ? skews[index] : 0)
        }
    }

    var live: [SimulatedDevice] { devices.filter { !$0.isRemoved } }

    private func found() throws {
        let key = Secret(try world.names.secret(32))
        let device = try SimulatedDevice(world, "d0", keys: [1: key])
        let recovery = try Identity(
            world.realmID, seeds: Secret(try world.names.secret(64)), epochKeys: [:])
        let (signing, box) = recovery.device
        let operations: [RosterOperation<Secret>] = [
            .genesis(founder: device.id, recovery: recovery.deviceID, recoveryMAC: .zero),
            .enrol(device.rosterDevice),
            .enrol(
                RosterDevice(
                    id: recovery.deviceID, signingKey: signing, boxKey: box, role: .recovery, name: "recovery code")),
        ]
        try device.withReplica(remote) { replica, _ in
            guard try replica.appendToRoster(operations, at: device.connection(remote)) else {
                throw SyncError.remoteInUse
            }
            try replica.items.commit(ReplicaChange(), replica.state)
        }
        devices.append(device)
        try device.sync(remote)
    }

    /// - Returns: The new device; `nil` if the enrolment did not finish.
    func enrol(
        _ name: String, by approver: SimulatedDevice, role: DeviceRole = .owner, skew: Int64 = 0, syncs: Bool = true
    ) throws -> SimulatedDevice? {
        let device = try SimulatedDevice(world, name, skew: skew, keys: [:])
        var entry = device.rosterDevice
        entry.role = role
        for _ in 0..<4 {
            guard try syncsFully(approver) else { return nil }
            let connection = approver.connection(remote)
            let isDone = try approver.withReplica(remote) { replica, _ in
                let isDone = try replica.appendToRoster([.enrol(entry)], at: connection)
                try replica.items.commit(ReplicaChange(), replica.state)
                return isDone
            }
            guard isDone == true else { continue }
            device.file.identity = try device.file.identity.with(approver.file.identity.epochKeys)
            guard syncs else { return device }
            if remote.isFolder { remote.travel(to: [name], percent: 100, world.random) }
            try device.sync(remote, isSilent: true)
            guard role != .reader else { break }
            let own = device.connection(remote)
            try device.withReplica(remote) { replica, known in
                try replica.publish(isForced: true)
                try replica.sync(with: own, &known)
            }
            break
        }
        devices.append(device)
        return device
    }

    /// - Returns: Whether the roster now contains the removal.
    func remove(_ gone: SimulatedDevice, by remover: SimulatedDevice, cutPercent: Int = 0) throws -> Bool {
        let others = live.filter { $0 !== remover }
        func meanwhile() throws {
            for device in others where world.random.chance(30) {
                try device.edit()
                try device.sync(remote)
            }
        }
        guard try syncsFully(remover) else { return false }
        try meanwhile()
        remote.beforeRoster = meanwhile
        let connection = remover.connection(remote, cutPercent: cutPercent)
        remover.items.isRemoving = true
        let isDone = try remover.withReplica(remote) { replica, _ in
            let isDone = try replica.remove(gone.id, at: connection)
            // Uncommitted state is lost, as if the process ended here.
            return isDone
        }
        remover.items.isRemoving = false
        remote.beforeRoster = nil
        try remover.sync(remote)
        return isDone == true
    }

    /// Syncs with every remote; returns whether that finished without an alarm.
    private func syncsFully(_ device: SimulatedDevice) throws -> Bool {
        let isDone = try other.map { try device.sync($0) } ?? true
        return try isDone && device.sync(remote) && device.alarms.isEmpty
    }

    // MARK: A whole run

    struct Life {
        var size: Int?
        var steps = 60
        /// Whether files and the remote's disk are restored, and devices come and go.
        var hasChaos = true
        var isFolder = false
        /// Whether files and the remote's disk are restored in the same run.
        var hasBoth = false
        var hasTwoRemotes = false
        var hasLargeValues = false
        var broken: Set<SimulatedWorld.Rule> = []
    }

    /// The end of a run.
    struct End {
        let fleet: SimulatedFleet
        let problems: [String]
    }

    /// Runs an unlucky fleet with an honest remote. At the end all devices sync.
    static func live(_ seed: Int, _ life: Life = Life()) throws -> End {
        let world = SimulatedWorld("fleet \(seed)")
        let random = world.random
        world.isTorn = true
        world.broken = life.broken
        world.mostTips = [0: 1, 3: 2][seed % 7] ?? LogTip.limit
        world.entryLength = [400, 900, 4000][seed % 3]
        let size = life.size ?? random.number(in: 2...5)
        let skews = (0..<size).map { _ in
            Int64(random.element(of: [0, 0, -50, 30, random.chance(20) ? 100_000 : 5])) * Int64(world.unit)
        }
        let fleet = try SimulatedFleet(world, SimulatedRemote(counts: seed % 2 == 0), size: size, skews: skews)
        if life.isFolder {
            let folder = SimulatedRemote(fleet.remote.records, isFolder: true, counts: seed % 2 == 0)
            folder.share(with: fleet.devices.map(\.name))
            fleet.remote = folder
        }
        if life.hasTwoRemotes {
            fleet.other = SimulatedRemote(number: 1, counts: seed % 2 == 1)
            world.remoteCount = 2
        }
        world.largePercent = life.hasLargeValues ? 5 : 0
        var fates = Fates(life, random)
        for _ in 0..<life.steps { try fleet.step(life, &fates) }
        fleet.travel(100)
        for _ in 0..<6 { try fleet.everybodySyncs() }
        let well = fleet.live.filter(\.alarms.isEmpty)
        if life.hasChaos, !life.isFolder, !well.isEmpty, random.chance(60) {
            // A new device, which knows only the remote's content.
            _ = try fleet.enrol("new", by: random.element(of: well))
            for _ in 0..<4 { try fleet.everybodySyncs() }
        }
        return End(fleet: fleet, problems: fleet.problems(life, hasPutBack: fates.hasPutBack))
    }

    func travel(_ percent: Int) {
        guard remote.isFolder else { return }
        remote.travel(to: devices.map(\.name), percent: percent, world.random)
    }

    func everybodySyncs() throws {
        world.now += 2 * world.minute
        for device in devices {
            try device.sync(remote)
            if let other { try device.sync(other) }
            travel(100)
        }
    }

    /// The remaining events of a run.
    private struct Fates {
        /// A single kind of disaster per run, unless both are requested.
        let restoresRemote: Bool
        let putsFilesBack: Bool
        var backup: Records?
        var copies: [String: (file: SimulatedDevice.File, mirror: Records)] = [:]
        var hasPutBack = false
        var removed = 0

        init(_ life: Life, _ random: SeededRandom) {
            restoresRemote = life.hasBoth || random.chance(50)
            putsFilesBack = life.hasBoth || !restoresRemote
        }
    }

    private func step(_ life: Life, _ fates: inout Fates) throws {
        let random = world.random
        world.now += UInt64(random.number(in: 1...19)) * world.unit
        let device = random.element(of: live)
        let dice = random.uniform(1000)
        travel(15)
        switch dice {
        case 0..<520: try device.edit()
        case 520..<850:
            let chosen = random.chance(50) ? other ?? remote : remote
            try device.sync(chosen, cutPercent: random.element(of: [0, 0, 2, 8]))
        case _ where !life.hasChaos || life.isFolder: break
        case 850..<880: fates.backup = remote.records
        case 880..<910:
            guard let backup = fates.backup, fates.restoresRemote else { return }
            remote.records = backup
            world.count("remotes restored")
            fates.backup = nil
        case 910..<935:
            guard fates.copies[device.name] == nil || random.chance(50) else { return }
            fates.copies[device.name] = (device.file.copy(), device.mirror.records)
        case 935..<968:
            guard let copy = fates.copies[device.name], fates.putsFilesBack else { return }
            putBack(copy.file, copy.mirror, of: device)
            fates.hasPutBack = true
        case 968..<983:
            guard devices.count < 7, random.chance(60) else { return }
            if try enrol("d\(devices.count)", by: device) != nil { world.count("joined") }
        case 983...:
            let others = live.filter { $0 !== device }
            guard others.count > 1, fates.removed < 2 else { return }
            let gone = random.element(of: others)
            if try remove(gone, by: device, cutPercent: random.element(of: [0, 0, 0, 5])) {
                fates.removed += 1
                world.count("removed")
            }
        default: break
        }
    }

    private func putBack(_ file: SimulatedDevice.File, _ mirror: Records, of device: SimulatedDevice) {
        let before = world.seen(device.items.base)
        device.file = file.copy()
        world.lostByRestore.formUnion(before.subtracting(world.seen(device.items.base)))
        if world.random.chance(50) {
            device.mirror.records = mirror
        } else if world.random.chance(30) {
            device.mirror.records = [:]
        }
        world.count("files put back")
    }
}
