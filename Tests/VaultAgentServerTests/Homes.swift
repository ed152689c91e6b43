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

/// A store in memory that sends hints, can be unreachable, and can delay requests.
final class Place: RemoteEngine {
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
    private let hanging = NSCondition()
    /// Guarded by the condition: whether requests hang, and the number of waiting ones.
    nonisolated(unsafe) private var hangs = false
    nonisolated(unsafe) private var waiting = 0

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
        hang()
        return state.withLock { $0.stores.keys.filter { $0 != .zero } }
    }

    // MARK: Hanging

    /// Makes every request hang from now on.
    func beginToHang() { hanging.withLock { hangs = true } }

    func endHanging() {
        hanging.withLock {
            hangs = false
            hanging.broadcast()
        }
    }

    func awaitHanging(_ count: Int) { hanging.withLock { while waiting < count { hanging.wait() } } }

    fileprivate func hang() {
        hanging.withLock {
            guard hangs else { return }
            waiting += 1
            hanging.broadcast()
            while hangs { hanging.wait() }
            waiting -= 1
        }
    }

    var looks: Int { state.withLock { $0.looks } }

    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// Runs the body; returns when a device has looked at the place since the start of the body.
    func awaitLook(after body: () throws -> Void = {}) rethrows {
        let semaphore = DispatchSemaphore(value: 0)
        state.withLock { $0.awaited = semaphore }
        try body()
        semaphore.wait()
    }

    /// Delays the next device that looks at the place until the semaphore is signalled.
    func holdUp() -> DispatchSemaphore {
        let held = DispatchSemaphore(value: 0)
        state.withLock { $0.held = held }
        return held
    }

    fileprivate func look() throws(RecordStoreError) {
        hang()
        let (awaited, held, isAway) = state.withLock { state in
            defer { (state.awaited, state.held) = (nil, nil) }
            state.looks += 1
            return (state.awaited, state.held, state.isAway)
        }
        awaited?.signal()
        held?.wait()
        if isAway { throw .unreachable("nowhere") }
    }

    /// Loses the published logs, like a restored server.
    func forgetLogs() {
        for store in state.withLock({ Array($0.stores.values) }) {
            for head in (try? store.heads()) ?? [] where head.stream.kind == .log {
                try? store.remove(head.stream, below: .max)
            }
        }
    }

    /// Sends a hint that something may be new.
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

final class PlaceWatch: RecordWatch {
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

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        place.hang()
        return try store.record(at: address)
    }

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

/// The agents of two homes with one fleet, which sync only automatically.
final class Homes {
    let place = Place()
    let agents: [TestAgent]
    let clients: [AgentClient]

    init(_ change: (inout AgentSettings) throws -> Void = { _ in }) throws {
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
                settings.report = { said.note($0) }
                try change(&settings)
            }
        }
        self.said = said
        let engines = RemoteEngines([.file: place])
        let vaults = try agents.map { try $0.opened() }
        let fleets = try zip(vaults, agents).map { try Fleet($0, environment: $1.environment, engines: engines) }
        _ = try fleets[0].found(url, deviceName: "first")
        let attempt = try fleets[1].requestToJoin(url, deviceName: "second")
        _ = try fleets[0].approve(attempt.code, role: .owner)
        guard try attempt.poll() else { throw SyncError.noAnswer }
        for vault in vaults { vault.close() }
        clients = try agents.map { try $0.unlocked() }
    }

    /// The agents' messages.
    final class Said: Sendable {
        private let texts = Mutex<[String]>([])
        private let arrived = DispatchSemaphore(value: 0)

        func note(_ text: String) {
            texts.withLock { $0.append(text) }
            arrived.signal()
        }

        func count(_ text: String) -> Int { texts.withLock { $0.count { $0.contains(text) } } }

        /// Waits for a report.
        func awaitReport(_ text: String) { while count(text) == 0 { arrived.wait() } }
    }

    let said: Said
}

extension ChangeSequence.Iterator {
    /// Waits for an item that was added.
    mutating func awaitAdded() async {
        while let change = await next() { if change.kind == .added { return } }
    }
}
