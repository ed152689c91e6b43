// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultBus

@testable import VaultSecretService
import VaultDoorKit

extension SecretService {
    /// Gives a connection the state that this many calls would create.
    fileprivate func fill(_ name: String, sessions: Int = 0, prompts: Int = 0, searches: Int = 0) {
        for _ in 0..<sessions { _ = holdings.add(.plain(of: name)) }
        for _ in 0..<prompts { _ = holdings.add(ServicePrompt(owner: name, purpose: .unlock([]))) }
        for number in 0..<searches {
            guard let client = holdings.clients[name],
                let attributes = try? ProgramAttributes(checking: ["k": "\(number)"])
            else {
                continue
            }
            _ = try? holdings.standIn(for: attributes, in: nil, client)
        }
    }

    fileprivate var counts: [Int] { [holdings.sessions.count, holdings.prompts.count, holdings.searches.count] }
    fileprivate var promptOwners: Int { Set(holdings.prompts.values.map(\.owner)).count }

    /// Whether a client may wait for a person beside a program that holds every place, and which of the program's waits
    /// is ended for it; `nil` if the client may not wait.
    fileprivate func waits(_ name: String, beside program: ServiceProgram, of count: Int) async -> Bool? {
        guard let client = holdings.clients[name] else { return nil }
        guard let asked = Question() else { return nil }
        asking.begin(asked)
        for _ in 0..<count { turns.beginSearch(of: program) }
        defer {
            asking.end(asked)
            for _ in 0..<count { turns.endSearch(of: program) }
        }
        var isRefused = false
        let outcome = await withCheckedContinuation { continuation in
            let number = asked.wait(continuation, program)
            do throws(ServiceRefusal) { try checkWaiting(client) } catch { isRefused = true }
            // No effect if the wait ended for that reason.
            asked.answer(number, .failed)
        }
        return isRefused ? nil : outcome == nil
    }
}

/// Programs that exhaust a limit, beside a modest one.
@Suite(.enabled(if: PrivateBus.isThere)) struct GreedyTests {
    private static let (one, all) = ClientHoldings.mostObjects

    private func greedy(_ world: ServiceWorld, _ count: Int) throws -> [BusClient] {
        try (0..<count).map { try world.sandboxed("org.example.Greedy\($0)") }
    }

    private func name(_ client: BusClient) throws -> String { try #require(client.connection.uniqueName) }

    @Test func `all sessions that there are keep no other program from one`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, other) = (try world.client(), try world.client())
            let path = try client.create(["k": "v"])
            let greedy = try greedy(world, Self.all / Self.one)
            // A client's open objects end with the client.
            defer { withExtendedLifetime((greedy, other)) {} }
            for each in greedy {
                let name = try name(each)
                try world.look { await $0.fill(name, sessions: Self.one) }
            }
            #expect(try !other.plainSession().isEmpty)
            #expect(try client.secret(path).text == "s3cret")
            #expect(try client.secret(path, session: client.plainSession()).text == "s3cret")
            // Each further session of this program evicted a single session of a greedy one.
            #expect(try world.look { await $0.counts }[0] == Self.all + 1)
        }
    }

    @Test func `all prompts that there are keep no person from unlocking`() async throws {
        try await aside {
            let world = try ServiceWorld(isUnlocked: false)
            world.house.isAsked(to: .types)
            let greedy = try greedy(world, Self.all / Self.one)
            for each in greedy {
                let name = try name(each)
                try world.look { await $0.fill(name, prompts: Self.one) }
            }
            let client = try world.client()
            let prompt = try client.unlock([BusClient.login]).prompt
            #expect(try !client.complete(prompt).isDismissed)
            #expect(try world.look { await $0.counts }[1] == Self.all - 1)
            #expect(try world.look { await $0.promptOwners } == greedy.count)
        }
    }

    @Test func `all searches that stand for a locked vault keep no other program from one`() async throws {
        try await aside {
            let world = try ServiceWorld(isUnlocked: false)
            let greedy = try greedy(world, 16)
            let client = try world.client()
            defer { withExtendedLifetime((greedy, client)) {} }
            for each in greedy {
                let name = try name(each)
                try world.look { await $0.fill(name, searches: 256) }
            }
            #expect(try client.search(["k": "v"]).locked.count == 1)
            #expect(try world.look { await $0.counts }[2] == 4096)
        }
    }

    @Test func `all searches that wait for a person keep no other program from waiting`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            _ = try client.plainSession()
            let name = try name(client)
            let greedy = ServiceProgram.application("org.example.Greedy")
            #expect(try world.look { await $0.waits(name, beside: greedy, of: Self.all) } == true)
            #expect(try world.look { await $0.waits(name, beside: greedy, of: Self.all - 1) } == false)
            // A program whose waits cannot be ended has no place to give up.
            let own = try world.look { service in
                await service.holdings.clients[name]?.program
            }
            let program = try #require(own)
            #expect(try world.look { await $0.waits(name, beside: program, of: Self.one) } == nil)
        }
    }
}
