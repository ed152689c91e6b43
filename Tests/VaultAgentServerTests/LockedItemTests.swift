// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultCrypto

/// The items that a locked agent serves and the changes that it accepts, by class, and its state after unlocking.
struct LockedItemTests {
    private let boot = Query(.genericPassword, service: "boot")
    private let mail = Query(.genericPassword, service: "mail")

    /// Adds an item that is readable after the first unlock, and an item that is readable only while unlocked.
    private func client(
        of agent: TestAgent, _ change: (inout Item) throws -> Void = { _ in }
    ) throws -> AgentClient {
        let client = try agent.unlocked()
        for (service, accessible) in [("boot", Accessibility.afterFirstUnlock), ("mail", .whenUnlocked)] {
            var item = try Item.generic(service, "secret", accessible: accessible)
            try change(&item)
            try client.add(item)
        }
        return client
    }

    @Test func `fields are locked and readable with their item`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent) { $0.fields = ["pin": try Secret(text: "1234")] }
        let record = try #require(try client.copyMatching(mail).first?.record)
        try client.lock()
        #expect(try client.copyMatching(boot).first?.openedSecret(field: "pin")?.text == "1234")
        #expect(throws: VaultError.locked) { try client.secret(of: record, field: "pin") }
        #expect(throws: VaultError.locked) {
            try client.update(matching: mail, with: ItemChanges(fields: ["pin": "5"]))
        }
        try client.update(matching: boot, with: ItemChanges(fields: ["pin": "5678", "new": "x"]))
        #expect(try client.copyMatching(boot).first?.openedSecret(field: "pin")?.text == "5678")
        #expect(try client.copyMatching(boot).first?.openedSecret()?.text == "secret")
    }

    @Test func `a marked item deleted while locked leaves a tombstone, and is restored over it`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent) { $0[.synchronizable] = 1 }
        try client.lock()
        for query in [boot, mail] { #expect(try client.delete(matching: query) == 1) }
        try client.unlock(with: .passphrase(agent.passphrase))
        let graves = Query(.genericPassword, attributes: [.synchronizable: 1, .tombstone: 1])
        #expect(try client.copyMatching(graves).compactMap { $0[.service]?.text } == ["boot", "mail"])
        try client.set(.generic("mail", "again"))
        try client.add(Item(.genericPassword(service: "boot"), attributes: [.synchronizable: 1], secret: "again"))
        #expect(try client.copyMatching(Query(.genericPassword)).count == 2)
    }

    @Test func `a query that does not name the mark finds the marked item`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent) { $0[.synchronizable] = 1 }
        #expect(throws: VaultError.duplicateItem) { try client.add(.generic("mail")) }
        #expect(try client.set(.generic("mail", "new"))[.synchronizable] == .number(1))
        #expect(try client.update(matching: mail, with: ItemChanges(attributes: [.synchronizable: 0])) == 1)
        #expect(try client.copyMatching(mail).first?.openedSecret()?.text == "new")
        #expect(try agent.opened().copyMatching(mail).first?[.synchronizable] == .number(0))
    }

    @Test func `a locked agent neither shows nor counts items of another group`() throws {
        let agent = try TestAgent()
        let own = try client(of: agent) { $0[.accessGroup] = "default" }
        let record = try #require(try own.copyMatching(boot).first?.record)
        try own.lock()
        let other = try agent.client(["other"])
        for query in [boot, mail] {
            #expect(throws: VaultError.itemNotFound) { try other.copyMatching(query) }
            #expect(throws: VaultError.itemNotFound) { try other.delete(matching: query) }
            #expect(try other.lockedCount(matching: query) == 0)
        }
        #expect(throws: VaultError.itemNotFound) { try other.secret(of: record) }
        #expect(try own.lockedCount(matching: mail) == 1 && own.secret(of: record)?.text == "secret")
    }

    @Test func `locked older versions stay locked, and a change while locked keeps the replaced version`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent)
        try client.setHistoryLimit(3)
        try client.update(matching: mail, with: ItemChanges(attributes: [.accessible: "ck"], secret: "second"))
        let record = try #require(try client.copyMatching(mail).first?.record)
        try client.lock()
        #expect(try client.copyMatching(mail).first?.openedSecret()?.text == "second")
        #expect(throws: VaultError.locked) { try client.versions(matching: mail) }
        #expect(throws: VaultError.locked) { try client.undo(record) }
        try client.update(matching: boot, with: ItemChanges(secret: "later"))
        #expect(try client.undo(#require(try client.copyMatching(boot).first?.record))[.service] == "boot")
        try client.unlock(with: .passphrase(agent.passphrase))
        var revealing = boot
        revealing.returnsSecrets = true
        #expect(try client.versions(matching: revealing).map { $0.item.secret?.text } == ["secret", "later", "secret"])
    }

    @Test func `a new protection class takes effect at the next lock`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent)
        try client.update(matching: mail, with: ItemChanges(attributes: [.accessible: "cku"]))
        try client.update(matching: boot, with: ItemChanges(attributes: [.accessible: "ak"]))
        try client.lock()
        #expect(try client.copyMatching(mail).first?.openedSecret()?.text == "secret")
        #expect(throws: VaultError.locked) { try client.copyMatching(boot) }
        // A locked agent cannot seal an item under a class whose key it lacks either.
        #expect(throws: VaultError.locked) {
            try client.update(matching: mail, with: ItemChanges(attributes: [.accessible: "ak"]))
        }
    }

    @Test func `a vault that is opened beside an agent is open whatever the agent does`() throws {
        let agent = try TestAgent()
        let client = try client(of: agent)
        let beside = try agent.opened()
        try client.lock()
        #expect(try beside.copyMatching(mail).first?.openedSecret()?.text == "secret")
        try beside.update(matching: mail, with: ItemChanges(secret: "beside"))
        let copy = agent.directory.path.appending("copy.vault")
        #expect(try beside.backUp(to: copy) == 2)
        try beside.lock()
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(try client.copyMatching(mail).first?.openedSecret()?.text == "beside")
        // A restored backup replaces the vault under the agent, which continues with the backup.
        try client.set(.generic("mail", "later"))
        beside.close()
        try LockedVault(at: copy, environment: agent.environment).restore(
            with: .passphrase(agent.passphrase), to: agent.path, replacing: true, accepts: { _ in true })
        #expect(try client.copyMatching(mail).first?.openedSecret()?.text == "beside")
        try client.set(.generic("mail", "last"))
        #expect(try agent.opened().copyMatching(mail).first?.openedSecret()?.text == "last")
    }
}
