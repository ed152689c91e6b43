// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The end of a fleet: all damage is healed, every home syncs, and every acknowledged write is checked.
extension InterleavedFleet {
    func end() throws {
        for home in homes { home.close() }
        // Heals the folder: it contains every record of an honest device, except the deleted records, and nothing else.
        if life.isHostile {
            disk.replaceContent(below: InterleavedHome.folder, with: honest.merging(irreplaceable) { mine, _ in mine })
        }
        let latest = homes.map(\.clock.now).max() ?? 0
        for home in homes { home.clock.advance(by: latest - home.clock.now) }
        var rounds = 0
        for round in 1...9 {
            rounds = round
            for home in homes {
                // Devices that differ publish everything again after a random wait.
                home.clock.advance(by: round < 4 ? 120 : 90_000)
                let handle = try home.openSyncing()
                follow(handle.process)
                let outcome = run(home, handle)
                guard round > 6 else { continue }
                for alarm in outcome?.alarms ?? [] {
                    problems.append("F: at the end \(home.name): \(alarm.kind) \(alarm.what)")
                }
                if let error = outcome?.error { problems.append("X: at the end \(home.name): \(error)") }
            }
            if round >= 3, try differences().isEmpty { break }
        }
        // A device that differs publishes everything again after hours: no honest run needs that.
        if rounds > 3 { problems.append("C: equal after \(rounds) rounds") }
        problems += try differences()
        try checkWrites()
        if life.hasNewcomer { try join(at: latest + 1_000_000) }
        for home in homes { home.close() }
    }

    /// Deleted parts of large values that are in no mirror: no device can reproduce them.
    private var irreplaceable: [String: [UInt8]] {
        let mirrored = homes.flatMap { home in
            disk.content(below: home.mirrorDirectory).keys.compactMap { name in
                name.range(of: "/vlt1/").map { String(name[$0.lowerBound...]) }
            }
        }
        let there = Set(mirrored)
        return deleted.filter { name, _ in
            name.contains("/2/") && !there.contains(String(name.dropFirst(InterleavedHome.folder.count)))
        }
    }

    /// Joins a device that must receive everything, without an alarm on any device.
    private func join(at now: Double) throws {
        let newcomer = InterleavedHome("newcomer", on: disk, random, clock: ManualClock(now: now, step: 0.001))
        try newcomer.create()
        do {
            let attempt = try newcomer.openVerbs().fleet.requestToJoin(
                RemoteURL(folder: FilePath(InterleavedHome.folder)), deviceName: newcomer.name)
            homes[0].clock.advance(by: now - homes[0].clock.now)
            _ = try homes[0].openVerbs().fleet.approve(attempt.code, role: .owner)
            guard try attempt.poll() else { throw SyncError.noAnswer }
            count("newcomers")
        } catch {
            return problems.append("N: nobody can join: \(error)")
        }
        if try newcomer.canonical(newcomer.openVerbs()) != homes[0].canonical(homes[0].openVerbs()) {
            problems.append("N: the newcomer has other items")
        }
    }

    private func differences() throws -> [String] {
        let views = try homes.map { ($0.name, try $0.canonical($0.openVerbs())) }
        return views.dropFirst().filter { $0.1 != views[0].1 }.map {
            "C: \($0.0) and \(views[0].0) differ: \(Set($0.1).symmetricDifference(views[0].1).sorted().prefix(6))"
        }
    }

    private func checkWrites() throws {
        let replaced = writes.reduce(into: Set<String>()) { $0.formUnion($1.seen) }
        for home in homes {
            let view = try home.view(home.openVerbs())
            let there = view.reduce(into: Set<String>()) { $0.formUnion($1.values) }
            for write in writes where write.isAcknowledged && !write.value.isEmpty {
                guard !there.contains(write.value), !replaced.contains(write.value) else { continue }
                problems.append("L: \(write.value) of \(write.home) at \(write.account) is lost at \(home.name)")
            }
        }
    }
}
