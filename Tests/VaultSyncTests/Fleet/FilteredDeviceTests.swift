// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultFormat
import VaultStorage

@testable import VaultSync

/// A device that an earlier release let join with only the synchronizable items. For its filter, an edit of any other
/// item was a deletion, on every device.
struct FilteredDeviceTests {
    /// A fleet whose last device has the mark of the earlier release.
    private static func fleet() throws -> [Home] {
        let homes = try Home.fleet(["a", "b", "c"])
        for account in ["x1", "x2", "x3"] { try homes[0].add(account, "one") }
        for home in homes { try home.sync() }
        try homes[2].vault.changeReplica { changes throws(VaultError) in
            let record = try changes.table.ownRecords(.sync)[0]
            try changes.putOwn(.sync, record.says.merging(["scope": "synchronizable"]) { $1 }, value: record.value)
        }
        return homes
    }

    private static let all = ["x1": "one", "x2": "one", "x3": "one"]

    @Test func `its edits delete nothing elsewhere, and stay with it`() throws {
        let homes = try Self.fleet()
        try homes[2].change("x1", "two")
        try homes[2].vault.update(
            matching: Query(.genericPassword, account: "x2"), with: ItemChanges(attributes: [.label: .string("l")]))
        try homes[2].delete("x3")
        try homes[2].add("own", "stays")
        #expect(throws: SyncError.isFiltered) { try homes[2].sync() }
        try homes[0].change("x3", "three")
        for home in homes[..<2] + homes[..<2] { try home.sync() }
        for home in homes[..<2] { #expect(try home.secrets() == ["x1": "one", "x2": "one", "x3": "three"]) }
        #expect(throws: SyncError.isFiltered) { try homes[2].sync() }
        #expect(try homes[2].secrets() == ["x1": "two", "x2": "one", "own": "stays"])
    }

    @Test func `it takes part in no change of the fleet, and shows why`() throws {
        let homes = try Self.fleet()
        let filtered = homes[2].fleet
        #expect(throws: SyncError.isFiltered) { try filtered.joinFetched() }
        #expect(throws: SyncError.isFiltered) { try filtered.remove(deviceNamed: "a") }
        #expect(throws: SyncError.isFiltered) { try filtered.addRemote(RemoteURL(folder: "/other")) }
        #expect(throws: SyncError.isFiltered) { try filtered.renewRecoveryCode() }
        let status = try filtered.status()
        #expect(status.isFiltered && !status.copiesNewItems)
        #expect(try filtered.outlook().remotes.isEmpty)
    }

    @Test func `a compaction and a new key leave it filtered, and so does every write of its state`() throws {
        let homes = try Self.fleet()
        let filtered = homes[2]
        try filtered.change("x1", "two")
        try filtered.vault.compact()
        try filtered.vault.rekey([SlotEntry(.passphrase(.of("correct horse")), name: "p", cost: .weakest)])
        let again = try Fleet(filtered.vault, environment: filtered.environment)
        #expect(try again.status().isFiltered)
        #expect(throws: SyncError.isFiltered) { try again.sync() }
        let replica = try again.replica(again.membership())
        var state = replica.state
        state.clock += 1
        #expect(throws: SyncError.isFiltered) { try replica.items.commit(ReplicaChange(), state) }
        #expect(try again.status().isFiltered)
    }

    @Test func `a backup and a salvage of it belong to no fleet, until a person joins anew`() throws {
        let homes = try Self.fleet()
        let (filtered, secret) = (homes[2], UnlockingSecret.passphrase(try .of("correct horse")))
        try filtered.change("x1", "two")
        func expectAlone(_ name: FilePath) throws {
            let copy = try LockedVault(at: name, environment: filtered.environment).unlock(with: secret)
            defer { copy.close() }
            let fleet = try Fleet(copy, environment: filtered.environment)
            #expect(throws: SyncError.notJoined) { try fleet.sync() }
            #expect(try Home.secrets(of: copy) == Self.all.merging(["x1": "two"]) { $1 })
        }
        try filtered.vault.backUp(to: "/c/copy.vault")
        try LockedVault(at: "/c/copy.vault", environment: filtered.environment)
            .restore(with: secret, to: "/c/restored.vault", accepts: { _ in true })
        try expectAlone("/c/restored.vault")
        _ = try DamagedVault(at: "/c/v.vault", environment: filtered.environment)
            .salvage(with: secret, to: "/c/salvaged.vault", accepts: { _ in true })
        try expectAlone("/c/salvaged.vault")
        for home in homes[..<2] {
            try home.sync()
            #expect(try home.secrets() == Self.all)
        }
    }

    @Test func `both ways out keep its items`() throws {
        let homes = try Self.fleet()
        try homes[2].add("own", "stays")
        let items = Self.all.merging(["own": "stays"]) { $1 }
        try homes[2].fleet.removeRemote(Home.url)
        #expect(try homes[2].secrets() == items)
        // Another vault takes its place, and gets the items of the fleet.
        _ = try homes[0].fleet.remove(deviceNamed: "c")
        let anew = try Home("d", on: homes[0].environment.fileSystem, clock: homes[0].clock)
        let attempt = try anew.fleet.requestToJoin(Home.url, deviceName: "c")
        _ = try homes[0].fleet.approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        #expect(try anew.secrets() == Self.all)
        #expect(try !anew.fleet.status().isFiltered)
    }
}
