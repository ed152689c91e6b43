// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultStorage

struct CrashTests {
    /// `$VAULT_CRASH_RUNS` asks for more. A run looks at some 40 states.
    private static let runs = ProcessInfo.processInfo.environment["VAULT_CRASH_RUNS"].flatMap { Int($0) } ?? 120

    @Test func `no crash and no fault loses what was acknowledged`() throws {
        var (states, commits) = (0, 0)
        for seed in 0..<Self.runs {
            let world = try CrashWorld("crash \(seed)")
            do { try world.run(rounds: 24) } catch {
                Issue.record("run \(seed): \(error)")
            }
            states += world.states
            commits += world.commits
        }
        #expect(states > 20 * Self.runs)
        #expect(commits > 2 * Self.runs)
    }

    /// Controls: with these disks the promise cannot be kept, and the oracle must say so.
    @Test(arguments: [SimulatedDisk.Step.dataSync, .directorySync])
    func `a disk that lies about a sync is found out`(step: SimulatedDisk.Step) {
        var found = false
        for seed in 0..<40 where !found {
            do { try CrashWorld("lie \(seed)", lies: [step]).run(rounds: 24) } catch is CrashWorld.Violation { found = true } catch {}
        }
        #expect(found)
    }
}
