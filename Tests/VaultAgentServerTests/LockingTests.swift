// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultStorage

struct LockingTests {
    @Test func `nothing is readable before the first unlock`() throws {
        let agent = try TestAgent()
        try agent.opened().add(.generic("s", accessible: .afterFirstUnlock))
        #expect(throws: VaultError.locked) { try agent.client().copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.locked) { try agent.client().delete(matching: Query(.genericPassword)) }
    }

    @Test func `after a lock, items of the first unlock stay readable, and the others leave the lists`()
        throws
    {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("boot", accessible: .afterFirstUnlock))
        try client.add(.generic("mail"))
        try client.lock()
        #expect(try client.status().state == .locked)
        let boot = try #require(try client.copyMatching(Query(.genericPassword, service: "boot")).first)
        #expect(try boot.withSecret { $0.count } == 1)
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword, service: "mail")) }
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.locked) { try client.add(.generic("other")) }
        var query = Query(.genericPassword)
        query.leavesOutLocked = true
        #expect(try client.copyMatching(query).count == 1)
        try client.add(.generic("later", accessible: .afterFirstUnlock))
        #expect(try client.delete(matching: Query(.genericPassword, service: "mail")) == 1)
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(try client.copyMatching(Query(.genericPassword)).count == 2)
    }

    @Test func `a locked agent follows another process's compaction and changes`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("boot", "one", accessible: .afterFirstUnlock))
        try client.add(.generic("mail", "two"))
        try client.lock()
        let beside = try agent.opened()
        try beside.compact()
        try beside.update(
            matching: Query(.genericPassword, service: "boot"), with: ItemChanges(secret: Secret(text: "three")))
        var query = Query(.genericPassword, service: "boot")
        query.returnsSecrets = true
        #expect(try client.copyMatching(query).first?.secret?.text == "three")
        try client.unlock(with: .passphrase(agent.passphrase))
        query = Query(.genericPassword, service: "mail")
        query.returnsSecrets = true
        #expect(try client.copyMatching(query).first?.secret?.text == "two")
    }

    @Test func `a search that finds nothing is no use`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("mail"))
        for service in ["mail", "missing"] {
            agent.clock.pass(.seconds(400))
            _ = try? client.copyMatching(Query(.genericPassword, service: service))
        }
        agent.clock.pass(.seconds(400))
        #expect(try client.status().state == .locked)
    }

    @Test func `it locks when nobody has used it for ten minutes, and asking for its state is no use`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        for _ in 0..<3 {
            agent.clock.pass(.seconds(599))
            _ = try client.copyMatching(Query(.genericPassword))
        }
        for _ in 0..<6 {
            agent.clock.pass(.seconds(100))
            _ = try client.status()
        }
        #expect(try client.status().state == .locked)
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
    }

    @Test func `it locks eight hours after the unlock, however much it is used`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        for _ in 0..<95 {
            agent.clock.pass(.seconds(300))
            _ = try client.copyMatching(Query(.genericPassword))
        }
        #expect(try client.status().locksIn == 300)
        agent.clock.pass(.seconds(300))
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(try client.status().locksIn == 600)
    }

    @Test func `limits of zero are none`() throws {
        let agent = try TestAgent {
            $0.idleLimit = .zero; $0.maximum = .zero
        }
        let client = try agent.unlocked()
        agent.clock.pass(.seconds(1_000_000))
        #expect(try client.status().state == .unlocked)
        #expect(try client.status().locksIn == nil)
    }

    @Test func `each wrong passphrase makes the next attempt wait longer, and a right one ends that`() throws {
        let agent = try TestAgent()
        let client = try agent.client()
        let wrong = UnlockingSecret.passphrase(try .of("wrong"))
        for _ in 0..<3 { #expect(throws: VaultError.storage(.wrongPassphrase)) { try client.unlock(with: wrong) } }
        #expect(agent.clock.waited == [.milliseconds(100), .milliseconds(200)])
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(throws: VaultError.storage(.wrongPassphrase)) { try client.unlock(with: wrong) }
        // Still unlocked: a wrong passphrase does not lock out other clients.
        #expect(try client.status().state == .unlocked)
        #expect(agent.clock.waited.count == 3)
    }

    @Test func `concurrent locks and unlocks leave a consistent state`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        let passphrase = agent.passphrase
        let workers = try (0..<3).map { _ in try agent.client() }.map { other in
            Worker {
                for round in 0..<10 {
                    if round % 2 == 0 { try other.lock() } else { try? other.unlock(with: .passphrase(passphrase)) }
                }
            }
        }
        for worker in workers { try worker.value() }
        let isUnlocked = try client.status().state == .unlocked
        #expect((try? client.copyMatching(Query(.genericPassword)))?.count == (isUnlocked ? 1 : nil))
        #expect(try client.status().locksIn == (isUnlocked ? 600 : nil))
        try client.unlock(with: .passphrase(agent.passphrase))
        agent.clock.pass(.seconds(601))
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
    }

    @Test func `one client at a time asks for the passphrase, and all are let in when it was right`() throws {
        let agent = try TestAgent()
        let first = try agent.client()
        #expect(try first.awaitTurn().state == .new)
        let others = try (0..<5).map { _ in try agent.client() }.map { client in Worker { try client.awaitTurn().state }
        }
        try first.unlock(with: .passphrase(agent.passphrase))
        for other in others { #expect(try other.value() == .unlocked) }
    }

    @Test func `the turn passes on when the one who had it goes`() throws {
        let agent = try TestAgent()
        var first: AgentClient? = try agent.client()
        #expect(try first?.awaitTurn().state == .new)
        let second = try agent.client()
        let waiting = Worker { try second.awaitTurn().state }
        first = nil
        #expect(try waiting.value() == .new)
        try second.unlock(with: .passphrase(agent.passphrase))
    }

    @Test func `a vault that is deleted, replaced or damaged under the agent is an error, and the agent goes on`()
        throws
    {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        let content = try agent.directory.read("v.vault")
        try FileManager.default.removeItem(atPath: agent.path.string)
        #expect(throws: VaultError.storage(.noVault)) { try client.copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.storage(.noVault)) { try client.add(.generic("t")) }
        try agent.directory.write(Array("no vault at all".utf8), to: "v.vault")
        try LinuxFileSystem.restrict(agent.path)
        #expect(throws: VaultError.storage(.damaged(.notAVault))) { try client.copyMatching(Query(.genericPassword)) }
        try agent.directory.write(content, to: "v.vault")
        try LinuxFileSystem.restrict(agent.path)
        #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
        // Another vault takes the path; the agent's keys do not open it.
        try FileManager.default.removeItem(atPath: agent.path.string)
        let other = try Vault.create(
            at: agent.path, passphrase: .of("other"), cost: .weakest, environment: agent.environment,
            accessGroups: .standard)
        try other.add(.generic("other"))
        #expect(throws: VaultError.locked) { try client.copyMatching(Query(.genericPassword)) }
        #expect(try client.status().state == .new)
        try client.unlock(with: .passphrase(.of("other")))
        #expect(try client.copyMatching(Query(.genericPassword)).first?[.service] == "other")
    }

    @Test func `an agent may wait for a vault that is made later`() throws {
        let agent = try TestAgent(makesVault: false)
        let client = try agent.client()
        #expect(throws: VaultError.storage(.noVault)) { try client.unlock(with: .passphrase(agent.passphrase)) }
        try Vault.create(at: agent.path, passphrase: agent.passphrase, cost: .weakest).close()
        try client.unlock(with: .passphrase(agent.passphrase))
        try client.add(.generic("s"))
    }
}
