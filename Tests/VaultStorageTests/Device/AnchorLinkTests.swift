// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Links that an attacker substitutes for a vault, and links that the owner redirects.
struct AnchorLinkTests {
    private let home = Home("anchor links")

    @Test func `a link that is put in the vault's place leads to no older copy`() throws {
        let old = try home.makeVault()
        try home.change()
        home.disk.put(old, as: "older")
        home.turn("v", to: "older")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        // Opening the copy by its own name does not change that.
        #expect(try Home.values(of: home.open("older", number: 4)).count == 2)
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
    }

    @Test func `a link that its owner turns to another vault is no alarm, and one to an older copy of that is`() throws
    {
        let other = Home("another vault", disk: home.disk)
        _ = try home.makeVault()
        let store = try other.create("w")
        try store.put("other")
        try store.settleMarks()
        let older = try home.bytes("w")
        try store.put("more")
        try store.settleMarks()
        for target in ["v", "w", "v", "w"] {
            home.turn("link", to: target)
            let count = try Home.values(of: home.open("link", number: 10)).count
            #expect(count == 2)
        }
        home.disk.put(older, as: "x")
        home.turn("link", to: "x")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 11) }
        // A vault unknown to this device, behind a known name.
        let strange = Home("strange")
        try strange.create().put("theirs")
        home.disk.put(try strange.bytes(), as: "y")
        home.turn("link", to: "y")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 12) }
    }

    @Test
    func `a link in the place of the vault itself leads to no other, and the vault that comes back is none the worse`()
        throws
    {
        let other = Home("another vault", disk: home.disk)
        _ = try home.makeVault()
        try other.create("w").put("other")
        _ = try home.open("w", number: 9)
        home.turn("v", to: "w")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 10) }
        home.disk.links.withLock { $0 = [:] }
        #expect(try Home.values(of: home.open(number: 11)).count == 2)
    }

    @Test func `an older copy is not let in by turning a link to another vault first`() throws {
        let other = Home("another vault", disk: home.disk)
        _ = try home.makeVault()
        home.turn("link", to: "v")
        // This device knows the older vault by its own name.
        _ = try home.open("link", number: 8).backUp(to: home.path("older"), replacing: false)
        try home.change(number: 9)
        _ = try home.open("link", number: 10)
        try other.create("w").put("other")
        _ = try home.open("w", number: 11)
        home.turn("link", to: "w")
        #expect(try Home.values(of: home.open("link", number: 12)) == ["other"])
        home.turn("link", to: "older")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 13) }
    }

    @Test
    func `a new vault, a restored one and an accepted one let what was remembered of the place go, by every name`()
        throws
    {
        let old = try home.makeVault()
        home.turn("link", to: "v")
        _ = try home.open("link", number: 3)
        try home.change(number: 4)
        _ = try home.open("link", number: 5)
        home.disk.put(old, as: "v")
        try home.open(number: 6, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open("link", number: 7)).count == 2)
        try home.disk.openDirectory(home.disk.root).remove("v")
        try home.create(number: 8).put("new")
        #expect(try Home.values(of: home.open("link", number: 9)) == ["new"])
    }
}
