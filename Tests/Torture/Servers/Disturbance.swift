// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

/// What happens to the server and the network while homes write: kills, partitions, saved and restored states.
struct Disturbance {
    /// A state of the server that was put back.
    struct Restore {
        /// How many records were gone.
        var lost: Int
        /// How many homes have noticed.
        var noticed = 0
    }

    private enum Act: CaseIterable {
        case killServer, cutServer, cutHomes, save, putBack
    }

    private struct Cut {
        var place: Namespace
        var fault: Namespace.Fault
        /// The act at which it ends.
        var end: Int
    }

    private let directory: String
    private let server: any FleetServer
    private let homes: Int
    private let books: Books
    /// How often each home has said that the server lost something.
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

    /// Whether at least one home has noticed each restore that lost something.
    var isNoticed: Bool { !restores.isEmpty && restores.allSatisfy { $0.lost == 0 || $0.noticed > 0 } }

    /// Does so many acts, each while its part of the writes is acknowledged.
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
            // The first ones, so that each kind comes at least once.
            let first: [Act] = [.cutHomes, .save, .killServer, .putBack, .cutServer]
            try play(number <= first.count ? first[number - 1] : random.element(of: Act.allCases), number, random)
        }
        books.allow(.max)
    }

    /// Ends all that is in the way.
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
            // The file holds at most this many records.
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
        // Something has to be lost by that.
        for _ in 0..<200 where books.isOpen {
            guard let records = server.countRecords(), records <= saved.records else { break }
            usleep(100_000)
        }
        let records = awaitQuiet()
        before = countRollbacks()
        // Homes write beside it. A record that no home has read or got acknowledged is stored again unnoticed.
        books.allow(books.acknowledged + books.writes / 100)
        usleep(UInt32(random.number(in: 0...1_000)) * 1_000)
        try server.putBack(saved.file, whileRunning: random.chance(50))
        // At least these.
        restores.append(Restore(lost: max(0, records - saved.records)))
    }

    /// Waits until the server has stored nothing for three seconds, a minute at most: all writes that are allowed are
    /// told and acknowledged.
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

    /// Waits for a home to notice the last restore, for a minute at most.
    ///
    /// An agent compares the heads of a server that was put back under its connection once a minute, and looks for a
    /// hole below a log's last record when a connection begins. A restart of the server makes both happen sooner.
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

    /// Homes that have said since the last restore that something is lost.
    ///
    /// - Parameter others: homes that have said so otherwise.
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
