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

/// Items that need a person's consent for reading, behind an agent that enforces the consent.
struct PresenceTests {
    private let query = Query(.genericPassword, service: "s")

    private func agent(_ change: (inout AgentSettings) throws -> Void = { _ in }) throws -> TestAgent {
        let agent = try TestAgent(change)
        var item = try Item.generic("s", "protected")
        item.attributes[.accessControl] = .data(AccessControl(.whenUnlocked, constraints: 1).encoded)
        try agent.unlocked().add(item)
        return agent
    }

    private func ask(_ client: AgentClient, _ reason: String? = "to pay") -> Waiting<AgentClient> {
        Waiting { () throws(VaultError) in try client.attended(reason: reason) }
    }

    // MARK: Refusals

    @Test func `without a door nobody can be asked, and nothing is told by any request`() throws {
        let agent = try agent()
        let client = try agent.client()
        #expect(try !client.status().asksPeople)
        #expect(throws: VaultError.presenceRequired) { try client.attended(reason: nil) }
        for returnsSecrets in [false, true] {
            var query = query
            query.returnsSecrets = returnsSecrets
            #expect(throws: VaultError.presenceRequired) { try client.copyMatching(query) }
            #expect(throws: VaultError.presenceRequired) { try client.versions(matching: query) }
        }
        #expect(throws: VaultError.presenceRequired) {
            try client.update(matching: query, with: ItemChanges(attributes: [.accessible: "ak"]))
        }
        #expect(throws: VaultError.presenceRequired) { try client.set(.generic("s", "other")) }
        #expect(throws: VaultError.presenceRequired) { try client.store([.generic("s", "other")], replacing: true) }
        let record = try #require(try agent.opened().attended().copyMatching(query).first?.record)
        #expect(throws: VaultError.presenceRequired) { try client.secret(of: record) }
        #expect(try client.delete(matching: query) == 1)
    }

    @Test func `a ticket counts on its own connection, for the next request, and no made-up one does`() throws {
        let agent = try agent()
        let (own, other) = (try agent.connection(), try agent.connection())
        for connection in [own, other] { #expect(try connection.greet() is StatusReply) }
        own.send(AuthenticateRequest(reason: nil, passphrase: try .of("wrong")), 2)
        #expect(try own.failure() == .storage(.wrongPassphrase))
        own.send(AuthenticateRequest(reason: nil, passphrase: agent.passphrase), 3)
        let ticket = try #require(try own.reply() as? TicketReply).value
        // A ticket has no effect until presented.
        own.send(CopyMatchingRequest(query), 4)
        #expect(try own.failure() == .presenceRequired)
        for ticket in [ticket, .random(SeededRandom("made up"))] {
            other.send(PresentRequest(ticket), 2)
            #expect(try other.failure() == .presenceRequired)
            other.send(CopyMatchingRequest(query), 3)
            #expect(try other.failure() == .presenceRequired)
        }
        for _ in 0..<2 {
            own.send(PresentRequest(ticket), 5)
            #expect(try own.reply() is DoneReply)
            own.send(CopyMatchingRequest(query), 6)
            #expect(try own.reply() is ItemsReply)
            own.send(CopyMatchingRequest(query), 7)
            #expect(try own.failure() == .presenceRequired)
        }
        own.send(PresentRequest(ticket), 8)
        #expect(try own.reply() is DoneReply)
        own.send(StatusRequest(), 9)
        #expect(try own.reply() is StatusReply)
        own.send(CopyMatchingRequest(query), 10)
        #expect(try own.failure() == .presenceRequired)
    }

    @Test(arguments: [
        (PersonAnswer.dismissed, VaultError.cancelled), (.unanswered, .agent(.unanswered)),
        (.unavailable, .presenceRequired),
    ]) func `what a person does not allow ends as they said it`(answer: PersonAnswer, error: VaultError) throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let asker = ask(try agent.client())
        try door.answer(try door.question(), answer)
        #expect(throws: error) { try asker.get() }
        agent.clock.pass(.seconds(30))
        // The turn was returned.
        let next = ask(try agent.client())
        try door.answer(try door.question(), .passphrase(agent.passphrase))
        #expect(try next.get().copyMatching(query).count == 1)
    }

    @Test func `three wrong passphrases are the end, and each makes the next wait longer`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let asker = ask(try agent.client())
        let question = try door.question()
        for _ in 0..<2 {
            #expect(throws: VaultError.storage(.wrongPassphrase)) {
                try door.answer(question, .passphrase(.of("wrong")))
            }
        }
        for _ in 0..<2 {
            #expect(throws: VaultError.cancelled) { try door.answer(question, .passphrase(.of("wrong"))) }
        }
        #expect(throws: VaultError.storage(.wrongPassphrase)) { try asker.get() }
        #expect(agent.clock.waited.count == 2)
    }

    @Test func `a person who does not answer is not waited for, and the door hears that`() throws {
        let agent = try agent { $0.patienceForPerson = .milliseconds(1) }
        let door = FakeDoor(try agent.client())
        #expect(throws: VaultError.agent(.unanswered)) { try agent.client().attended(reason: nil) }
        let question = try door.question()
        #expect(try door.next() == .withdrawn(question.id))
        #expect(throws: VaultError.cancelled) { try door.answer(question, .passphrase(agent.passphrase)) }
    }

    @Test func `a door that goes leaves its question to the next one, and the last one to nobody`() throws {
        let agent = try agent()
        let (first, second) = (FakeDoor(try agent.client()), FakeDoor(try agent.client()))
        let asker = ask(try agent.client())
        let question = try first.question()
        first.leave()
        #expect(try second.question() == question)
        second.leave()
        #expect(throws: VaultError.presenceRequired) { try asker.get() }
    }

    @Test func `a client that goes takes its question with it`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let (client, call) = (try agent.client(), AgentCall())
        let asker = Waiting { () throws(VaultError) in try client.attended(reason: nil, call) }
        let question = try door.question()
        call.end()
        #expect(throws: VaultError.agent(.gone)) { try asker.get() }
        #expect(try door.next() == .withdrawn(question.id))
        #expect(throws: VaultError.agent(.gone)) { try client.attended(reason: nil, call) }
    }

    @Test func `a client that says more while it waits is closed`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let connection = try agent.connection()
        #expect(try connection.greet() is StatusReply)
        connection.send(AuthenticateRequest(reason: nil, passphrase: nil), 2)
        let question = try door.question()
        connection.send(StatusRequest(), 3)
        #expect(connection.isClosed)
        #expect(try door.next() == .withdrawn(question.id))
    }

    @Test func `who is no door is not told of questions and answers none`() throws {
        let agent = try agent()
        // A door that speaks for another process counts as that process here.
        let other = try OtherProcess()
        let represented = try agent.client(nil, behalf: try other.behalf)
        #expect(throws: VaultError.agent(.refused)) { try represented.offerToAsk(AgentCall()) { _ in } }
        let id = QuestionID.random(SeededRandom("q"))
        #expect(throws: VaultError.agent(.refused)) { try represented.answer(id, .dismissed) }
        // No door has offered to ask.
        #expect(throws: VaultError.agent(.refused)) { try agent.client().answer(id, .dismissed) }
        let door = FakeDoor(try agent.client())
        let asker = ask(try agent.client())
        let question = try door.question()
        #expect(throws: VaultError.cancelled) { try door.client.answer(id, .passphrase(agent.passphrase)) }
        #expect(throws: VaultError.agent(.refused)) { try represented.answer(question.id, .dismissed) }
        try door.answer(question, .dismissed)
        #expect(throws: VaultError.cancelled) { try asker.get() }
    }

    @Test func `eight doors are enough, and a question in another's place ends the asking of that one`() {
        let questions = Questions(clock: HeldClock())
        let heard = Mutex<[QuestionEvent]>([])
        let isTaken = (0..<9).map { door in
            questions.add(.init(id: door, process: 1) { event in heard.withLock { $0.append(event) } })
        }
        #expect(isTaken == Array(repeating: true, count: 8) + [false])
        let ids = [QuestionID.random(SeededRandom("a")), .random(SeededRandom("b"))]
        for (asker, id) in ids.enumerated() {
            let question = PersonQuestion(id, process: 9, program: "", reason: "")
            questions.ask(question, for: asker, []) { _ in }
        }
        let events = heard.withLock { $0 }
        guard events.count == 3, case .asked(let first) = events[0], case .withdrawn(let gone) = events[1],
            case .asked(let second) = events[2]
        else {
            Issue.record("\(events)")
            return
        }
        #expect(first.id == ids[0] && gone == ids[0] && second.id == ids[1])
    }

    @Test func `a question is its door's process's alone`() throws {
        let questions = Questions(clock: HeldClock())
        let (one, two, asker) = (1, 2, 3)
        let id = QuestionID.random(SeededRandom("q"))
        _ = questions.add(.init(id: one, process: 1) { _ in })
        _ = questions.add(.init(id: two, process: 2) { _ in })
        let question = PersonQuestion(id, process: 9, program: "", reason: "")
        questions.ask(question, for: asker, []) { _ in }
        try questions.check(id, from: 1)
        for process: Int32 in [2, 3] {
            #expect(throws: VaultError.agent(.refused)) { try questions.check(id, from: process) }
        }
        questions.pass(id)
        try questions.check(id, from: 2)
        #expect(throws: VaultError.agent(.refused)) { try questions.check(id, from: 1) }
    }

    // MARK: Consent

    @Test func `a door is told who asks and what they say, cut short`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        #expect(try agent.client().status().asksPeople)
        let asker = ask(try agent.client(), String(repeating: "\u{202E}\n", count: 5_000))
        let question = try door.question()
        #expect(question.process == getpid())
        #expect(question.reason.unicodeScalars.count == PersonQuestion.longestReason)
        try door.answer(question, .passphrase(agent.passphrase))
        let attended = try asker.get()
        var query = query
        query.returnsSecrets = true
        #expect(try attended.copyMatching(query).first?.secret?.text == "protected")
        #expect(try attended.update(matching: query, with: ItemChanges(attributes: [.label: "l"])) == 1)
        // Consent for one client does not extend to another.
        #expect(try agent.client().lockedCount(matching: query) == 0)
        let beside = try agent.client()
        beside.asking = .never
        #expect(throws: VaultError.itemNotFound) { try beside.copyMatching(query) }
    }

    @Test func `each request of a client asks again, and its results open without another question`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let (client, query) = (try agent.client(), query)
        for _ in 0..<2 {
            let asker = Waiting { () throws(VaultError) in try client.copyMatching(query) }
            try door.answer(try door.question(), .passphrase(agent.passphrase))
            #expect(try asker.get().first?.openedSecret()?.text == "protected")
        }
        var refused = query
        refused.presence = .refused
        #expect(throws: VaultError.presenceRequired) { try client.copyMatching(refused) }
        #expect(!door.hasHeard)
    }

    @Test func `a program that asks itself asks once`() throws {
        let agent = try agent()
        let (client, asked) = (try agent.client(), Counter())
        let passphrase = agent.passphrase
        client.asking = .byProgram { client throws(VaultError) in
            asked.count.withLock { $0 += 1 }
            try client.authenticate(with: passphrase)
        }
        for _ in 0..<3 { #expect(try client.copyMatching(query).first?.openedSecret()?.text == "protected") }
        #expect(asked.count.withLock { $0 } == 1)
        client.asking = .byProgram { _ throws(VaultError) in throw .cancelled }
        let other = try agent.client()
        other.asking = client.asking
        #expect(throws: VaultError.cancelled) { try other.copyMatching(query) }
    }

    private final class Counter: Sendable { let count = Mutex(0) }

    @Test func `there is one question at a time, and others wait for their turn`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        let askers = try (0..<4).map { number in ask(try agent.client(), "\(number)") }
        for _ in askers {
            let question = try door.question()
            #expect(!door.hasHeard)
            try door.answer(question, .passphrase(agent.passphrase))
        }
        for asker in askers { #expect(try asker.get().copyMatching(query).count == 1) }
    }

    @Test func `an answer unlocks a locked vault, and the requests that wait for that continue`() throws {
        let agent = try agent()
        let door = FakeDoor(try agent.client())
        try agent.client().lock()
        let asker = ask(try agent.client())
        let question = try door.question()
        let other = try agent.client()
        let unlocker = Waiting { () throws(VaultError) in try other.awaitTurn().state }
        try door.answer(question, .passphrase(agent.passphrase))
        #expect(try asker.get().copyMatching(query).count == 1)
        #expect(try unlocker.get() == .unlocked)
        #expect(try agent.client().status().state == .unlocked)
    }

    @Test func `what was allowed and what was not is written down`() throws {
        let agent = try agent { $0.auditDirectory = $0.vault.removingLastComponent().appending("log") }
        let door = FakeDoor(try agent.client())
        for answer in [PersonAnswer.dismissed, .passphrase(agent.passphrase)] {
            let asker = ask(try agent.client(), "the-reason")
            try door.answer(try door.question(), answer)
            _ = try? asker.get()
            agent.clock.pass(.seconds(30))
        }
        let directory = agent.directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
        let log = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
        #expect(log.contains("\"error\":\"the person refused\"") && log.contains("\"verb\":\"authenticate\""))
        #expect(!log.contains("the-reason"))
    }
}
