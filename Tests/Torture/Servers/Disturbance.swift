// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

/// Faults of the server and the network while homes write: kills, partitions, and restores of saved states.
struct Disturbance {
    /// A restore of an older state of the server.
    struct Restore {
        /// The minimum number of lost records.
        var lost: Int
        /// The number of homes that have noticed.
        var noticed = 0
    }

    private enum Act: CaseIterable {
        case killServer, cutServer, cutHomes, save, putBack
    }

    private struct Cut {
        var place: Namespace
        var fault: Namespace.Fault
        /// The number of the act at which the cut ends.
        var end: Int
    }

    private let directory: String
    private let server: any FleetServer
    private let homes: Int
    private let books: Books
    /// Returns, for each home, how often it has reported a loss of records by the server.
    private let countRollbacks: @Sendable () -> [Int]
    private var cuts: [Cut] = []
    private var saved: (file: String, records: Int)?
    private var before: [Int] = []

    private(set) var kills = 0
    private(set) var partitions: [Namespace.Fault: Int] = [:]
    private(set) var serverCuts = 0
    private(set) var restores: [Restore] = []

    init(
        directory: String, server: any FleetServer, homes: Int, books: Books,
        countRollbacks: @escaping @Sendable () -> [Int]
    ) {
        (self.directory, self.server, self.homes, self.books) = (directory, server, homes, books)
        self.countRollbacks = countRollbacks
    }

    var text: String {
        let faults = partitions.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
        return """
            \(kills) kills of the server, \(serverCuts) times cut off from all, \
            \(partitions.values.reduce(0, +)) homes cut off (\(faults)), \(restores.count) restores (records lost: \
            \(restores.map { "\($0.lost)" }.joined(separator: ", ")); homes that noticed: \
            \(restores.map { "\($0.noticed)" }.joined(separator: ", ")))
            """
    }

    /// Whether at least one home has noticed each restore that lost records.
    var isNoticed: Bool { !restores.isEmpty && restores.allSatisfy { $0.lost == 0 || $0.noticed > 0 } }

    /// Performs the acts, each while its share of the writes is acknowledged.
    mutating func run(acts: Int, _ random: SeededRandom) throws {
        for number in 1...acts {
            let part = books.writes / (acts + 1)
            books.allow(number * part)
            while books.isOpen, books.acknowledged < number * part { usleep(20_000) }
            guard books.isOpen else { break }
            books.allow((number + 1) * part)
            // Agents sync a moment after a change.
            usleep(UInt32(random.number(in: 200...1_500)) * 1_000)
            try end { $0.end <= number }
            // The first acts are fixed, so that each kind occurs at least once.
            let first: [Act] = [.cutHomes, .save, .killServer, .putBack, .cutServer]
            try play(number <= first.count ? first[number - 1] : random.element(of: Act.allCases), number, random)
        }
        books.allow(.max)
    }

    /// Ends all faults, and restarts the server.
    mutating func heal() throws {
        try end { _ in true }
        try server.kill()
        try server.start()
    }

    private mutating func play(_ act: Act, _ number: Int, _ random: SeededRandom) throws {
        switch act {
        case .killServer:
            try server.kill()
            kills += 1
            usleep(UInt32(random.number(in: 0...2_000)) * 1_000)
            try server.start()
        case .cutServer:
            guard !cuts.contains(where: { $0.place.name == Namespace.server.name }) else { return }
            serverCuts += 1
            try begin(random.chance(80) ? .silent : .slow, at: .server, end: number + 1)
        case .cutHomes:
            let percent = random.element(of: [10, 30, 60])
            for home in 0..<homes where random.chance(percent) || homes < 6 && home == number % homes {
                let place = Namespace.home(home)
                guard !cuts.contains(where: { $0.place.name == place.name }) else { continue }
                let fault = random.element(of: Namespace.Fault.allCases)
                partitions[fault, default: 0] += 1
                try begin(fault, at: place, end: number + random.number(in: 1...3))
            }
        case .save:
            let file = "\(directory)/saved-\(number)"
            try server.save(to: file)
            // The file has at most this number of records.
            guard let records = server.countRecords() else { return }
            if let saved { unlink(saved.file) }
            saved = (file, records)
        case .putBack: try putBack(random)
        }
    }

    private mutating func putBack(_ random: SeededRandom) throws {
        guard let saved else { return }
        try end { $0.place.name == Namespace.server.name }
        try awaitNotice()
        // The restore must lose at least one record.
        for _ in 0..<200 where books.isOpen {
            guard let records = server.countRecords(), records <= saved.records else { break }
            usleep(100_000)
        }
        let records = awaitQuiet()
        before = countRollbacks()
        // Homes write beside the restore. A record that no home has read or got acknowledged is stored again unnoticed.
        books.allow(books.acknowledged + books.writes / 100)
        usleep(UInt32(random.number(in: 0...1_000)) * 1_000)
        try server.putBack(saved.file, whileRunning: random.chance(50))
        // The restore loses at least the difference.
        restores.append(Restore(lost: max(0, records - saved.records)))
    }

    /// Waits until the server has stored nothing for three seconds, at most a minute: by then all allowed writes are
    /// published and acknowledged.
    ///
    /// - Returns: the number of records.
    private func awaitQuiet() -> Int {
        var (last, count) = (0, 0)
        for _ in 0..<60 where count < 3 {
            let records = server.countRecords() ?? 0
            (last, count) = (records, records == last ? count + 1 : 0)
            usleep(1_000_000)
        }
        return last
    }

    /// Waits at most a minute for a home to notice the last restore.
    ///
    /// An agent on an existing connection compares the heads of a restored server once a minute, and looks for a hole
    /// below a log's last record when a connection begins. A restart of the server makes both happen sooner.
    private mutating func awaitNotice() throws {
        for step in 1...120 {
            noteNoticed()
            guard let last = restores.last, last.lost > 0, last.noticed == 0 else { return }
            if step == 10 {
                try server.kill()
                try server.start()
                kills += 1
            }
            usleep(500_000)
        }
    }

    /// Counts the homes that have reported a loss since the last restore.
    ///
    /// - Parameter others: homes that have reported a loss in another way.
    mutating func noteNoticed(_ others: Set<Int> = []) {
        guard !restores.isEmpty else { return }
        let counts = zip(before, countRollbacks()).enumerated()
        restores[restores.count - 1].noticed = counts.count { others.contains($0) || $1.0 < $1.1 }
    }

    private mutating func begin(_ fault: Namespace.Fault, at place: Namespace, end: Int) throws {
        try place.begin(fault)
        cuts.append(Cut(place: place, fault: fault, end: end))
    }

    private mutating func end(_ isOver: (Cut) -> Bool) throws {
        for cut in cuts where isOver(cut) { try cut.place.end(cut.fault) }
        cuts.removeAll(where: isOver)
    }
}
