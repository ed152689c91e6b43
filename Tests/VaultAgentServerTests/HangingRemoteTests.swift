// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet
@testable import VaultSync

/// Remotes that never answer, and clients that need them.
struct HangingRemoteTests {
    private func services(_ client: AgentClient) throws -> [String] {
        try client.allMatching(Query(.genericPassword)).compactMap { $0[.service]?.text }.sorted()
    }

    /// Returns connections that wait for the remote without a limit.
    private func waiting(_ count: Int, in home: TestAgent) throws -> [RawConnection] {
        try (0..<count).map { number in
            let connection = try home.connection()
            _ = try connection.greet()
            switch number % 3 {
            case 0: connection.send(AddRemoteRequest(RemotePlace(url: "file:///elsewhere")), 2)
            case 1: connection.send(AskingDeviceRequest(try RecoveryCode(SystemRandom()).secret), 2)
            default: connection.send(SyncRequest(withFingerprint: false), 2)
            }
            return connection
        }
    }

    @Test func `however many wait for a remote that hangs, everybody else is served, and the agent ends`() throws {
        let place: Place
        do {
            let homes = try Homes()
            place = homes.place
            let client = homes.clients[0]
            place.beginToHang()
            let waiting = try waiting(18, in: homes.agents[0])
            place.awaitHanging(1)
            try client.add(.generic("a"))
            #expect(try services(client) == ["a"])
            let look: FleetLook = try client.value(of: FleetRequest())
            #expect(look.status?.remotes.map(\.url.text) == ["file:///place"])
            let following: [RemoteFollowing]? = try client.value(of: FollowingRequest())
            #expect(following?.map(\.url.text) == ["file:///place"])
            try client.lock()
            #expect(try client.status().state == .locked)
            try client.unlock(with: .passphrase(homes.agents[0].passphrase))
            #expect(try services(client) == ["a"])
            withExtendedLifetime(waiting) {}
        }
        // Released after the agents have ended.
        place.endHanging()
    }

