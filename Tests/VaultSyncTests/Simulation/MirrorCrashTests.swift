// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A machine whose process is killed, or whose power fails, at each write of the mirror's files.
struct MirrorCrashTests {
    @Test func `a mirror that ends anywhere is made whole by the next sync`() throws {
        let world = SimulatedWorld("crash of a mirror")
        let fleet = try SimulatedFleet(world, SimulatedRemote(), size: 2)
        let device = try CrashingDevice(fleet)
        device.mirrorDisk = SimulatedDisk()
        let quiet = { (remote: SimulatedRemote) in Connection(remote, "vault", ownLog: .zero, world) }
        for round in 0..<2 {
            for other in fleet.devices {
                for _ in 0..<3 - round { try other.editForSure() }
                try other.sync(fleet.remote)
            }
            if round == 0 { try device.sync(quiet(fleet.remote)) }
        }
        do {
            let vault = try device.open()
            for name in ["x", "y", "z"] {
                try vault.add(
                    Item(.genericPassword(service: "vault", account: name), secret: Secret(text: "secret of \(name)")))
            }
        }
        let (records, files) = (fleet.remote.records, fleet.devices.map { ($0.file.copy(), $0.mirror.records) })
        let mirrorDisk = try #require(device.mirrorDisk)
        var (states, end, isOver) = (0, 1, false)
        while !isOver {
            let attempt = CrashingDevice(copying: device, disk: device.disk.afterPowerCut(SeededRandom("none")))
            attempt.mirrorDisk = mirrorDisk.afterPowerCut(SeededRandom("none"))
            fleet.remote.records = records
            isOver = try run(attempt, quiet(fleet.remote), killedAt: end)
            let reached = fleet.remote.records
            let disk = try #require(attempt.mirrorDisk)
            disk.bury()
            let remains = [disk] + disk.powerCuts(atMost: 1, else: 1, SeededRandom("cut \(end)"))
            for (number, left) in remains.enumerated() where (number + end) % 2 == 0 {
                let after = CrashingDevice(
                    copying: attempt, disk: attempt.disk.afterPowerCut(SeededRandom("none")))
                after.mirrorDisk = left
                fleet.remote.records = reached
                for (other, file) in zip(fleet.devices, files) {
                    (other.file, other.mirror.records) = (file.0.copy(), file.1)
                    (other.alarms, other.notes) = ([], [])
                }
                try SyncCrashTests().judge(after, fleet, "step \(end), \(number)", quiet)
                states += 1
            }
            end += 1
        }
        #expect(end > 20 && states >= end - 1, "\(end) steps, \(states) states")
    }

    /// - Returns: Whether the sync finished before the kill.
    private func run(_ device: CrashingDevice, _ store: any RecordStore, killedAt end: Int) throws -> Bool {
        let steps = Mutex(0)
        let disk = try #require(device.mirrorDisk)
        disk.judge.withLock { judge in
            judge = { step in
                guard step != .read, step != .lock else { return .done }
                return steps.withLock { count in
                    count += 1
                    return count == end ? .killed : .done
                }
            }
        }
        defer { disk.judge.withLock { $0 = nil } }
        do { try device.sync(store) } catch {}
        return steps.withLock { $0 < end }
    }
}
