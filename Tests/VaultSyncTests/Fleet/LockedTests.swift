// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Syncs of a vault that is locked before or during the sync, or released.
struct LockedTests {
    private static let second: FilePath = "/second"

    private static func unlock(_ home: Home) throws { try home.vault.unlock(with: .passphrase(.of("correct horse"))) }

    /// Replaces the bytes of the last record that a device put into the folder.
    private static func alterLast(of home: Home, _ change: (inout [UInt8]) -> Void) throws {
        let membership = try home.fleet.membership()
        let store = try home.fleet.store(at: Home.access, realm: membership.identity.realmID)
        let stream = RecordStream(.log, membership.state.log)
        var records: [StoredRecord] = []
        try store.read([StreamStart(stream, from: 1)]) { records.append($0) }
        try store.remove(stream, below: .max)
        let last = try #require(records.last)
        var bytes = last.bytes
        change(&bytes)
        _ = try store.append(records.dropLast() + [StoredRecord(last.address, bytes)])
    }

    @Test func `a vault of no fleet says so, locked or not`() throws {
        let home = try Home("a", on: MemoryFileSystem())
        #expect(throws: SyncError.notJoined) { try home.fleet.sync() }
        try home.vault.lock()
        #expect(throws: SyncError.notJoined) { try home.fleet.sync() }
        #expect(throws: SyncError.notJoined) { try home.fleet.joinFetched() }
    }

