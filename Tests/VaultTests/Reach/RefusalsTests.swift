// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Vault

/// The secrets that servers have refused.
struct RefusalsTests {
    private let world: TestVault

    init() throws { world = try TestVault(waits: true) }

    private func record(_ account: String) throws -> ItemRecord {
        try #require(try world.vault.first(Query(.genericPassword, service: "s", account: account))?.record)
    }

    @Test func `another group's item is not noted, nor is a secret that was replaced since`() throws {
        try world.vault.add(try .generic("s", "a"))
        let old = try record("a")
        let other = try world.reopened(groups: ["B"])
        #expect(throws: VaultError.itemNotFound) { try other.noteRefusal(of: old) }
        #expect(throws: VaultError.itemNotFound) { try other.isRefused(old) }
        try world.vault.update(old, with: ItemChanges(secret: "new"))
        #expect(throws: VaultError.itemChanged) { try world.vault.noteRefusal(of: old) }
        #expect(try !world.vault.isRefused(try record("a")))
    }

    @Test func `a refusal counts until the item changes, in this file on this device`() throws {
        for account in ["a", "b"] { try world.vault.add(try .generic("s", account)) }
        #expect(try !world.vault.isRefused(try record("a")))
        try world.vault.noteRefusal(of: try record("a"))
        let sequence = try world.vault.sequence
        try world.vault.noteRefusal(of: try record("a"))
        #expect(try world.vault.sequence == sequence)
        let again = try world.reopened()
        #expect(try again.isRefused(try record("a")) && !again.isRefused(try record("b")))
        let elsewhere = try TemporaryDirectory()
        #expect(try !world.opened(onAnotherDevice: elsewhere.path).isRefused(try record("a")))
        try world.vault.update(try record("a"), with: ItemChanges(userAttributes: ["use": "git"]))
        #expect(try !world.vault.isRefused(try record("a")))
    }

    @Test func `no view shows the refusals, and only the newest 256 are kept`() throws {
        let items = try (0..<258).map { try Item.generic("s", "\($0)") }
        try world.vault.store(items, replacing: false)
        for number in 0..<258 { try world.vault.noteRefusal(of: try record("\(number)")) }
        #expect(try !world.vault.isRefused(try record("1")))
        #expect(try world.vault.isRefused(try record("2")) && world.vault.isRefused(try record("257")))
        #expect(try world.vault.allMatching(Query(.genericPassword)).count == 258)
    }
}
