// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// A machine with a real vault whose process is killed, or whose power fails, during a sync.
final class CrashingDevice {
    static let passphrase = "correct horse"

    let world: SimulatedWorld
    let identity: Identity
    var disk: SimulatedDisk
    var mirror = OpenRecordStore()
    /// A separate disk for the mirror.
    var mirrorDisk: SimulatedDisk?
    var remote = RemoteState()
    private let clock: ManualClock

    /// - Parameter fleet: The fleet, to which this device is added.
    init(_ fleet: SimulatedFleet) throws {
        world = fleet.world
        disk = SimulatedDisk()
        clock = ManualClock(now: 0, step: 0)
        guard let helper = try fleet.enrol("vault", by: fleet.devices[0], role: .owner, syncs: false) else {
            throw SyncError.noAnswer
        }
        identity = helper.file.identity
        let vault = try Vault.create(
            at: path, passphrase: .of(CrashingDevice.passphrase), cost: .weakest, environment: environment)
        try vault.beginReplication()
        let items = VaultItems(vault, nil, of: world.realmID, random: world.names)
        try items.commit(ReplicaChange(), ReplicaState(log: Bytes16(world.names.bytes(16))))
    }

    init(copying other: CrashingDevice, disk: SimulatedDisk) {
        (world, identity, self.disk, remote) = (other.world, other.identity, disk, other.remote)
        mirror = OpenRecordStore(other.mirror.records)
        clock = other.clock
    }

    private var mirrorStore: any RecordStore {
        guard let mirrorDisk else { return mirror }
        return DirectoryRecordStore(
            mirrorDisk.root, realm: world.realmID, createsRoot: true, on: mirrorDisk, random: world.names)
    }

    private var path: FilePath { disk.root.appending("v.vault") }

    private var environment: VaultEnvironment {
        clock.advance(by: Double(world.now) / 1000 - 978_307_200 - clock.now)
        return VaultEnvironment(fileSystem: disk, clock: clock, random: world.names, stateDirectory: nil)
    }

    func open() throws -> Vault {
        try Vault.open(at: path, unlockingWith: .of(CrashingDevice.passphrase), environment: environment)
    }

    func items(of vault: Vault) throws -> (items: VaultItems, state: ReplicaState) {
        guard
            let found = try vault.readReplica({ table throws(VaultError) in
                try table.replicaState(of: self.world.realmID)
            })
        else {
            throw SyncError.notJoined
        }
        return (
            VaultItems(vault, found.state, of: world.realmID, random: world.names),
            found.state
        )
    }

    /// - Returns: The alarms.
    @discardableResult
    func sync(_ store: any RecordStore) throws -> [Alarm] {
        let (items, state) = try items(of: open())
        try items.stampUnknown()
        var policy = ReplicaPolicy()
        policy.heartbeatInterval = 0
        policy.entryLength = 600
        let replica = try Replica(
            items, state, identity: identity, mirror: Mirror(mirrorStore), policy: policy, random: world.names,
            clock: { [clock] in clock.stamp })
        try replica.sync(with: store, &remote)
        return replica.takeFindings().alarms
    }

    /// Returns every live item with all its values.
    func canonical() throws -> [String] {
        let (items, _) = try items(of: open())
        var found: [String] = []
        try items.forEachState(of: items.all().map(\.id).sorted()) { state throws(SyncError) in
            if state.isAlive { found.append(SyncCrashTests.canonical(state)) }
        }
        return found
    }
}

struct SyncCrashTests {
    static func canonical(_ state: ItemState<Secret>) -> String {
        let fields = state.fields.sorted { $0.key < $1.key }.map { field, values in
            let texts = values.map { "\($0.key.log.text) \($0.key.stamp) \($0.value.exposed)" }
            return "\(field): \(texts)"
        }
        return "\(state.id) \(fields)"
    }

    static func canonical(_ device: SimulatedDevice) -> [String] {
        device.items.items.sorted { $0.key < $1.key }.filter(\.value.state.isAlive).map { canonical($0.value.state) }
    }

    /// The fate of the mirror.
    enum Mirroring: CaseIterable { case kept, asBefore, lost }

