// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import VaultSync

/// Fleets of real vaults with random events between any two steps of a sync. `VAULT_FLEETS` sets their number,
/// `VAULT_FLEET_SEED` the first seed, and `VAULT_FLEET_TRACE` prints the events. A seed determines a run if
/// `SWIFT_DETERMINISTIC_HASHING` is set.
struct InterleavingTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static let groups = 4
    private static let fleets = number("VAULT_FLEETS") ?? 60
    private static let first = number("VAULT_FLEET_SEED") ?? 0

    static func life(_ seed: Int) -> InterleavedFleet.Life {
        var life = InterleavedFleet.Life()
        life.isHostile = seed % 2 == 1
        life.steps = seed % 5 == 0 ? 30 : 14
        life.hasNewcomer = seed % 3 == 0
        return life
    }

    @Test(arguments: 0..<groups)
    func `whatever comes between two steps of a sync, nothing that was acknowledged is lost`(group: Int) throws {
        var stats: [String: Int] = [:]
        for seed in stride(from: Self.first + group, to: Self.first + Self.fleets, by: Self.groups) {
            let fleet = try InterleavedFleet.live(seed, Self.life(seed))
            if !fleet.problems.isEmpty {
                Issue.record("VAULT_FLEET_SEED=\(seed) VAULT_FLEETS=1: \(fleet.problems.prefix(4))")
            }
            for (name, count) in fleet.stats { stats[name, default: 0] += count }
        }
        if Self.number("VAULT_FLEETS") != nil {
            print("fleets: \(stats.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })")
        }
    }

    /// Returns the first problem found in up to 500 fleets with a broken rule.
    private static func firstProblem(without rule: BrokenRule) throws -> String? {
        for seed in 0..<500 {
            var life = life(seed)
            life.broken = rule
            // A newcomer and the device that admits it would sync by all rules.
            life.hasNewcomer = false
            let fleet = try InterleavedFleet.live(100_000 + seed, life)
            if let problem = fleet.problems.first { return "\(seed + 1) fleets: \(problem)" }
        }
        return nil
    }

    /// Only in the long form: some rules matter in one fleet in a hundred.
    @Test(.enabled(if: number("VAULT_FLEETS") != nil), arguments: BrokenRule.broken)
    func `fleets without a rule are found out`(rule: BrokenRule) throws {
        let problem = try #require(try Self.firstProblem(without: rule))
        print("without \(rule): \(problem)")
    }

    @Test(.enabled(if: number("VAULT_FLEETS") != nil))
    func `fleets with all rules, synced as those without one, do well`() throws {
        #expect(try Self.firstProblem(without: .none) == nil)
    }
}
