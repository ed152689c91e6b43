// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

/// Passkeys beside other features of items.
struct PasskeyFeatureTests {
    @Test func `a restored passkey is unchanged, and signs`() throws {
        let world = try TestVault()
        try world.vault.setHistoryLimit(2)
        let made = try world.vault.add(try PasskeySamples.passkey())
        try world.vault.delete(made)
        #expect(try world.vault.passkeys(of: "example.org").isEmpty)
        let deleted = try #require(try world.vault.deletedItems(matching: Query(.key)).first?.item.record)
        try world.vault.restoreItem(deleted)
        let found = try #require(try world.vault.passkeys(of: "example.org").first)
        #expect(found.credentialID == made.credentialID && found.names == made.names)
        let ceremony = PasskeyCeremony(relyingParty: "example.org", origin: "https://example.org")
        let answer = try ceremony.sign(try PasskeySamples.request(), with: found, counter: 0)
        #expect(answer.userHandle == [1, 2, 3])
    }

    @Test func `a passkey that is marked as synchronizable is found, and stays in its group and class`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(accessible: .whenUnlocked))
        let changes = ItemChanges(attributes: [.synchronizable: true])
        #expect(try world.vault.update(matching: Query(.key), with: changes) == 1)
        let found = try #require(try world.vault.passkeys(of: "example.org").first)
        #expect(found.item[.synchronizable] == .number(1) && found.item[.accessible]?.text == "ak")
        #expect(try found.userHandle().exposed == [1, 2, 3])
    }
}
