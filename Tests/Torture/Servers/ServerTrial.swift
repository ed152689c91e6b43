// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport

/// Devices with agents, each in a network namespace of its own, that share a PostgreSQL or an etcd. Agents sync in the
/// background beside commands, while agents, commands and the server are killed, the network is cut, and older states
/// of the server are restored. In the end every home has every acknowledged write.
struct ServerTrial {
    let directory: String
    let seed: String
    private let server: any FleetServer
    private var homes: [Home]
    private let books: Books

    /// - Parameter engine: `postgres` or `etcd`.
    /// - Returns: `nil` for another engine, or if its programs are not installed.
    init?(directory: String, command: String, engine: String, homes count: Int, writes: Int) throws {
        let engines: [any FleetServer.Type] = [PostgresFleetServer.self, EtcdFleetServer.self]
        guard let engine = engines.first(where: { $0.name == engine }) else { return nil }
        guard engine.missing.isEmpty else {
            say("fleet: not installed: \(engine.missing.joined(separator: ", "))")
            return nil
        }
        self.directory = directory
        seed = ProcessInfo.processInfo.environment["VAULT_TORTURE_SEED"] ?? "\(UInt32.random(in: 0 ... .max))"
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory + "/server", withIntermediateDirectories: true)
        homes = (0..<count).map {
            Home($0, in: directory, command: command, usesAgent: true, namespace: Namespace.home($0).name)
        }
        books = Books(homes: count, writes: writes)
        try Namespace.prepare()
        try Namespace.server.make()
        server = try engine.init(in: directory + "/server", command: command)
    }

    private func random(_ purpose: String) -> SeededRandom { SeededRandom("\(seed) \(purpose)") }

    /// - Returns: whether no write is lost, the homes are equal, and each restore was noticed.
    mutating func run() throws -> Bool {
        say("fleet: seed \(seed)")
        let begin = now()
        defer { for index in homes.indices { homes[index].stopAgent() } }
        try make()
        let made = now()
        var disturbance = try live()
        let lived = now()
        try disturbance.heal()
        let settling = try Settling(&homes)
        // The last restore may have been noticed only by the syncs of the settling.
        disturbance.noteNoticed(settling.noticed)
        let verdict = try books.look { try FleetVerdict(homes, $0.ledger, $0.journal) }
        return books.look { content in
            let tally = content.tally
            say(
                """
                fleet: \(type(of: server).name), seed \(seed), \(homes.count) devices with agents, \(content.rounds) \
                rounds, \((now() - begin) / 1_000_000_000) s (made in \((made - begin) / 1_000_000_000), lived for \
                \((lived - made) / 1_000_000_000)): \(tally.acknowledged) acknowledged writes (\(tally.taken) of items \
                of other homes), \(tally.kills) kills, \(tally.locks) locks, \(tally.mirrors) mirrors lost; \
                \(disturbance.text); syncs ended with \(Tally.table(tally.syncs)); writes with \
                \(Tally.table(tally.commands)); \(tally.unexpected) unexpected, \(settling.text), \(verdict.text)
                """)
            return settling.isEqual && verdict.isRight && tally.unexpected == 0 && disturbance.isNoticed
        }
    }

    private mutating func make() throws {
        try atOnce(homes) { home in
            try Namespace.home(home.number).make()
            try home.make()
        }
        try homes[0].found(server.remote(of: 0))
        let (owner, server) = (homes[0], server)
        // Each joining home polls for its answer every two seconds.
        for start in stride(from: 1, to: homes.count, by: 10) {
            let some = homes[start..<min(start + 10, homes.count)]
            let children = try some.map { try $0.ask(to: server.remote(of: $0.number), owner) }
            for home in some { try home.approve(by: owner, as: home.number % 2 == 0 ? "--owner" : "--writer") }
            for (home, child) in zip(some, children) { try home.finish(join: child) }
        }
        for index in homes.indices { try homes[index].startAgent() }
    }

    /// Runs the body for all homes, four at a time.
    private func atOnce(_ homes: [Home], _ body: @escaping @Sendable (Home) throws -> Void) throws {
        try TestSupport.atOnce(4) { worker in
            for home in homes where home.number % 4 == worker { try body(home) }
        }
    }

    /// Runs all homes until enough writes are acknowledged.
    private mutating func live() throws -> Disturbance {
        let (books, seed, pause) = (books, seed, homes.count)
        let workers = homes.map { home in
            TestSupport.Worker {
                do { return try Self.live(home, books, seed, pause: pause) } catch {
                    books.fail(error)
                    throw error
                }
            }
        }
        let all = homes
        var disturbance = Disturbance(
            directory: directory, server: server, homes: homes.count, books: books
        ) {
            let said = books.look { $0.tally.rollbacks }
            return all.map { (said[$0.number] ?? 0) + $0.countSaid(Home.rollback) }
        }
        do { try disturbance.run(acts: max(8, min(books.writes / 25, 120)), random("disturbance")) } catch {
            books.fail(error)
            throw error
        }
        homes = try workers.map { try $0.value() }
        return disturbance
    }

    /// - Parameter pause: the longest pause between two rounds, in tenths of a second.
    private static func live(_ home: Home, _ books: Books, _ seed: String, pause: Int) throws -> Home {
        var home = home
        var round = 0
        while books.awaitAllowance() {
            round += 1
            let random = SeededRandom("\(seed) home \(home.number) round \(round)")
            usleep(UInt32(random.number(in: 0...pause * 100)) * 1_000)
            // Some homes stay without an agent, or locked, for a round.
            if random.chance(75) { try home.startAgent() }
            if random.chance(75) { try home.unlock() }
            let (after, report) = try books.plan(home, round: round, random).run(in: home)
            home = after
            books.enter(report, home: home.number, round: round)
        }
        return home
    }
}
