// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

/// Devices that share a folder: homes in which the command itself runs, with syncs beside writes, kills at random
/// moments, agents that lock, lost mirrors, and a folder that an attacker may control. In the end every home has every
/// acknowledged write.
struct FleetTrial {
    enum Agents: String { case all, half, none }

    let directory: String
    let seed: String
    let isHostile: Bool
    private var homes: [Home]
    private var folder: SharedFolder
    private var ledger = Ledger()
    private var tally: Tally
    private var heals = 0
    /// The actions by round and home, for finding the cause of a lost write.
    private var journal: [Int: [Int: String]] = [:]

    init(directory: String, command: String, devices: Int, isHostile: Bool, agents: Agents) throws {
        self.directory = directory
        seed = ProcessInfo.processInfo.environment["VAULT_TORTURE_SEED"] ?? "\(UInt32.random(in: 0 ... .max))"
        try? FileManager.default.removeItem(atPath: directory)
        homes = (0..<devices).map { number in
            let usesAgent =
                switch agents {
                case .all: true
                case .half: number % 2 == 1
                case .none: false
                }
            return Home(number, in: directory, command: command, usesAgent: usesAgent)
        }
        folder = try SharedFolder(in: directory)
        tally = Tally(explained: isHostile ? Tally.ofEnemy : [])
        self.isHostile = isHostile
    }

    private func random(_ purpose: String) -> SeededRandom { SeededRandom("\(seed) \(purpose)") }

    /// - Parameter writes: the minimum number of acknowledged writes.
    /// - Returns: whether no write is lost, and the homes are equal.
    mutating func run(writes: Int) throws -> Bool {
        say("fleet: seed \(seed)")
        let begin = now()
        defer { for index in homes.indices { homes[index].stopAgent() } }
        try make()
        var round = 0
        while tally.acknowledged < writes {
            round += 1
            guard round < 100 + writes else { throw Home.Failure(text: "too little is acknowledged") }
            try play(round)
        }
        try folder.heal()
        let settling = try Settling(&homes)
        let verdict = try FleetVerdict(homes, ledger, journal)
        let isRight = settling.isEqual && verdict.isRight && tally.unexpected == 0
        let attacks = tally.attacks.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
        say(
            """
            fleet: \(isHostile ? "hostile" : "honest"), seed \(seed), \(homes.count) devices \
            (\(homes.count(where: \.usesAgent)) with agents), \(round) rounds in \((now() - begin) / 1_000_000_000) s: \
            \(tally.acknowledged) acknowledged writes, \(tally.kills) kills, \(tally.locks) locks, \
            \(tally.mirrors) mirrors lost, \(tally.attacks.values.reduce(0, +)) hostile acts\
            \(attacks.isEmpty ? "" : " (\(attacks); healed \(heals + 1) times)"); syncs ended with \
            \(Tally.table(tally.syncs)); writes with \
            \(Tally.table(tally.commands)); \(tally.unexpected) unexpected, \(settling.text), \(verdict.text)
            """)
        return isRight
    }

    private mutating func make() throws {
        let remote = Home.Remote(url: "file://" + folder.path)
        for home in homes { try home.make() }
        try homes[0].found(remote)
        for home in homes.dropFirst() {
            try home.join(remote, approvedBy: homes[0], as: home.number % 2 == 0 ? "--owner" : "--writer")
        }
        try folder.findRealm()
        for index in homes.indices { try homes[index].startAgent() }
    }

    // MARK: Rounds

    private mutating func play(_ round: Int) throws {
        let random = random("round \(round)")
        var playing = homes.indices.filter { _ in random.chance(60) }
        if playing.isEmpty { playing = [random.number(in: 0...homes.count - 1)] }
        let rounds = playing.map { index in
            HomeRound(homes[index], round: round, isHostile ? .hostile : .honest, random, &ledger)
        }
        let workers = zip(playing, rounds).map { index, plan in
            let home = homes[index]
            return TestSupport.Worker { try plan.run(in: home) }
        }
        // A device that loses its mirror and its log at once has only its vault left.
        let losesMirror = rounds.contains(where: \.losesMirror)
        if isHostile, random.chance(losesMirror ? 70 : 30) {
            try attack(random, losesMirror && random.chance(50) ? [.logDeleted, .olderCopy] : FolderAttack.allCases)
        }
        for (index, worker) in zip(playing, workers) {
            let (home, report) = try worker.value()
            homes[index] = home
            tally.add(report, home: index, round: round)
            journal[round, default: [:]][index] = report.text
            for (write, ending, _) in report.writes {
                ledger.end(write, home: index, round: round, isAcknowledged: ending == .exit(0))
            }
        }
        for index in homes.indices {
            // Some homes stay without an agent, or locked, for a round.
            if random.chance(75) { try homes[index].startAgent() }
            if random.chance(75) { try homes[index].unlock() }
        }
        guard isHostile else { return }
        try folder.capture()
        if random.chance(6) {
            // Otherwise an early attack would keep the devices apart for the rest of the trial.
            try folder.heal()
            heals += 1
        } else if random.chance(15) {
            try attack(random)
        }
    }

    private mutating func attack(
        _ random: SeededRandom, _ attacks: [FolderAttack] = FolderAttack.allCases
    ) throws {
        let attack = random.element(of: attacks)
        try attack.run(on: &folder, random)
        tally.attacks[attack, default: 0] += 1
    }
}