    @Test func `a look at remotes that hang comes to its end, however many wait for them`() throws {
        let homes = try Homes { $0.patienceForCheck = .milliseconds(10) }
        homes.place.beginToHang()
        let waiting = try waiting(18, in: homes.agents[0])
        homes.place.awaitHanging(1)
        for _ in 0..<20 {
            let checks: [RemoteCheck] = try homes.clients[0].value(of: CheckRemotesRequest())
            #expect(checks.map(\.url.text) == ["file:///place"])
            #expect(checks[0].failure == .store(.unreachable("file:///place: no answer in 0 s")))
        }
        homes.place.endHanging()
        var checks: [RemoteCheck] = try homes.clients[0].value(of: CheckRemotesRequest())
        while checks[0].failure != nil { checks = try homes.clients[0].value(of: CheckRemotesRequest()) }
        #expect(checks[0].mayRemove == true && !checks[0].isByTLS)
        try homes.clients[0].lock()
        #expect(throws: VaultError.locked) {
            let _: [RemoteCheck] = try homes.clients[0].value(of: CheckRemotesRequest())
        }
        withExtendedLifetime(waiting) {}
    }

    @Test func `a remote is removed while a sync with it hangs, and stays removed when that goes through`() throws {
        let homes = try Homes()
        let client = homes.clients[0]
        homes.place.beginToHang()
        try client.add(.generic("a"))
        // In each agent one sync hangs, and no second one begins.
        let other = try homes.agents[1].connection()
        _ = try other.greet()
        other.send(SyncRequest(withFingerprint: false), 2)
        homes.place.awaitHanging(2)
        let removed: FleetChange = try client.value(of: RemoveRemoteRequest("file:///place"))
        #expect(removed.failure == nil)
        homes.place.endHanging()
        // Waits for the sync that hung.
        let result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        #expect(result.outcomes.isEmpty && result.failure == nil)
        let look: FleetLook = try client.value(of: FleetRequest())
        #expect(look.status?.remotes.count == 0)
    }

    @Test func `a client that locks again and again sends nobody to the remotes`() throws {
        let homes = try Homes()
        let client = homes.clients[1]
        try homes.place.awaitLook { try client.lock() }
        let before = homes.place.looks
        for _ in 0..<100 {
            try client.lock()
            var next: Duration?
            // Repeats until no sync is under way or due soon.
            repeat {
                let following: [RemoteFollowing]? = try client.value(of: FollowingRequest())
                next = following?.first?.next
            } while next ?? .zero < .seconds(1)
        }
        // The locked agent looks for each item that this one publishes.
        for number in 0..<2 { try homes.place.awaitLook { try homes.clients[0].add(.generic("\(number)")) } }
        #expect(homes.place.looks - before < 50)
    }

    @Test func `under a sync that hangs the vault gets another key, and the next unlock goes on`() throws {
        let homes = try Homes()
        let client = homes.clients[0]
        homes.place.beginToHang()
        try client.add(.generic("a"))
        homes.place.awaitHanging(1)
        let beside = try homes.agents[0].opened()
        let new = try Passphrase.of("another")
        try beside.rekey([SlotEntry(.passphrase(new), name: "passphrase", cost: .weakest)])
        try beside.add(.generic("b"))
        beside.close()
        homes.place.endHanging()
        while try client.status().state == .unlocked { _ = try? client.sequence }
        try client.unlock(with: .passphrase(new))
        var result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        while !result.isWhole { result = try client.value(of: SyncRequest(withFingerprint: false)) }
        let other: SyncResult = try homes.clients[1].value(of: SyncRequest(withFingerprint: false))
        #expect(other.isWhole)
        #expect(try services(homes.clients[1]) == ["a", "b"])
    }

    @Test func `credentials change under a sync that hangs, and what the sync stores stays as well`() throws {
        let homes = try Homes()
        let (agent, client) = (homes.agents[0], homes.clients[0])
        homes.place.beginToHang()
        try client.add(.generic("a"))
        homes.place.awaitHanging(1)
        let place = RemotePlace(url: "file:///place", password: try Secret(text: "n3w"), authorities: "/ca")
        let changed: FleetChange = try client.value(of: AddRemoteRequest(place))
        #expect(changed.failure == nil)
        homes.place.endHanging()
        var result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        while !result.isWhole { result = try client.value(of: SyncRequest(withFingerprint: false)) }
        let vault = try agent.opened()
        let remotes = try Fleet(vault, environment: agent.environment).membership().remotes
        #expect(remotes.count == 1 && remotes[0].access.credentials.authorities == "/ca")
        #expect(remotes[0].access.credentials.password?.withBytes { $0.array } == Array("n3w".utf8))
        #expect(remotes[0].state.encoded() != RemoteState().encoded())
    }

    /// Upkeep by another process, or by a person through the agent.
    enum Upkeep: CaseIterable {
        case backUp, salvage, importMany, compact, addSlot
    }

    @Test(arguments: Upkeep.allCases)
    func `under a sync that hangs a vault is kept up as ever, and the sync goes through`(upkeep: Upkeep) throws {
        let homes = try Homes()
        let (agent, client) = (homes.agents[0], homes.clients[0])
        homes.place.beginToHang()
        try client.add(.generic("before"))
        homes.place.awaitHanging(1)
        let copy = agent.directory.path.appending("copy.vault")
        var expected = ["after", "before"]
        switch upkeep {
        case .backUp:
            let beside = try agent.opened()
            try beside.backUp(to: copy)
            beside.close()
        case .salvage:
            let report = try DamagedVault(at: agent.path, environment: agent.environment)
                .salvage(with: .passphrase(agent.passphrase), to: copy)
            #expect(report.salvage.whole == 1 && report.damaged.isEmpty)
        case .importMany:
            try client.store((100..<200).map { try Item.generic("\($0)") }, replacing: false)
            expected += (100..<200).map { "\($0)" }
        case .compact: try client.compact()
        case .addSlot:
            let beside = try agent.opened()
            try beside.addSlot(for: .passphrase(.of("a second one")), name: "second", cost: .weakest)
            beside.close()
            try client.lock()
            try client.unlock(with: .passphrase(.of("a second one")))
        }
        try client.add(.generic("after"))
        homes.place.endHanging()
        var result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        while !result.isWhole { result = try client.value(of: SyncRequest(withFingerprint: false)) }
        let other: SyncResult = try homes.clients[1].value(of: SyncRequest(withFingerprint: false))
        #expect(other.isWhole)
        #expect(try services(homes.clients[1]) == expected.sorted() && services(client) == expected.sorted())
        guard upkeep == .backUp || upkeep == .salvage else { return }
        let opened = try Vault.open(
            at: copy, unlockingWith: agent.passphrase, environment: agent.environment, accessGroups: .standard)
        #expect(try opened.allMatching(Query(.genericPassword)).map { $0[.service]?.text } == ["before"])
    }

    @Test func `another vault in the place of the agent's takes no part in the fleet`() throws {
        let homes = try Homes()
        let (agent, client) = (homes.agents[0], homes.clients[0])
        try client.add(.generic("a"))
        let result: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        #expect(result.isWhole)
        let other = agent.directory.path.appending("w.vault")
        let stranger = try Vault.create(
            at: other, passphrase: agent.passphrase, cost: .weakest, environment: agent.environment,
            accessGroups: .standard)
        try stranger.add(.generic("stranger"))
        stranger.close()
        homes.place.awaitLook {
            homes.place.hint()
            #expect(rename(other.string, agent.path.string) == 0)
        }
        // The old vault's keys open nothing in the new one.
        #expect(throws: VaultError.self) { try client.add(.generic("b")) }
        #expect(throws: VaultError.self) {
            let _: SyncResult = try client.value(of: SyncRequest(withFingerprint: false))
        }
        let heard: SyncResult = try homes.clients[1].value(of: SyncRequest(withFingerprint: false))
        #expect(heard.isWhole)
        #expect(try services(homes.clients[1]) == ["a"])
    }

    @Test func `two agents of one vault take turns, and both have everything`() async throws {
        let homes = try Homes()
        let first = homes.agents[0]
        let second = try TestAgent(makesVault: false) { settings in
            settings.vault = first.path
            settings.environment = first.environment
            settings.syncs = true
            settings.engines = RemoteEngines([.file: homes.place])
            settings.pace.whileBusy = .milliseconds(5)
        }
        let client = try #require(
            try AgentClient(at: second.address, vault: first.path, accessGroups: .standard, purpose: .reveal))
        try client.unlock(with: .passphrase(first.passphrase))
        var changes = homes.clients[1].changes.makeAsyncIterator()
        for number in 0..<10 { try await (number % 2 == 0 ? homes.clients[0] : client).add(.generic("\(number)")) }
        while try services(homes.clients[1]).count < 10 { await changes.awaitAdded() }
        var here = client.changes.makeAsyncIterator()
        try await homes.clients[1].add(.generic("there"))
        while try !services(client).contains("there") { await here.awaitAdded() }
        #expect(try services(client) == services(homes.clients[0]))
    }
}
