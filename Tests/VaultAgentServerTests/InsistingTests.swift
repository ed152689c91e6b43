// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import VaultCrypto

@testable import Vault
@testable import VaultAgent
@testable import VaultAgentServer

/// Programs that ask a person repeatedly, and programs that queue for every turn.
struct InsistingTests {
    private func ask(_ client: AgentClient) -> Waiting<AgentClient> {
        Waiting { () throws(VaultError) in try client.attended(reason: nil) }
    }

    private func agent() throws -> TestAgent {
        let agent = try TestAgent()
        _ = try agent.unlocked()
        return agent
    }

    // MARK: After a no

    @Test(arguments: [PersonAnswer.dismissed, .unanswered])
    func `after a no, or nothing, a person is not asked for half a minute, and then for twice as long`(
        answer: PersonAnswer
    ) throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        for rest in [30, 60, 120] {
            let asker = ask(try agent.client())
            try door.answer(try door.question(), answer)
            #expect(throws: VaultError.self) { try asker.get() }
            // The pause also applies to other connections, and until its last moment.
            for _ in 0..<20 {
                #expect(throws: VaultError.cancelled) { try agent.client().attended(reason: "again") }
            }
            agent.clock.pass(.seconds(rest - 1))
            #expect(throws: VaultError.cancelled) { try agent.client().attended(reason: "again") }
            #expect(!door.hasHeard)
            agent.clock.pass(.seconds(1))
        }
        // An approval resets the pause.
        for answer in [PersonAnswer.passphrase(agent.passphrase), .dismissed, .passphrase(agent.passphrase)] {
            let asker = ask(try agent.client())
            try door.answer(try door.question(), answer)
            _ = try? asker.get()
            if case .dismissed = answer { agent.clock.pass(.seconds(30)) }
        }
    }

    @Test func `those that wait for their turn do not ask after a no to their process`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let askers = try (0..<4).map { _ in ask(try agent.client()) }
        try door.answer(try door.question(), .dismissed)
        for asker in askers { #expect(throws: VaultError.cancelled) { try asker.get() } }
        #expect(!door.hasHeard)
    }

    @Test func `a client that goes while a person is asked has shown its window`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let (client, call) = (try agent.client(), AgentCall())
        let asker = Waiting { () throws(VaultError) in try client.attended(reason: nil, call) }
        let question = try door.question()
        call.end()
        #expect(throws: VaultError.agent(.gone)) { try asker.get() }
        #expect(try door.next() == .withdrawn(question.id))
        #expect(throws: VaultError.cancelled) { try agent.client().attended(reason: nil) }
        #expect(!door.hasHeard)
    }

    @Test func `a no to a client that speaks for another process is one to the client`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let other = try OtherProcess()
        let asker = ask(try agent.client(nil, behalf: try other.behalf))
        let question = try door.question()
        #expect(question.process == other.id)
        try door.answer(question, .dismissed)
        #expect(throws: VaultError.cancelled) { try asker.get() }
        #expect(throws: VaultError.cancelled) { try agent.client().attended(reason: nil) }
    }

    @Test func `a wrong passphrase is no refusal, and the program may ask again`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let asker = ask(try agent.client())
        let question = try door.question()
        for _ in 0..<3 { try? door.answer(question, .passphrase(.of("wrong"))) }
        #expect(throws: VaultError.storage(.wrongPassphrase)) { try asker.get() }
        let next = ask(try agent.client())
        try door.answer(try door.question(), .passphrase(agent.passphrase))
        _ = try next.get()
    }

    @Test func `a process that starts another one is its unit still, and others are not`() {
        var refusals = Refusals()
        let names = (1...3).map { Refusals.Name.process($0, startTime: 7) }
        refusals.note([names[0], .unit("app.scope")], at: .seconds(100))
        #expect(refusals.isResting([names[1], .unit("app.scope")], at: .seconds(129)))
        #expect(refusals.isResting([names[0]], at: .seconds(129)))
        #expect(!refusals.isResting([.process(1, startTime: 8), .unit("other.scope")], at: .seconds(129)))
        #expect(!refusals.isResting([], at: .seconds(129)))
        refusals.note([names[1], .unit("app.scope")], at: .seconds(130))
        #expect(refusals.isResting([names[2], .unit("app.scope")], at: .seconds(189)))
        #expect(!refusals.isResting([names[1]], at: .seconds(160)))
    }

    @Test func `a rest is no longer than an hour, is forgotten after another, and there are not many`() {
        var refusals = Refusals()
        let unit = [Refusals.Name.unit("app.scope")]
        var now = Duration.zero
        for _ in 0..<20 {
            refusals.note(unit, at: now)
            now += .seconds(3600)
        }
        #expect(!refusals.isResting(unit, at: now))
        refusals.note(unit, at: now)
        #expect(refusals.isResting(unit, at: now + .seconds(3599)))
        now += .seconds(7200)
        refusals.note(unit, at: now)
        #expect(!refusals.isResting(unit, at: now + .seconds(30)))
        // A program that starts processes without end evicts the entries that expire first.
        for number in 0..<1100 as Range<Int32> {
            refusals.note([.process(number, startTime: 0)], at: now + .milliseconds(Int(number)))
        }
        #expect(!refusals.isResting([.process(0, startTime: 0)], at: now + .seconds(5)))
        #expect(refusals.isResting([.process(1099, startTime: 0)], at: now + .seconds(5)))
    }

    // MARK: Turns

    /// The turns, and the order in which clients were called.
    private final class Line: Sendable {
        let turns = Turns { true }
        let heard = Mutex<[String]>([])
        private let clients = Mutex<[String: Int]>([:])

        private func id(_ client: String) -> Int {
            clients.withLock { clients in
                let number = clients[client] ?? clients.count
                clients[client] = number
                return number
            }
        }

        func wait(_ client: String, of process: Int32) {
            turns.wait(
                Turns.Waiting(client: id(client), process: process) { [self] in
                    heard.withLock { $0.append(client) }
                } refuse: { [self] in
                    heard.withLock { $0.append("no " + client) }
                })
        }

        func leave(_ client: String) { turns.leave(id(client)) }

        var all: [String] { heard.withLock { $0 } }
    }

    @Test func `a process that waits at every place keeps no other process from its turn`() {
        let line = Line()
        for number in 0...Turns.mostWaiting { line.wait("a\(number)", of: 1) }
        #expect(line.all == ["a0"])
        // Each newcomer evicts the newest client of the process that holds the most places.
        line.wait("b0", of: 2)
        line.wait("c0", of: 3)
        line.wait("b1", of: 2)
        #expect(line.all == ["a0", "no a32", "no a31", "no a30"])
        for client in ["a0", "b0", "c0", "a1", "b1", "a2"] { line.leave(client) }
        #expect(line.all.dropFirst(4).prefix(6) == ["b0", "c0", "a1", "b1", "a2", "a3"])
    }

    @Test func `where every place is another process's, one more is refused`() {
        let line = Line()
        for number in 0...Turns.mostWaiting { line.wait("\(number)", of: Int32(number)) }
        line.wait("more", of: 99)
        #expect(line.all == ["0", "no more"])
    }

    @Test func `a client that has no place hears that the agent is busy`() throws {
        let agent = try TestAgent()
        let connections = try (0..<Turns.mostWaiting + 2).map { _ in try agent.connection() }
        for connection in connections { #expect(try connection.greet() is StatusReply) }
        connections[0].send(TurnRequest(), 2)
        #expect(try connections[0].reply() is StatusReply)
        for connection in connections.dropFirst() { connection.send(TurnRequest(), 2) }
        // All other clients wait; the order of their arrival is not fixed.
        var waiting = connections.dropFirst().map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        #expect(poll(&waiting, nfds_t(waiting.count), 60_000) == 1)
        let index = try #require(waiting.firstIndex { $0.revents != 0 })
        #expect(try connections[index + 1].failure() == .agent(.busy))
    }
}
