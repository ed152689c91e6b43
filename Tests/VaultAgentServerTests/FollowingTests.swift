// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultSync

/// A place in memory that tells of what comes, can be away, and can hold up those who ask.
private final class Place: RemoteEngine {
    private struct State {
        var stores: [RealmID: MemoryRecordStore] = [:]
        var hints: [UInt64: @Sendable (RecordHint) -> Void] = [:]
        var next: UInt64 = 0
        var isAway = false
        var looks = 0
        var awaited: DispatchSemaphore?
        var held: DispatchSemaphore?
    }

    private let state = Mutex(State())

    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        PlacedStore(
            place: self,
            store: state.withLock { state in
                let store = state.stores[realm] ?? MemoryRecordStore()
                state.stores[realm] = store
                return store
            })
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        state.withLock { $0.stores.keys.filter { $0 != .zero } }
    }

    var looks: Int { state.withLock { $0.looks } }

    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// Runs the body; returns when a device has looked at the place after that began.
    func awaitLook(after body: () throws -> Void = {}) rethrows {
        let semaphore = DispatchSemaphore(value: 0)
        state.withLock { $0.awaited = semaphore }
        try body()
        semaphore.wait()
    }

    /// The next device that looks stays there until the semaphore is signalled.
    func holdUp() -> DispatchSemaphore {
        let held = DispatchSemaphore(value: 0)
        state.withLock { $0.held = held }
        return held
    }

    fileprivate func look() throws(RecordStoreError) {
        let (awaited, held, isAway) = state.withLock { state in
            defer { (state.awaited, state.held) = (nil, nil) }
            state.looks += 1
            return (state.awaited, state.held, state.isAway)
        }
        awaited?.signal()
        held?.wait()
        if isAway { throw .unreachable("nowhere") }
    }

    /// Says that there may be something new.
    func hint() { tell(.changed) }

    fileprivate func tell(_ hint: RecordHint) {
        for hear in state.withLock({ Array($0.hints.values) }) { hear(hint) }
    }

    fileprivate func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) -> PlaceWatch {
        state.withLock { state in
            state.next += 1
            state.hints[state.next] = hint
            return PlaceWatch(place: self, number: state.next)
        }
    }

    fileprivate func forget(_ number: UInt64) { state.withLock { $0.hints[number] = nil } }
}

private final class PlaceWatch: RecordWatch {
    private let place: Place
    private let number: UInt64

    init(place: Place, number: UInt64) { (self.place, self.number) = (place, number) }

    func end() { place.forget(number) }
}

private struct PlacedStore: RecordStore {
    let place: Place
    let store: MemoryRecordStore

    func heads() throws(RecordStoreError) -> [StreamHead] {
        try place.look()
        return try store.heads()
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) { try store.read(starts, take) }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try store.record(at: address) }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        let appended = try store.append(records)
        for (record, what) in zip(records, appended) where what == .created {
            place.tell(.appended(record.address.stream, record.address.sequence))
        }
        return appended
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try store.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { try store.remove(address) }

    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)? {
        place.watch(hint)
    }
}

/// The agents of two homes, whose vaults are one fleet, and which are told by nobody to sync.
private final class Homes {
    let place = Place()
    let agents: [TestAgent]
    let clients: [AgentClient]

    init() throws {
        let place = place
        let url = RemoteURL(folder: "/place")
        let said = Said()
        agents = try (0..<2).map { _ in
            try TestAgent { settings in
                settings.syncs = true
                settings.engines = RemoteEngines([.file: place])
                settings.pace.afterCommit = .milliseconds(20)
                settings.pace.firstRetry = .milliseconds(2)
                settings.pace.longestRetry = .milliseconds(20)
                settings.pace.betweenHints = .milliseconds(10)
                settings.report = { text in said.texts.withLock { $0.append(text) } }
            }
        }
        self.said = said
        let engines = RemoteEngines([.file: place])
        let vaults = try agents.map { try $0.opened() }
        let fleets = try zip(vaults, agents).map { try Fleet($0, environment: $1.environment, engines: engines) }
        _ = try fleets[0].found(url, deviceName: "first", onlySynchronizable: false)
        let attempt = try fleets[1].requestToJoin(url, deviceName: "second", onlySynchronizable: false)
        _ = try fleets[0].approve(attempt.code, role: .owner)
        guard try attempt.poll() else { throw SyncError.noAnswer }
        for vault in vaults { vault.close() }
        clients = try agents.map { try $0.unlocked() }
    }

    final class Said: Sendable { let texts = Mutex<[String]>([]) }

    let said: Said

    func count(_ text: String) -> Int { said.texts.withLock { $0.count { $0.contains(text) } } }
}

extension ChangeSequence.Iterator {
    /// Waits for an item that was added.
    fileprivate mutating func awaitAdded() async {
        while let change = await next() { if change.kind == .added { return } }
    }
}

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
            // Of another process than the agent.
            let beside = try homes.agents[from].opened()
            try await beside.add(.generic("beside \(from)"))
            beside.close()
            while try !services(homes.clients[to]).contains("beside \(from)") { await changes[to].awaitAdded() }
        }
        #expect(try services(homes.clients[0]) == services(homes.clients[1]))
        let following: [RemoteFollowing] = try #require(try homes.clients[0].following())
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
            let result: SyncResult = try client.sync(withFingerprint: false)
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
        // The agents have ended.
        held.signal()
    }

    @Test func `a remote that is gone is reported once, and once when it is back`() async throws {
        let homes = try Homes()
        var changes = homes.clients[1].changes.makeAsyncIterator()
        homes.place.isAway = true
        try await homes.clients[0].add(.generic("a"))
        for _ in 0..<6 { try homes.place.awaitLook() }
        homes.place.isAway = false
        while try !services(homes.clients[1]).contains("a") { await changes.awaitAdded() }
        // One of the two agents may not have noticed, which had nothing to tell.
        #expect((1...2).contains(homes.count("no syncing with file:///place: 'nowhere' cannot be reached")))
        #expect(homes.count("syncing with file:///place again") <= homes.count("no syncing with"))
    }

    @Test func `a sync that a person asks for comes before those that nobody has asked for`() throws {
        let homes = try Homes()
        for number in 0..<20 {
            try homes.clients[0].add(.generic("\(number)"))
            let result: SyncResult = try homes.clients[0].sync(withFingerprint: false)
            #expect(result.isWhole)
        }
        let result: SyncResult = try homes.clients[1].sync(withFingerprint: false)
        #expect(result.isWhole)
        #expect(try services(homes.clients[1]).count == 20)
    }

    @Test func `an agent that is not to sync does not say how it stands`() throws {
        let agent = try TestAgent()
        let following: [RemoteFollowing]? = try agent.unlocked().following()
        #expect(following == nil)
    }

    @Test func `how an agent stands comes as it was sent, and cut off anywhere it is refused`() throws {
        let sent = [
            RemoteFollowing(
                url: RemoteURL(folder: "/a"), isWatched: true, heard: .milliseconds(1500), next: .seconds(2),
                failure: nil),
            RemoteFollowing(
                url: try RemoteURL("etcd://host"), isWatched: false, heard: nil, next: nil,
                failure: .store(.unreachable("host"))),
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
