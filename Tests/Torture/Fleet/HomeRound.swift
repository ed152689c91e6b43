// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

/// The commands that run concurrently in one home, and the kills, locks and losses beside them.
struct HomeRound: Sendable {
    /// The frequencies of a home's actions, in percent.
    struct Habits: Sendable {
        /// Rounds with a sync by a command.
        var syncs: Int
        /// Writes whose value does not fit a record.
        var largeValues: Int
        /// Writes that change an item of another home, which this home has received.
        var takes: Int
        var mirrorLosses: Int
        /// The maximum number of writes in a round.
        var writes = 5

        static let honest = Habits(syncs: 80, largeValues: 2, takes: 0, mirrorLosses: 5)
        static let hostile = Habits(syncs: 80, largeValues: 4, takes: 0, mirrorLosses: 5)
        /// The habits of homes whose agents sync in the background.
        ///
        /// - Parameter count: the number of homes. Each sync covers the changes of all others, so many homes write more
        ///   at once.
        static func followers(_ count: Int) -> Habits {
            Habits(syncs: 20, largeValues: count > 50 ? 1 : 2, takes: 8, mirrorLosses: 2, writes: max(5, count / 5))
        }
    }

    enum Act: Sendable {
        case sync(withKey: Bool)
        case write(Write, withKey: Bool)
        /// Kills the command of the step with this number.
        case kill(Int)
        case killAgent, lock, loseMirror
    }

    struct Step: Sendable {
        /// The time since the start of the round, in durations of the home's last sync.
        var time: Double
        var act: Act
    }

    /// The outcome of each command.
    struct Report: Sendable {
        var writes: [(write: Write, ending: Ending, message: String)] = []
        var syncs: [(ending: Ending, message: String)] = []
        /// The number of killed agents.
        var agents = 0
        var locks = 0
        var mirrors = 0
        var taken = 0
        /// Items that the home was to take over, but has not received yet.
        var untaken: [String] = []
        /// The number of syncs that reported a loss of records by the remote.
        var rollbacks = 0
        /// Whether the agent was missing or locked for at least a part of the round.
        var isDisturbed = false

        /// The actions, for finding the cause of a lost write.
        var text: String {
            var parts = syncs.map { "sync \($0.ending.text)" } + writes.map { "\($0.write.verb) \($0.ending.text)" }
            if agents > 0 { parts.append("agent killed") }
            if locks > 0 { parts.append("locked") }
            if mirrors > 0 { parts.append("mirror lost") }
            return parts.joined(separator: ", ")
        }
    }

    let losesMirror: Bool
    private(set) var steps: [Step] = []

    init(_ home: Home, round: Int, _ habits: Habits, _ random: SeededRandom, _ ledger: inout Ledger) {
        losesMirror = random.chance(habits.mirrorLosses)
        addSyncs(habits, random)
        for count in 0..<random.number(in: 1...habits.writes) {
            let account = "\(home.number)-\(round)-\(count)"
            let write = Self.write(account, home, habits, random, &ledger)
            ledger.begin(write, home: home.number, round: round)
            addStep(.write(write, withKey: random.chance(12)), at: Self.time(random, 120))
            if random.chance(6) { addKill(within: 40, random) }
        }
        if losesMirror { addStep(.loseMirror, at: random.chance(30) ? 0 : Self.time(random, 120)) }
        guard home.usesAgent else { return }
        if random.chance(6) { addStep(.killAgent, at: Self.time(random, 120)) }
        if random.chance(8) { addStep(.lock, at: Self.time(random, 100)) }
    }

    private static func time(_ random: SeededRandom, _ percent: Int) -> Double {
        Double(random.number(in: 0...percent * 100)) / 10_000
    }

    private mutating func addStep(_ act: Act, at time: Double) { steps.append(Step(time: time, act: act)) }

    /// Kills the last added step.
    private mutating func addKill(within percent: Int, _ random: SeededRandom) {
        let index = steps.count - 1
        addStep(.kill(index), at: steps[index].time + Self.time(random, percent))
    }