    @Test func `a sync that ends anywhere loses nothing and tells nothing twice`() throws {
        let world = SimulatedWorld("crash of a sync")
        let fleet = try SimulatedFleet(world, SimulatedRemote(), size: 2)
        let device = try CrashingDevice(fleet)
        let quiet = { (remote: SimulatedRemote) in Connection(remote, "vault", ownLog: .zero, world) }
        // The initial records of every device.
        for _ in 0..<2 {
            for other in fleet.devices {
                for _ in 0..<3 { try other.editForSure() }
                try other.sync(fleet.remote)
            }
            try device.sync(quiet(fleet.remote))
        }
        // New changes of the other devices, and of this device.
        for other in fleet.devices {
            for _ in 0..<4 { try other.editForSure() }
            try other.sync(fleet.remote)
        }
        do {
            let vault = try device.open()
            for name in ["x", "y", "z"] {
                try vault.add(
                    Item(.genericPassword(service: "vault", account: name), secret: Secret(text: "secret of \(name)")))
            }
        }
        #expect(!device.disk.hasUnsyncedState)
        let (records, files) = (fleet.remote.records, fleet.devices.map { ($0.file.copy(), $0.mirror.records) })
        var (states, end) = (0, 1)
        while true {
            let attempt = CrashingDevice(copying: device, disk: device.disk.afterPowerCut(SeededRandom("none")))
            fleet.remote.records = records
            let isOver = try run(attempt, quiet(fleet.remote), killedAt: end)
            if isOver { break }
            let reached = fleet.remote.records
            attempt.disk.bury()
            let random = SeededRandom("cut \(end)")
            // A kill of the process alone, and power cuts.
            let remains = [attempt.disk] + attempt.disk.powerCuts(atMost: 2, else: 1, random)
            for (number, disk) in remains.enumerated() {
                let mirroring = Mirroring.allCases[(number + end) % 3]
                let after = CrashingDevice(copying: attempt, disk: disk)
                switch mirroring {
                case .kept: break
                case .asBefore: after.mirror.records = device.mirror.records
                case .lost: after.mirror.records = [:]
                }
                fleet.remote.records = reached
                for (other, file) in zip(fleet.devices, files) {
                    (other.file, other.mirror.records) = (file.0.copy(), file.1)
                    (other.alarms, other.notes) = ([], [])
                }
                try judge(after, fleet, "step \(end), \(mirroring)", quiet)
                states += 1
            }
            end += 1
        }
        #expect(end > 10 && states > 30, "\(end) steps, \(states) states")
    }

    /// - Returns: Whether the sync finished before the kill.
    private func run(_ device: CrashingDevice, _ store: any RecordStore, killedAt end: Int) throws -> Bool {
        let steps = Mutex(0)
        device.disk.judge.withLock { judge in
            judge = { step in
                guard step != .read, step != .lock else { return .done }
                return steps.withLock { count in
                    count += 1
                    return count == end ? .killed : .done
                }
            }
        }
        defer { device.disk.judge.withLock { $0 = nil } }
        do { try device.sync(store) } catch {}
        return steps.withLock { $0 < end }
    }

    func judge(
        _ device: CrashingDevice, _ fleet: SimulatedFleet, _ where: String, _ connect: (SimulatedRemote) -> Connection
    ) throws {
        for _ in 0..<2 {
            fleet.world.now += 2 * fleet.world.minute
            let alarms = try device.sync(connect(fleet.remote))
            #expect(alarms.isEmpty, "\(`where`)")
            for other in fleet.devices { try other.sync(fleet.remote) }
        }
        let alarms = try device.sync(connect(fleet.remote))
        #expect(alarms.isEmpty && fleet.devices.allSatisfy(\.alarms.isEmpty), "\(`where`)")
        let mine = try device.canonical()
        for other in fleet.devices { #expect(Self.canonical(other) == mine, "\(`where`)") }
        let secrets = mine.joined()
        for name in ["x", "y", "z"] {
            let copies = secrets.split(separator: "\(Array("secret of \(name)".utf8))").count - 1
            #expect(copies == 1, "\(`where`): \(name)")
        }
        // Each dot has a single value.
        var values: [Write: [UInt8]] = [:]
        for (stream, records) in fleet.remote.records where stream.kind == .log {
            for (sequence, bytes) in records {
                let address = RecordAddress(stream, sequence)
                for state in try fleet.world.states(in: StoredRecord(address, bytes)) {
                    for (field, found) in state.fields {
                        for (dot, value) in found where !value.isErased {
                            let write = Write(item: state.id, field: field, dot: dot)
                            let before = values.updateValue(value.exposed, forKey: write)
                            #expect(before == nil || before == value.exposed, "\(`where`)")
                        }
                    }
                }
            }
        }
    }
}
