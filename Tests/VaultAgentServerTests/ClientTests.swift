// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultCrypto

/// A client of an agent behaves like any vault.
struct ClientTests {
    @Test func `a request that finds the vault locked is made again once the program has unlocked it`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.lock()
        let passphrase = agent.passphrase
        let asked = Mutex(0)
        client.whenLocked = { client throws(VaultError) in
            asked.withLock { $0 += 1 }
            try client.unlock(with: .passphrase(passphrase))
        }
        try client.add(.generic("mail", "s3cret"))
        #expect(asked.withLock { $0 } == 1)
        #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
        // The unlock callback runs once only.
        try client.lock()
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
        client.whenLocked = { _ throws(VaultError) in throw .cancelled }
        #expect(throws: VaultError.cancelled) { try client.set(.generic("mail", "other")) }
        #expect(try client.isLocked && client.sequence == 1)
    }

    @Test func `the verbs do through an agent what they do without one`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let added = try client.add(.generic("mail", "s3cret"))
        #expect(added.record?.version == 1)
        #expect(throws: VaultError.duplicateItem) { try client.add(.generic("mail")) }
        let found = try #require(try client.copyMatching(Query(.genericPassword, service: "mail")).first)
        #expect(found[.service] == "mail")
        #expect(found.record?.id == added.record?.id)
        #expect(try found.withSecret { $0.count } == 6)
        #expect(
            try client.update(matching: Query(.genericPassword), with: ItemChanges(secret: Secret(text: "n3w"))) == 1)
        #expect(throws: VaultError.itemChanged) { try found.withSecret { _ in } }
        #expect(try client.set(.generic("mail", "third")).record?.version == 3)
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        #expect(try client.copyMatching(query).first?.secret?.text == "third")
        #expect(try client.delete(matching: Query(.genericPassword)) == 1)
        #expect(throws: VaultError.itemNotFound) { try client.copyMatching(query) }
        #expect(throws: VaultError.parameter(.classMissing)) { try client.copyMatching(Query(nil)) }
    }

    @Test func `an agent opens a field alone, or all fields with their item`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        var item = try Item.generic("mail", "s3cret")
        item.fields = ["otp": try Secret(text: "seed"), "pin": try Secret(text: "1")]
        try client.add(item)
        var query = Query(.genericPassword, service: "mail")
        let found = try #require(try client.copyMatching(query).first)
        #expect(found.fieldNames == ["otp", "pin"] && found.fields.isEmpty)
        #expect(try found.openedSecret(field: "otp")?.text == "seed" && found.openedSecret()?.text == "s3cret")
        #expect(try found.openedSecret(field: "none") == nil)
        try client.update(
            matching: query, with: ItemChanges(fields: ["pin": nil, "code": try Secret(text: "c")]))
        query.returnsSecrets = true
        let changed = try #require(try client.copyMatching(query).first)
        #expect(changed.secret?.text == "s3cret")
        #expect(changed.fields.mapValues { $0.text } == ["otp": "seed", "code": "c"])
        #expect(throws: VaultError.parameter(.fieldName)) {
            try client.update(matching: query, with: ItemChanges(fields: ["": nil, "\n": "x"]))
        }
        #expect(throws: VaultError.itemChanged) { try found.openedSecret(field: "otp") }
    }

    @Test func `fields that are too large for one message together come in several`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let large = try Secret(SecretBytes(random: 10 << 20))
        for name in ["a", "b", "c"] {
            try client.add(Item(.genericPassword(service: name), fields: ["large": large]))
        }
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        #expect(try client.copyMatching(query).map { $0.fields["large"]?.count } == [10 << 20, 10 << 20, 10 << 20])
    }

    @Test func `more items than fit into one message go and come in several`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let items = try (0..<3000).map { number in
            Item(
                .genericPassword(service: "s", account: "\(number)"),
                attributes: [.comment: .string(String(repeating: "c", count: 300))],
                secret: try Secret(text: "secret \(number)"))
        }
        try client.store(items, replacing: false)
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        let found = try client.copyMatching(query)
        #expect(found.map { $0.secret?.text } == (0..<3000).map { "secret \($0)" })
        #expect(throws: VaultError.duplicateItem) { try client.store([.generic("new"), items[7]], replacing: false) }
        #expect(throws: VaultError.itemNotFound) { try client.copyMatching(Query(.genericPassword, service: "new")) }
    }

    @Test
    func
        `secrets of 16 MiB and attributes of 64 KiB pass, and larger ones are refused as without an agent`()
        throws
    {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let large = try Secret(SecretBytes(random: 16 << 20))
        try client.add(Item(.genericPassword(service: "large"), secret: large))
        let found = try #require(try client.copyMatching(Query(.genericPassword, service: "large")).first)
        #expect(try found.withSecret { bytes in large.withBytes { isEqualInConstantTime(bytes, $0) } } == true)
        for count in [(16 << 20) + 1, 18 << 20] {
            let secret = try Secret(SecretBytes(zeroed: count))
            #expect(throws: VaultError.storage(.valueTooLarge)) {
                try client.set(Item(.genericPassword(service: "large"), secret: secret))
            }
        }
        let text = String(repeating: "c", count: 60_000)
        try client.add(Item(.genericPassword(service: "text"), attributes: [.comment: .string(text)]))
        #expect(try client.copyMatching(Query(.genericPassword, service: "text")).first?[.comment] == .string(text))
        for count in [70_000, 300_000] {
            let item = Item(
                .genericPassword(service: "t"), attributes: [.comment: .string(String(repeating: "c", count: count))])
            #expect(throws: VaultError.storage(.attributesTooLarge)) { try client.add(item) }
        }
        #expect(try client.status().state == .unlocked)
    }

    @Test func `clients see what others and other processes change, in any number at once`() throws {
        let agent = try TestAgent()
        _ = try agent.unlocked()
        let beside = try agent.opened()
        let clients = try (0..<8).map { _ in try agent.client() }
        let workers = clients.enumerated().map { number, client in
            Worker {
                for round in 0..<20 {
                    try client.add(.generic("\(number) \(round)"))
                    _ = try client.copyMatching(Query(.genericPassword, service: "\(number) \(round)"))
                }
            }
        }
        for round in 0..<20 { try beside.add(.generic("beside \(round)")) }
        for worker in workers { try worker.value() }
        #expect(try clients[0].copyMatching(Query(.genericPassword)).count == 180)
        #expect(try beside.copyMatching(Query(.genericPassword)).count == 180)
    }

    @Test func `access groups separate clients`() throws {
        let agent = try TestAgent()
        let (a, b) = (try agent.unlocked(["a"]), try agent.client(["b", "a"]))
        try a.add(.generic("of a"))
        try b.add(.generic("of b"))
        #expect(try a.copyMatching(Query(.genericPassword)).map { $0[.service] } == ["of a"])
        #expect(try b.copyMatching(Query(.genericPassword)).count == 2)
        #expect(try agent.client(["*"]).copyMatching(Query(.genericPassword)).count == 2)
        #expect(throws: VaultError.itemNotFound) { try agent.client().copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.accessGroupDenied) {
            try a.copyMatching(Query(.genericPassword, attributes: [.accessGroup: "b"]))
        }
    }

    @Test func `who guesses the key of another group's secret gets nothing`() throws {
        let agent = try TestAgent()
        let (a, b) = (try agent.unlocked(["a"]), try agent.client(["b"]))
        let record = try #require(try a.add(.generic("of a")).record)
        #expect(try a.secret(of: record) != nil)
        #expect(throws: VaultError.itemNotFound) { try b.secret(of: record) }
    }

    @Test func `a client finds the agent again that was started anew, and says so when there is none`() throws {
        var agent: TestAgent? = try TestAgent()
        let address = try #require(agent?.address)
        let client = try #require(try agent?.unlocked())
        try client.add(.generic("s"))
        agent = nil
        #expect(throws: VaultError.agent(.notRunning)) { try client.copyMatching(Query(.genericPassword)) }
        #expect(try AgentClient(at: address, vault: nil, accessGroups: nil) == nil)
    }

    @Test func `verifying, compacting and the state of the agent go through the socket`() throws {
        let agent = try TestAgent()
        let client = try agent.client()
        #expect(client.greeting.state == .new)
        try client.unlock(with: .passphrase(agent.passphrase))
        try client.add(.generic("s"))
        #expect(try client.verify(deep: true).opened == 1)
        try client.compact()
        let status = try client.status()
        #expect(status.state == .unlocked)
        #expect(status.vault == agent.path.string)
        #expect(status.locksIn == 600)
        #expect(status.clients == 1)
    }
}
