// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import VaultSync

/// Simulated fleets with random events of devices and remotes. `VAULT_FLEETS` sets their number, `VAULT_FLEET_SEED` the
/// first seed.
struct SimulationTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static let groups = 4
    private static let fleets = number("VAULT_FLEETS") ?? 120
    private static let first = number("VAULT_FLEET_SEED") ?? 0

    /// Derives the parameters of a fleet's run from the seed.
    static func life(_ seed: Int) -> SimulatedFleet.Life {
        var life = SimulatedFleet.Life()
        life.hasChaos = seed % 5 != 0
        life.isFolder = seed % 5 == 4
        life.steps = seed % 3 == 0 ? 120 : 60
        life.hasBoth = seed % 13 == 12
        life.hasTwoRemotes = !life.isFolder && seed % 4 == 1
        life.hasLargeValues = seed % 11 == 3
        return life
    }

    @Test(arguments: 0..<groups) func `fleets end with the same items, and lose nothing`(group: Int) throws {
        var stats: [String: Int] = [:]
        let count = max(Self.fleets / Self.groups, 1)
        for seed in (0..<count).map({ Self.first + group * count + $0 }) {
            let end = try SimulatedFleet.live(seed, Self.life(seed))
            if !end.problems.isEmpty {
                Issue.record("VAULT_FLEET_SEED=\(seed) VAULT_FLEETS=1: \(end.problems.prefix(4))")
            }
            for (name, count) in end.fleet.world.stats { stats[name, default: 0] += count }
        }
        if Self.fleets != 120 {
            print("fleets: \(count), \(stats.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })")
        }
    }
}
