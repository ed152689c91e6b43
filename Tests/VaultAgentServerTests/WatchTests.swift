// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultAgent
@testable import VaultAgentServer

/// Changes through an agent: limited to the client's rights, delivered while the client reads, and ended with a reason.
struct WatchTests {
    private let query = Query(.genericPassword, service: "s")

    private func first(_ changes: ChangeSequence) async -> ItemChange.Kind? {
        var iterator = changes.makeAsyncIterator()
        return await iterator.next()?.kind
    }

    @Test func `a vault that is not open yet, an agent that is gone and a bad query are said by the element`()
        async throws
    {
        var agent: TestAgent? = try TestAgent()
        let passphrase = try #require(agent?.passphrase)
        let client = try #require(try agent?.client())
        #expect(await first(client.changes) == .failed(.locked))
        try client.unlock(with: .passphrase(passphrase))
        let bad = Query(.genericPassword, attributes: [.server: "x"])
        #expect(await first(client.changes(matching: bad)) == .failed(.noSuchAttribute("srvr")))
        var changes = client.changes.makeAsyncIterator()
        agent = nil
        var heard: [ItemChange.Kind] = []
        while let change = await changes.next() { heard.append(change.kind) }
        // An ending agent locks and closes its vault, or disappears before it can report that.
        let (closed, gone) = (ItemChange.Kind.failed(.closed), ItemChange.Kind.failed(.agent(.gone)))
        #expect([[.locked, closed], [.locked, gone], [gone]].contains(heard), "\(heard)")
        #expect(await first(client.changes) == .failed(.agent(.notRunning)))
    }