    @Test func `while it is locked a device hears of its removal`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[1].vault.lock()
        _ = try homes[0].fleet.remove(deviceNamed: "b")
        #expect(try homes[1].fleet.sync()[0].error == .removed)
    }

    @Test func `while it is locked an altered record is told of, and not kept`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[1].vault.lock()
        try homes[0].add("ada", "one")
        try homes[0].sync()
        try Self.alterLast(of: homes[0]) { $0[100] ^= 1 }
        let outcome = try homes[1].fleet.sync()[0]
        #expect(outcome.alarms.map(\.kind) == [.damaged] && outcome.error == nil)
        #expect(outcome.report.waiting == 0)
        // The device with the true record restores it.
        try homes[0].sync()
        #expect(try homes[1].fleet.sync()[0].report.waiting == 1)
        try Self.unlock(homes[1])
        try homes[1].sync()
        #expect(try homes[1].secrets() == ["ada": "one"])
    }

    @Test func `while it is locked records that are gone are an alarm, since nothing is put back`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].add("ada", "one")
        for home in homes { try home.sync() }
        let state = try homes[0].fleet.membership().state
        let realm = try homes[0].fleet.membership().identity.realmID
        let stream = RecordStream(.log, state.log)
        try homes[0].fleet.store(at: Home.access, realm: realm).remove(stream, below: .max)
        try homes[1].vault.lock()
        for _ in 1...2 {
            let outcome = try homes[1].fleet.sync()[0]
            #expect(outcome.alarms.map(\.kind) == [.rolledBack])
            #expect(outcome.notes.isEmpty && outcome.report.sent == 0)
        }
        try Self.unlock(homes[1])
        let healed = try homes[1].sync()
        #expect(healed.notes.map(\.kind) == [.rolledBack])
        #expect(healed.report.sent > 0)
    }

    @Test func `a locked vault fetches and checks, tells nothing, and joins when it is unlocked`() throws {
        let homes = try Home.fleet(["a", "b"])
        try homes[1].add("bob", "two")
        try homes[1].vault.lock()
        try homes[1].vault.add(
            Item(
                .genericPassword(service: "svc", account: "boot"), accessible: .afterFirstUnlock,
                secret: Secret(text: "three")))
        try homes[0].add("ada", "one")
        try homes[0].sync()
        for _ in 1...2 {
            let outcome = try homes[1].fleet.sync()[0]
            #expect(outcome.error == nil && outcome.alarms.isEmpty && outcome.notes.isEmpty)
            #expect(outcome.report.isLocked)
            #expect(outcome.report.waiting == 1 && outcome.report.untold == 2)
            #expect(outcome.report.applied == 0 && outcome.report.published == 0 && outcome.report.sent == 0)
        }
        try Self.unlock(homes[1])
        #expect(try homes[1].secrets() == ["bob": "two", "boot": "three"])
        try homes[1].sync()
        try homes[0].sync()
        for home in homes { #expect(try home.secrets() == ["ada": "one", "bob": "two", "boot": "three"]) }
        #expect(try homes[0].fleet.fingerprint() == homes[1].fleet.fingerprint())
    }

    @Test func `what was fetched is joined without the remote, but for large values, which wait for it`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        try homes[1].vault.lock()
        let large = String(repeating: "x", count: 300_000)
        try homes[0].add("ada", "one")
        try homes[0].sync()
        try homes[2].add("large", large)
        try homes[2].sync()
        // With a new key, which must be stored.
        _ = try homes[0].fleet.remove(deviceNamed: "c")
        try homes[0].add("late", "two")
        try homes[0].sync()
        #expect(try homes[1].fleet.sync()[0].report.waiting > 2)
        try Self.unlock(homes[1])
        _ = try homes[1].fleet.joinFetched()
        #expect(try homes[1].secrets()["ada"] == "one")
        #expect(try homes[1].secrets()["large"] == nil)
        #expect(try homes[1].fleet.joinFetched() == 0)
        for home in [homes[1], homes[0]] { try home.sync() }
        for home in homes[0...1] { #expect(try home.secrets() == ["ada": "one", "large": large, "late": "two"]) }
        #expect(try homes[0].fleet.fingerprint() == homes[1].fleet.fingerprint())
    }

    /// Counts how often a sync asks whether to continue.
    private final class Steps: Sendable {
        private let count = Atomic(0)

        var next: Int { count.add(1, ordering: .relaxed).oldValue }
    }

    /// Makes two devices with unsynced changes, and two folders between them.
    private static func pair() throws -> [Home] {
        let homes = try Home.fleet(["a", "b"])
        try homes[0].environment.fileSystem.createDirectories(second)
        for home in homes { try home.fleet.addRemote(RemoteURL(folder: second)) }
        for home in homes + homes { try home.sync() }
        try homes[0].add("ada", "one")
        try homes[0].add("eve", "four")
        try homes[0].sync()
        try homes[1].add("bob", "two")
        return homes
    }

    private static func expectWhole(_ homes: [Home]) throws {
        for home in homes + homes { try home.sync() }
        for home in homes { #expect(try home.secrets() == ["ada": "one", "bob": "two", "eve": "four"]) }
        #expect(try homes[0].fleet.fingerprint() == homes[1].fleet.fingerprint())
    }

    @Test(arguments: 0..<6) func `a vault that is locked in the middle of a sync loses nothing, also not with a second`(
        step: Int
    ) throws {
        let homes = try Self.pair()
        let (steps, vault) = (Steps(), homes[1].vault)
        var remotes = 0
        let outcomes = try homes[1].fleet.sync { _ in
            remotes += 1
            // The vault is unlocked again for the second remote.
            if remotes == 2 { try? Self.unlock(homes[1]) }
        } goesOn: {
            if steps.next == step { try? vault.lock() }
            return true
        }
        #expect(outcomes.map(\.error) == [nil, nil])
        try Self.unlock(homes[1])
        try Self.expectWhole(homes)
    }

    @Test(arguments: 0..<6) func `a sync that is let go of ends, and the next one makes up for it`(step: Int) throws {
        let homes = try Self.pair()
        let steps = Steps()
        let outcomes = try homes[1].fleet.sync(goesOn: { steps.next < step })
        if let error = outcomes.last?.error { #expect(error == .vault(.cancelled)) }
        try Self.expectWhole(homes)
    }
}
