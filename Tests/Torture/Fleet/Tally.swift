// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The counts of a trial, and the exit codes that the trial does not explain.
struct Tally {
    /// The ways in which a sync may end, beyond those of any command.
    let explained: Set<Ending>
    private(set) var acknowledged = 0
    private(set) var syncs: [Ending: Int] = [:]
    private(set) var commands: [Ending: Int] = [:]
    private(set) var agents = 0
    private(set) var locks = 0
    private(set) var mirrors = 0
    private(set) var unexpected = 0
    var attacks: [FolderAttack: Int] = [:]
    /// The number of items that a home took over from another home after receiving them.
    private(set) var taken = 0
    /// By home, the number of syncs that reported a loss of records by the remote.
    private(set) var rollbacks: [Int: Int] = [:]

    /// An attacker may cause alarms about the folder, but not the removal of a device.
    static let ofEnemy: Set<Ending> = [.exit(20), .exit(22), .exit(23)]
    /// An unreachable server (30), and a restored older state (22).
    static let ofServer: Set<Ending> = [.exit(30), .exit(22)]

    init(explained: Set<Ending> = []) { self.explained = explained }

    var kills: Int { (syncs[.killed] ?? 0) + (commands[.killed] ?? 0) + agents }

    mutating func add(_ report: HomeRound.Report, home: Int, round: Int) {
        agents += report.agents
        locks += report.locks
        mirrors += report.mirrors
        taken += report.taken
        rollbacks[home, default: 0] += report.rollbacks
        for (ending, message) in report.syncs {
            syncs[ending, default: 0] += 1
            if !isExpectedOfSync(ending, report) { tell(home, round, "sync", ending, message) }
        }
        for (write, ending, message) in report.writes {
            commands[ending, default: 0] += 1
            if ending == .exit(0) { acknowledged += write.count }
            if !isExpectedOfWrite(ending, report) { tell(home, round, write.verb, ending, message) }
        }
    }

    private mutating func tell(_ home: Int, _ round: Int, _ verb: String, _ ending: Ending, _ message: String) {
        unexpected += 1
        say("fleet: unexpected: round \(round), home \(home): \(verb) ended with \(ending.text): \(message)")
    }

    private func isExpectedOfSync(_ ending: Ending, _ report: HomeRound.Report) -> Bool {
        explained.contains(ending) || isExpectedOfWrite(ending, report)
    }

    /// Returns whether the ending is expected: another process has the lock (14); the agent is locked or missing (4),
    /// or was killed before it greeted (1) or answered (31).
    private func isExpectedOfWrite(_ ending: Ending, _ report: HomeRound.Report) -> Bool {
        switch ending {
        case .exit(0), .exit(14), .killed: true
        case .exit(4): report.isDisturbed
        case .exit(1), .exit(31): report.agents > 0
        default: false
        }
    }

    static func table(_ endings: [Ending: Int]) -> String {
        endings.map { "\($0.key.text): \($0.value)" }.sorted().joined(separator: ", ")
    }
}
