// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Counts of a trial, and the exit codes that no part of the trial explains.
struct Tally {
    /// How a sync may end beside the ways in which any command may.
    let explained: Set<Ending>
    private(set) var acknowledged = 0
    private(set) var syncs: [Ending: Int] = [:]
    private(set) var commands: [Ending: Int] = [:]
    private(set) var agents = 0
    private(set) var locks = 0
    private(set) var mirrors = 0
    private(set) var unexpected = 0
    var attacks: [FolderAttack: Int] = [:]
    /// Items that a home took over from another one after it had seen them.
    private(set) var taken = 0
    /// By home, how many of its syncs said that the remote had lost something.
    private(set) var rollbacks: [Int: Int] = [:]

    /// An enemy may make a sync say what is wrong with the folder, but not that the device was removed.
    static let ofEnemy: Set<Ending> = [.exit(20), .exit(22), .exit(23)]
    /// A server that is away, and one that was put back.
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

    /// Another process has the lock (14); the agent is locked or away (4), or was killed before it greeted (1) or
    /// answered (31).
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