    @Test func `changes of clients, of the agent's lock and of other processes come in order`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        var changes = client.changes(matching: query).makeAsyncIterator()
        try await client.add(.generic("s", "one"))
        let added = try #require(await changes.next())
        #expect(added.kind == .added)
        #expect(try await client.first(try #require(added.query))?.service == "s")
        try await client.set(.generic("other"))
        try await agent.client().set(.generic("s", "two"))
        #expect(await changes.next()?.kind == .updated)
        let beside = try agent.opened()
        try await beside.delete(matching: query)
        let deleted = await changes.next()
        #expect(deleted?.kind == .deleted && deleted?.id == added.id)
        try client.lock()
        #expect(await changes.next()?.kind == .locked)
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(await changes.next()?.kind == .unlocked)
    }

    @Test func `what came since a commit is told, and another group is not`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked(["A"])
        let sequence = try client.sequence
        try await client.add(.generic("s"))
        var since = client.changes(matching: query, from: sequence).makeAsyncIterator()
        #expect(await since.next()?.kind == .many)
        var now = client.changes(matching: query, from: try client.sequence).makeAsyncIterator()
        try await agent.client(["B"]).add(.generic("s"))
        try await agent.client(["A"]).delete(matching: query)
        #expect(await now.next()?.kind == .deleted)
        #expect(await since.next()?.kind == .deleted)
    }

    @Test func `a client that does not read hears many, and one that goes leaves nothing`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        var slow: ChangeSequence? = client.changes
        let items = try (0..<20_000).map { Item(.genericPassword(service: "\($0)"), secret: try Secret(text: "x")) }
        try await client.store(items, replacing: false)
        var iterator = slow?.makeAsyncIterator()
        #expect(await iterator?.next()?.kind == .many)
        (slow, iterator) = (nil, nil)
        // The connection ends with its last reader and is reopened for the next.
        for round in 0..<200 {
            var changes = client.changes.makeAsyncIterator()
            try await client.set(.generic("s", "\(round)"))
            let kind = await changes.next()?.kind
            #expect(kind == .added || kind == .updated)
        }
    }

    @Test func `another request on a connection that watches ends it, and the others are served`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let connection = try agent.connection()
        #expect(try connection.greet() is StatusReply)
        connection.send(WatchRequest(query: nil, sequence: nil), 2)
        #expect(try connection.reply() is ChangesReply)
        connection.send(StatusRequest(), 3)
        #expect(try connection.reply() == nil)
        // A request number cannot be used twice either.
        let other = try agent.connection()
        #expect(try other.greet() is StatusReply)
        for _ in 0..<2 { other.send(WatchRequest(query: nil, sequence: nil), 2) }
        #expect(try other.reply() is ChangesReply)
        #expect(try other.reply() == nil)
        try client.add(.generic("s"))
        #expect(try client.sequence == 1)
    }

    @Test func `a program reads more sequences than there are connections, on one of them`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let all = (0..<Watches.mostOfProcess).map { _ in client.changes(matching: query) }
        #expect(try client.status().clients == 2)
        // Other programs can still use the remaining places, but this program gets no further watch.
        let others = try (0..<AgentServer.mostClients - 3).map { _ in try agent.client() }
        #expect(await first(others[0].changes) == .failed(.agent(.busy)))
        #expect(try others.allSatisfy { try $0.status().state == .unlocked })
        try await client.add(.generic("s"))
        for changes in all { #expect(await first(changes) == .added) }
        try client.lock()
        for changes in all { #expect(await first(changes) == .locked) }
    }

    @Test func `one of many that ends leaves the others, and takes nothing more`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        var other = client.changes(matching: query).makeAsyncIterator()
        let one = Task { [query] in
            var count = 0
            for await _ in client.changes(matching: query) { count += 1 }
            return count
        }
        try await client.add(.generic("s"))
        #expect(await other.next()?.kind == .added)
        one.cancel()
        #expect(await one.value <= 1)
        try await client.delete(matching: query)
        #expect(await other.next()?.kind == .deleted)
        #expect(try client.status().clients == 2)

        let connection = try agent.connection()
        #expect(try connection.greet(["default"]) is StatusReply)
        for number: UInt32 in 2...3 {
            connection.send(WatchRequest(query: query, sequence: nil), number)
            #expect(try connection.reply() is ChangesReply)
        }
        connection.send(UnwatchRequest(2), 4)
        #expect(try connection.reply() is DoneReply)
        try await client.add(.generic("s"))
        connection.send(UnwatchRequest(3), 5)
        #expect(try connection.reply() is ChangesReply)
        #expect(try connection.reply() is DoneReply)
    }

    @Test func `a slow reader hears many, and a quick one beside it each change`() async throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        var quick = client.changes(matching: query).makeAsyncIterator()
        var slow = client.changes(matching: query).makeAsyncIterator()
        for index in 0..<600 {
            try await client.add(Item(.genericPassword(service: "s", account: "\(index)"), secret: Secret(text: "x")))
            #expect(await quick.next()?.kind == .added)
        }
        #expect(await slow.next()?.kind == .many)
    }

    @Test func `readers of several groups and a bad query share a connection, and each hears what is its own`()
        async throws
    {
        let agent = try TestAgent()
        let client = try agent.unlocked(["A", "B"])
        func changes(of group: String) -> ChangeSequence {
            client.changes(matching: Query(.genericPassword, attributes: [.accessGroup: .string(group)]))
        }
        var (a, b) = (changes(of: "A").makeAsyncIterator(), changes(of: "B").makeAsyncIterator())
        let bad = client.changes(matching: Query(.genericPassword, attributes: [.server: "x"]))
        var heard: [ItemChange.Kind] = []
        for await change in bad { heard.append(change.kind) }
        #expect(heard == [.failed(.noSuchAttribute("srvr"))])
        try await agent.client(["B"]).add(.generic("of B"))
        try await agent.client(["A"]).add(.generic("of A"))
        let (ofA, ofB) = (try #require(await a.next()?.query), try #require(await b.next()?.query))
        #expect(try await client.first(ofA)?.service == "of A")
        #expect(try await client.first(ofB)?.service == "of B")
    }

    @Test func `when the agent lets the connection go each reader hears it, and the next ones are told on a new one`()
        async throws
    {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let all = (0..<3).map { _ in client.changes(matching: query) }
        agent.server.reload()
        for changes in all {
            var heard: [ItemChange.Kind] = []
            for await change in changes { heard.append(change.kind) }
            #expect(heard == [.failed(.agent(.gone))])
        }
        var changes = client.changes(matching: query).makeAsyncIterator()
        try await client.add(.generic("s"))
        #expect(await changes.next()?.kind == .added)
    }
}
