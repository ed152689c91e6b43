// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet
@testable import VaultSync

struct FollowingTests {
    private func services(_ client: AgentClient) throws -> [String] {
        try client.allMatching(Query(.genericPassword)).compactMap { $0[.service]?.text }.sorted()
    }

    @Test func `two agents converge, and nobody syncs`() async throws {
        let homes = try Homes()
        var changes = homes.clients.map { $0.changes.makeAsyncIterator() }
        for (from, to) in [(0, 1), (1, 0)] {
            try await homes.clients[from].add(.generic("agent \(from)"))
            while try !services(homes.clients[to]).contains("agent \(from)") { await changes[to].awaitAdded() }
            // Opened by a process other than the agent.
            let beside = try homes.agents[from].opened()
            try await beside.add(.generic("beside \(from)"))
            beside.close()
            while try !services(homes.clients[to]).contains("beside \(from)") { await changes[to].awaitAdded() }
        }
        #expect(try services(homes.clients[0]) == services(homes.clients[1]))
        let following: [RemoteFollowing] = try #require(try homes.clients[0].value(of: FollowingRequest()))
        #expect(following.map(\.url.text) == ["file:///place"] && following[0].failure == nil)
    }

    @Test func `a hundred commits arrive, each as it is`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        for number in 0..<100 { try await homes.clients[0].add(.generic("\(number)")) }
        while try services(homes.clients[1]).count < 100 { await changes.awaitAdded() }
        #expect(try services(homes.clients[0]) == services(homes.clients[1]))
    }

    @Test func `a sync that finds nothing writes nothing`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        try await homes.clients[0].add(.generic("a"))
        await changes.awaitAdded()
        for client in homes.clients + homes.clients {
            let result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
            #expect(result.isWhole)
        }
        let before = try homes.clients[1].sequence
        for _ in 0..<3 {
            homes.place.awaitLook { homes.place.hint() }
        }
        #expect(try homes.clients[1].sequence == before)
    }

    @Test func `syncing keeps no vault open`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        try await homes.clients[0].add(.generic("a"))
        await changes.awaitAdded()
        homes.agents[1].clock.pass(.seconds(599))
        try await homes.clients[0].add(.generic("b"))
        await changes.awaitAdded()
        homes.agents[1].clock.pass(.seconds(2))
        #expect(try homes.clients[1].status().state == .locked)
    }

    @Test func `a locked agent goes on fetching, and has it all once it is unlocked`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        try homes.clients[1].lock()
        try homes.place.awaitLook { try homes.clients[0].add(.generic("a")) }
        #expect(try homes.clients[1].status().state == .locked)
        try homes.clients[1].unlock(with: .passphrase(homes.agents[1].passphrase))
        while try !services(homes.clients[1]).contains("a") { await changes.awaitAdded() }
        #expect(try services(homes.clients[1]) == ["a"])
    }

    @Test func `while a remote hangs the agent serves, locks, unlocks and ends`() throws {
        let held: DispatchSemaphore
        do {
            let homes = try Homes()
            held = homes.place.holdUp()
            try homes.place.awaitLook { try homes.clients[0].add(.generic("a")) }
            try homes.clients[0].add(.generic("b"))
            #expect(try services(homes.clients[0]) == ["a", "b"])
            try homes.clients[0].lock()
            #expect(try homes.clients[0].status().state == .locked)
            try homes.clients[0].unlock(with: .passphrase(homes.agents[0].passphrase))
        }
        // Released after the agents have ended.
        held.signal()
    }

    @Test func `a remote that is gone is reported once, and once when it is back`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        homes.place.isAway = true
        try await homes.clients[0].add(.generic("a"))
        let (lost, back) = ("no syncing with file:///place", "syncing with file:///place again")
        homes.said.awaitReport(lost + ": the remote cannot be reached: nowhere")
        for _ in 0..<6 { homes.place.awaitLook {} }
        homes.place.isAway = false
        while try !services(homes.clients[1]).contains("a") { await changes.awaitAdded() }
        homes.said.awaitReport(back)
        // Perhaps only one agent noticed: the other may have had nothing to publish.
        #expect((1...2).contains(homes.said.count(lost)))
        #expect(homes.said.count(back) <= homes.said.count(lost))
    }

    @Test func `what a remote has lost is put back unasked, and said`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        for number in 0..<3 { try await homes.clients[0].add(.generic("\(number)")) }
        while try !services(homes.clients[1]).contains("2") { await changes.awaitAdded() }
        homes.place.forgetLogs()
        for _ in 0..<3 { homes.place.awaitLook { homes.place.hint() } }
        let following: [RemoteFollowing] = try homes.clients.flatMap { try $0.value(of: FollowingRequest()) ?? [] }
        let mended = following.compactMap(\.mended)
        #expect(mended.contains { $0.alarm.kind == .rolledBack && $0.count > 0 })
        #expect(homes.said.count("file:///place: rolled back: a log had") >= 1)
        #expect(homes.said.count("; mended") >= 1 && homes.said.count("not mended") == 0)
    }

    @Test func `a sync that a person asks for comes before those that nobody has asked for`() throws {
        let homes = try Homes()
        for number in 0..<20 {
            try homes.clients[0].add(.generic("\(number)"))
            let result: SyncResult = try homes.clients[0].value(of: SyncRequest(withFingerprint: false))
            #expect(result.isWhole)
        }
        let result: SyncResult = try homes.clients[1].value(of: SyncRequest(withFingerprint: false))
        #expect(result.isWhole)
        #expect(try services(homes.clients[1]).count == 20)
    }

    @Test func `an agent that is not to sync does not say how it stands`() throws {
        let agent = try TestAgent()
        let following: [RemoteFollowing]? = try agent.unlocked().value(of: FollowingRequest())
        #expect(following == nil)
    }

    @Test func `how an agent stands comes as it was sent, and cut off anywhere it is refused`() throws {
        let sent = [
            RemoteFollowing(
                url: RemoteURL(folder: "/a"), isWatched: true, heard: .milliseconds(1500), next: .seconds(2),
                failure: nil),
            RemoteFollowing(
                url: try RemoteURL("etcd://host"), isWatched: false, heard: nil, next: nil,
                failure: .store(.unreachable("host")),
                mended: RemoteFollowing.Mended(
                    Alarm(.rolledBack, Bytes16([UInt8](repeating: 1, count: 16)), 7, "a log had 9 records"), count: 3,
                    ago: .milliseconds(12))),
        ]
        let bytes = SyncReply.parts(of: sent).flatMap(\.part)
        for length in bytes.indices {
            var reader = MessageReader(Array(bytes[..<length]), secrets: nil)
            #expect(throws: MessageError.self) {
                let _: [RemoteFollowing] = try reader.read()
                try reader.end()
            }
        }
        var reader = MessageReader(bytes, secrets: nil)
        #expect(try reader.read([RemoteFollowing].self) == sent)
    }
}
