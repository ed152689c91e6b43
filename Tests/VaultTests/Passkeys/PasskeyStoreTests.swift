// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault

/// Passkeys as items of a world.vault.
struct PasskeyStoreTests {
    // MARK: Refusals

    @Test func `a second passkey with the same site and identifier is refused, whatever its key`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(key: "p256"))
        for key in ["p256", "ed25519"] {
            #expect(throws: VaultError.duplicateItem) { try world.vault.add(try PasskeySamples.passkey(key: key)) }
        }
        #expect(throws: Never.self) { try world.vault.add(try PasskeySamples.passkey(key: "p256", id: [9, 8])) }
        #expect(throws: Never.self) { try world.vault.add(try PasskeySamples.passkey("example.com", key: "p256")) }
        #expect(try world.vault.passkeys(of: nil).count == 3)
    }

    @Test func `a key of another kind, or an identifier of another length, makes no passkey`() throws {
        for (key, id, handle) in [
            ("p384", [UInt8]([1]), 1), ("p256", [], 1), ("p256", [UInt8](repeating: 0, count: 1024), 1),
            ("p256", [1], 0), ("p256", [1], 65),
        ] {
            let key = try PasskeySamples.key(key)
            let handle = try Secret(bytes: [UInt8](repeating: 1, count: handle))
            #expect(throws: CryptoError.authenticationFailed) {
                try Passkey("example.org", Passkey.Names(), credentialID: id, key: key, userHandle: handle)
            }
        }
    }

    @Test func `numbers that do not belong together make no passkey`() throws {
        var der = try PasskeySamples.key("p256").exposed
        der[der.count - 1] ^= 1
        let key = try Secret(bytes: der)
        let handle = try Secret(bytes: [1])
        #expect(throws: CryptoError.authenticationFailed) {
            try Passkey("example.org", Passkey.Names(), credentialID: [1], key: key, userHandle: handle)
        }
    }

    @Test func `items with a part of the attributes are no passkeys`() throws {
        let world = try TestVault()
        let handle = ["passkey.user-handle": try Secret(bytes: [1])]
        let user = ["passkey.rp": "example.org", "passkey.credential": "AQ"]
        let own: [Attribute: AttributeValue] = [.keyClass: 1, .type: 73]
        let items = [
            Item(.key(applicationLabel: [1]), attributes: own, userAttributes: user, secret: "x"),
            Item(
                .key(applicationLabel: [2]), attributes: own, userAttributes: ["passkey.rp": "example.org"],
                secret: "x", fields: handle),
            Item(
                .key(applicationLabel: [3]), attributes: [.keyClass: 0, .type: 73], userAttributes: user, secret: "x",
                fields: handle),
            Item(
                .key(applicationLabel: [4]), attributes: [.keyClass: 1], userAttributes: user, secret: "x",
                fields: handle),
            Item(
                .key(applicationLabel: [5]), attributes: own,
                userAttributes: ["passkey.rp": "example.org", "passkey.credential": "A="], secret: "x", fields: handle),
            Item(
                .genericPassword(service: "example.org", account: "ada"), userAttributes: user, secret: "x",
                fields: handle),
        ]
        for item in items { try world.vault.add(item) }
        #expect(try world.vault.passkeys(of: "example.org").isEmpty)
        // With all of them, only the use of the secret shows that it is no key.
        try world.vault.add(
            Item(.key(applicationLabel: [6]), attributes: own, userAttributes: user, secret: "x", fields: handle))
        let wrong = try #require(try world.vault.passkeys(of: "example.org").first)
        #expect(throws: VaultError.valueMismatch(path: "")) { _ = try wrong.key() }
    }

    @Test func `a deleted passkey cannot be deleted again, used or counted`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(counter: 7))
        let found = try #require(try world.vault.passkeys(of: "example.org").first)
        try world.vault.delete(found)
        #expect(throws: VaultError.itemNotFound) { try world.vault.delete(found) }
        #expect(throws: VaultError.itemNotFound) { _ = try found.key() }
        #expect(throws: VaultError.itemNotFound) { try world.vault.countSignature(of: found) }
        #expect(try world.vault.passkeys(of: "example.org").isEmpty)
        #expect(throws: VaultError.itemNotFound) { try world.vault.delete(try PasskeySamples.passkey()) }
    }

    @Test func `while the vault is locked, no passkey is used`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey())
        let found = try #require(try world.vault.passkeys(of: "example.org").first)
        try world.vault.lock()
        #expect(throws: VaultError.locked) { _ = try found.key() }
        #expect(throws: VaultError.locked) { _ = try found.userHandle() }
        #expect(throws: VaultError.locked) { try world.vault.passkeys(of: "example.org") }
    }

    // MARK: The item

    @Test func `the item has the attributes of the format, and no secret among them`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(group: "B"))
        let item = try #require(try world.vault.first(Query(.key)))
        #expect(
            item.userAttributes == [
                "passkey.rp": "example.org", "passkey.rp-name": "Example", "passkey.user": "ada",
                "passkey.display-name": "Ada L.", "passkey.credential": "CQk", "passkey.backup": "true",
            ])
        #expect(item.fieldNames == ["passkey.prf", "passkey.user-handle"])
        #expect(item.label == "ada @ example.org" && item[.accessGroup]?.text == "B")
        #expect(item[.keyClass] == .number(1) && item[.type] == .number(73) && item[.keySizeInBits] == .number(256))
        let point = try #require(try PasskeySamples.vector("pkcs8")["p256.point"])
        #expect(item[.applicationLabel] == .data(try DigestAlgorithm.sha1.digest(of: point.span)))
        #expect(try item.openedSecret()?.exposed == PasskeySamples.key("p256").exposed)
        #expect(try item.openedSecret(field: "passkey.user-handle")?.exposed == [1, 2, 3])
    }

    @Test(arguments: ["p256", "p256.without-point", "p256.with-curve", "ed25519", "ed25519.version-2"])
    func `a passkey is found as it was stored, and its key byte for byte`(key: String) throws {
        let world = try TestVault()
        let stored = try PasskeySamples.passkey(
            key: key, id: [UInt8](repeating: 7, count: 1023), counter: 3, accessible: .whenUnlockedThisDeviceOnly)
        try world.vault.add(stored)
        let reopened = try world.reopened()
        let found = try #require(try reopened.passkeys(of: "example.org").first)
        #expect(found.relyingParty == stored.relyingParty && found.names == stored.names)
        #expect(found.credentialID == stored.credentialID && found.counter == 3)
        #expect(found.algorithm == (key.hasPrefix("p256") ? .es256 : .edDSA) && !found.isBackupEligible)
        #expect(try found.exportedKey().exposed == PasskeySamples.key(key).exposed)
        #expect(try found.userHandle().exposed == [1, 2, 3])
        #expect(try found.pseudoRandomKey()?.count == 32)
        let publicKey = try found.key().publicKey
        #expect(publicKey.algorithm == found.algorithm)
    }

    @Test func `two accounts of one site are two items, found by site and by list`() throws {
        let world = try TestVault()
        let ceremony = PasskeyCeremony(relyingParty: "example.org", origin: "https://example.org")
        var ids: [[UInt8]] = []
        for user in [[UInt8]([1]), [2]] {
            let made = try ceremony.register(try PasskeySamples.creation(.es256, user: user))
            ids.append(try world.vault.add(made.passkey).credentialID)
        }
        try world.vault.add(try PasskeySamples.passkey("login.example.org"))
        try world.vault.add(try PasskeySamples.passkey("example.org.evil.com"))
        #expect(try world.vault.passkeys(of: "example.org").map(\.credentialID) == ids)
        let handles = try world.vault.passkeys(of: "example.org").map { try $0.userHandle().exposed }
        #expect(handles == [[1], [2]])
        let second = try PasskeySamples.request(allowing: [ids[1], [0]])
        #expect(try world.vault.passkeys(of: "example.org").map { second.allows($0.credentialID) } == [false, true])
    }

    @Test func `passkeys of another group are not found in one`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(group: "B"))
        #expect(try world.vault.passkeys(of: "example.org", in: "A").isEmpty)
        #expect(try world.vault.passkeys(of: "example.org", in: "B").count == 1)
        #expect(try world.vault.passkeys(of: "example.org").count == 1)
    }

    @Test func `an imported passkey goes on counting, and a new one does not count`() throws {
        let world = try TestVault()
        try world.vault.add(try PasskeySamples.passkey(counter: 41))
        let found = try #require(try world.vault.passkeys(of: "example.org").first)
        #expect(try world.vault.countSignature(of: found) == 42)
        // Another process has counted since.
        #expect(throws: VaultError.versionMismatch) { try world.vault.countSignature(of: found) }
        let again = try #require(try world.vault.passkeys(of: "example.org").first)
        #expect(again.counter == 42 && again.names == found.names)
        try world.vault.add(try PasskeySamples.passkey("last.example", counter: .max))
        let last = try #require(try world.vault.passkeys(of: "last.example").first)
        #expect(try world.vault.countSignature(of: last) == .max)
        try world.vault.add(try PasskeySamples.passkey("new.example"))
        let new = try #require(try world.vault.passkeys(of: "new.example").first)
        #expect(try world.vault.countSignature(of: new) == 0)
        #expect(try world.vault.passkeys(of: "new.example").first?.item.record?.version == 1)
    }
}