    private mutating func addSyncs(_ habits: Habits, _ random: SeededRandom) {
        // The second of two concurrent syncs ends with 14.
        for count in 0..<(random.chance(habits.syncs) ? random.chance(10) ? 2 : 1 : 0) {
            addStep(.sync(withKey: random.chance(12)), at: count == 0 ? 0 : Self.time(random, 100))
            if random.chance(losesMirror ? 50 : 25) { addKill(within: 110, random) }
        }
    }

    private static func write(
        _ account: String, _ home: Home, _ habits: Habits, _ random: SeededRandom, _ ledger: inout Ledger
    ) -> Write {
        if random.chance(habits.takes), let taken = ledger.takeOver(at: random.number(in: 0...999_999)) {
            return .take(taken.account, version: taken.version)
        }
        switch random.number(in: 0...99) {
        case 0: return .importing((0..<20).map { "\(account)-\($0)" })
        case 3..<(3 + habits.largeValues): return .add(account + Write.largeEnding)
        case 7..<12: return .share("\(random.number(in: 0...3))", text: account)
        case 12..<20:
            guard let (account, version) = ledger.takeChange(of: home.number, at: random.number(in: 0...9_999)) else {
                break
            }
            return version % 5 == 4 ? .delete(account) : .set(account, version: version)
        default: break
        }
        return .add(account)
    }

    // MARK: Running

    /// - Returns: the home after the round, and the outcomes.
    func run(in home: Home) throws -> (home: Home, report: Report) {
        var (home, report) = (home, Report())
        report.isDisturbed = !home.isOpen
        let inputs = home.directory + "/inputs"
        try FileManager.default.createDirectory(atPath: inputs, withIntermediateDirectories: true)
        // All inputs are written before the first step, because the steps are timed.
        let arguments = try steps.enumerated().map { index, step in
            if case .write(let write, _) = step.act { try write.arguments(inputAt: "\(inputs)/\(index)") } else { [""] }
        }
        var children: [Int: Child] = [:]
        var locking: [Child] = []
        let begin = now()
        for (index, step) in steps.enumerated().sorted(by: { $0.element.time < $1.element.time }) {
            let moment = begin + UInt64(step.time * home.syncSeconds * 1e9)
            let early = Int64(bitPattern: moment &- now())
            if early > 0 { usleep(UInt32(min(early / 1_000, 10_000_000))) }
            switch step.act {
            case .sync(let withKey):
                children[index] = try home.start(["sync"], withKey: withKey, place: "\(index)")
            case .write(.take(let account, let version), _) where try !home.has(account, version: version - 1):
                report.untaken.append(account)
            case .write(_, let withKey):
                children[index] = try home.start(arguments[index], withKey: withKey, place: "\(index)")
            case .kill(let other): _ = children[other]?.kill()
            case .killAgent:
                if home.killAgent() { report.agents += 1 }
                report.isDisturbed = true
            case .lock:
                guard home.agent != nil else { continue }
                locking.append(try home.start(["lock"], place: "\(index)"))
                home.noteLock()
                report.locks += 1
                report.isDisturbed = true
            case .loseMirror: if home.loseMirror() { report.mirrors += 1 }
            }
        }
        for child in locking { _ = child.wait() }
        for (index, child) in children.sorted(by: { $0.key < $1.key }) {
            let ending = child.wait()
            let message = ending == .exit(0) || ending == .killed ? "" : child.message
            if case .write(let write, _) = steps[index].act {
                if case .take = write, ending == .exit(0) { report.taken += 1 }
                report.writes.append((write, ending, message))
            } else {
                report.syncs.append((ending, message))
                if child.said.contains(Home.rollback) { report.rollbacks += 1 }
                if ending == .exit(0) { home.syncSeconds = min(child.duration, 5) }
            }
        }
        try? FileManager.default.removeItem(atPath: inputs)
        return (home, report)
    }
}
