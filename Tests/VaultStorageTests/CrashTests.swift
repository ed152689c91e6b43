// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultFormat

@testable import VaultStorage

/// Crash states of the real storage code: `Scripts/crash --states N` examines more of them.
struct CrashTests {
    private static let groups = 8
    /// The total number of states to examine.
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

    @Test func `a writer that dies in the middle of a mark leaves one, though the other was never on the disk`() throws
    {
        let builder = try VaultBuilder()
        for dead in 1...3 {
            let disk = SimulatedDisk()
            disk.put(builder.bytes, as: VaultBuilder.name)
            let inode = try #require(disk.inode(VaultBuilder.name))
            inode.spoilOnDisk(Layout.markOffsets[1])
            let store = try VaultStore.open(
                on: disk, vaultKey: builder.keys.vaultKey, environment: .seeded("writer", on: disk))
            let writes = Mutex(0)
            disk.judge.withLock { judge in
                judge = { step in
                    guard step == .write else { return .done }
                    return writes.withLock { count in
                        count += 1
                        return count == dead ? .killed : .done
                    }
                }
            }
            #expect(throws: StorageError.self) { try VaultBuilder.add("four", to: store, account: "account 4") }
            let remains = disk.powerCuts(atMost: 64, else: 0, SeededRandom("cut"))
            #expect(!remains.isEmpty)
            for disk in remains {
                #expect(throws: Never.self) {
                    try VaultStore.open(
                        on: disk, vaultKey: builder.keys.vaultKey, environment: .seeded("reader", on: disk))
                }
            }
        }
    }

    @Test func `a commit that was only read is on the disk before anything is built on it`() throws {
        // Longer than a sector, so that the next commit does not overwrite the faulty sector.
        var builder = try VaultBuilder(values: [String(repeating: "v", count: 3000)])
        let positions = try builder.positions()
        // No mark names the last commit: its writer was killed, and its page counts as clean without having been
        // written.
        for index in 0..<2 { try builder.mark(index, positions[positions.count - 2]) }
        let disk = SimulatedDisk()
        disk.put(builder.bytes, as: VaultBuilder.name)
        try #require(disk.inode(VaultBuilder.name)).spoilOnDisk(positions[positions.count - 2].end)
        let store = try VaultStore.open(
            on: disk, vaultKey: builder.keys.vaultKey, environment: .seeded("writer", on: disk))
        try VaultBuilder.add("four", to: store, account: "account 4")
        let remains = disk.afterPowerCut(SeededRandom("cut"))
        let after = try VaultStore.open(
            on: remains, vaultKey: builder.keys.vaultKey, environment: .seeded("reader", on: remains))
        #expect(after.records.count == 2 && after.sequence == store.sequence)
    }

    /// Controls: these disks and this writer break the promise, and the oracle must detect that quickly.
    @Test(arguments: Control.allCases) func `what breaks the promise is found out within a hundred states`(
        control: Control
    ) throws {
        var (found, states) = (false, 0)
        for seed in 0..<100 where !found {
            let world = try CrashWorld("control \(seed)", lies: control.lies, marksAhead: control == .marksAhead)
            do { try world.run(rounds: 24) } catch is CrashWorld.Violation { found = true } catch {}
            states += world.states
        }
        #expect(found && states <= 100, "\(states) states")
    }

    enum Control: CaseIterable {
        case acknowledgesBeforeSync, forgetsDirectorySync, marksAhead

        var lies: Set<SimulatedDisk.Step> {
            switch self {
            case .acknowledgesBeforeSync: [.dataSync]
            case .forgetsDirectorySync: [.directorySync]
            case .marksAhead: []
            }
        }
    }
}
