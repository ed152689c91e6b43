// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultAgent

/// Changes through an agent: those that the client may see, for as long as it reads, and an end that says so.
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
        // An agent that ends locks its vault and closes it, or is gone before it could say so.
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
        // Whoever watches has a connection, of which there are 64: those of readers that are gone are free again.
        for _ in 0..<200 {
            var changes = client.changes.makeAsyncIterator()
            try await client.set(.generic("s"))
            let kind = await changes.next()?.kind
            #expect(kind == .added || kind == .updated)
        }
    }

    @Test func `a second request on a connection that watches ends it, and the others are served`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let connection = try agent.connection()
        #expect(try connection.greet() is StatusReply)
        connection.send(WatchRequest(nil, from: nil), 2)
        #expect(try connection.reply() is ChangesReply)
        connection.send(StatusRequest(), 3)
        #expect(try connection.reply() == nil)
        try client.add(.generic("s"))
        #expect(try client.sequence == 1)
    }
}
