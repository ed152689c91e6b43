// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultStorage

/// Crash states of the real storage code: `Scripts/crash --states N` looks at more of them.
struct CrashTests {
    private static let groups = 8
    /// How many states to look at, in all.
    private static let states = ProcessInfo.processInfo.environment["VAULT_CRASH_STATES"].flatMap { Int($0) } ?? 20_000

    @Test(arguments: 0..<groups) func `no crash and no fault loses what was acknowledged`(group: Int) throws {
        var (states, commits, run) = (0, 0, 0)
        while states < Self.states / Self.groups {
            let world = try CrashWorld("crash \(group) \(run)")
            do { try world.run(rounds: 24) } catch {
                Issue.record("group \(group), run \(run): \(error)")
                return
            }
            states += world.states
            commits += world.commits
            run += 1
        }
        #expect(commits > run)
        if Self.states > 20_000 { print("crash: group \(group): \(states) states, \(commits) commits, 0 violations") }
    }

    /// Controls: with these disks the promise cannot be kept, and the oracle must say so soon.
    @Test(arguments: [SimulatedDisk.Step.dataSync, .directorySync])
    func `a disk that lies about a sync is found out within a hundred states`(step: SimulatedDisk.Step) throws {
        var (found, states) = (false, 0)
        for seed in 0..<100 where !found {
            let world = try CrashWorld("lie \(seed)", lies: [step])
            do { try world.run(rounds: 24) } catch is CrashWorld.Violation { found = true } catch {}
            states += world.states
        }
        #expect(found && states <= 100, "\(states) states")
    }
}
