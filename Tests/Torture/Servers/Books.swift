// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport

/// The actions of homes that run concurrently, and the values that each home must have in the end.
final class Books: Sendable {
    struct Content {
        var ledger = Ledger()
        var tally = Tally(explained: Tally.ofServer)
        /// The actions by round and home, for finding the cause of a lost write.
        var journal: [Int: [Int: String]] = [:]
        /// The reason why the trial cannot continue.
        var failure: (any Error)?
        var rounds = 0
        /// The number of writes that may be acknowledged before the next disturbance.
        var allowance = 0
    }

    private let content = Mutex(Content())
    let writes: Int
    private let habits: HomeRound.Habits

    /// - Parameter writes: the minimum number of acknowledged writes.
    init(homes: Int, writes: Int) { (self.writes, habits) = (writes, .followers(homes)) }

    func look<R>(_ body: (Content) throws -> sending R) rethrows -> sending R {
        try content.withLock { try body($0) }
    }

    var acknowledged: Int { content.withLock { $0.tally.acknowledged } }

    var isOpen: Bool { content.withLock { $0.failure == nil && $0.tally.acknowledged < writes } }

    /// Waits until more writes are wanted.
    ///
    /// - Returns: `false` at the end of the trial.
    func awaitAllowance() -> Bool {
        while isOpen {
            if content.withLock({ $0.tally.acknowledged < $0.allowance }) { return true }
            usleep(20_000)
        }
        return false
    }

    func allow(_ writes: Int) { content.withLock { $0.allowance = writes } }

    func plan(_ home: Home, round: Int, _ random: SeededRandom) -> HomeRound {
        content.withLock { HomeRound(home, round: round, habits, random, &$0.ledger) }
    }

    func enter(_ report: HomeRound.Report, home: Int, round: Int) {
        content.withLock { content in
            content.rounds += 1
            content.tally.add(report, home: home, round: round)
            content.journal[round, default: [:]][home] = report.text
            for account in report.untaken { content.ledger.giveBack(account) }
            for (write, ending, _) in report.writes {
                content.ledger.end(write, home: home, round: round, isAcknowledged: ending == .exit(0))
            }
        }
    }

    func fail(_ error: any Error) { content.withLock { $0.failure = $0.failure ?? error } }
}
