// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import LocalAuthentication
import Synchronization
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultCrypto

/// Keys that require a person's consent for each use; their bytes never enter the program.
struct ClosedKeyTests {
    private static let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
    private static let message = Data("message".utf8)

    private static func control() throws -> SecAccessControl {
        try required(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, [.privateKeyUsage, .userPresence], nil))
    }

    private static func make(_ more: [String: Any] = [:]) throws -> SecKey {
        let own: [String: Any] = ["perm": true, "accc": try control(), "labl": "closed"]
        let parameters: [String: Any] = ["type": "73", "bsiz": 256, "private": own.merging(more) { $1 }]
        return try required(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
    }

    private static func find(_ more: [String: Any] = [:]) -> (status: OSStatus, key: SecKey?) {
        var found: CFTypeRef?
        let query = ["class": "keys", "labl": "closed", "r_Ref": true].merging(more) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        return (status, found as? SecKey)
    }

    /// Returns the error code of a signature; `nil` if the key signs and the signature verifies.
    private static func failure(_ key: SecKey) throws -> Int? {
        var error: Unmanaged<CFError>?
        guard let signature = SecKeyCreateSignature(key, algorithm, message as CFData, &error) else {
            return try required(error?.takeRetainedValue()).code
        }
        let other = try required(SecKeyCopyPublicKey(key))
        try check(SecKeyVerifySignature(other, algorithm, message as CFData, signature, nil))
        return nil
    }

    @Test func `each use of such a key asks, and what it was asked says what comes of it`() async {
        await #expect(processExitsWith: .success) {
            let next = Mutex(PersonAnswer?.none)
            let (world, door) = try World.open { passphrase in next.withLock { $0 } ?? .passphrase(passphrase) }
            defer { withExtendedLifetime(world) {} }
            let made = try Self.make()
            let found = try required(Self.find().key)
            // Attributes and the public key need no consent.
            try check(found == made && SecKeyCopyPublicKey(found) == SecKeyCopyPublicKey(made) && door.count == 0)
            try check(SecKeyIsAlgorithmSupported(found, .sign, Self.algorithm) && SecKeyGetBlockSize(found) == 32)
            try check(try Self.failure(made) == nil && Self.failure(found) == nil && door.count == 2)
            next.withLock { $0 = .dismissed }
            try check(try Self.failure(found) == -128 && door.count == 3)
            // An immediate second attempt asks no one.
            try check(try Self.failure(found) == -128 && door.count == 3)
            world.rest()
            try check(SecKeyCopyExternalRepresentation(found, nil) == nil && door.count == 4)
            world.rest()
            let wrong = try Passphrase.of("wrong")
            next.withLock { $0 = .passphrase(wrong) }
            try check(try Self.failure(found) == -25293)
            // A query that forbids questions returns a key that forbids them.
            let silent = try required(Self.find(["u_AuthUI": "u_AuthUIF"]).key)
            let count = door.count
            try check(try Self.failure(silent) == -25308 && door.count == count)
            try check(SecItemDelete(["class": "keys"] as CFDictionary) == 0)
            next.withLock { $0 = nil }
            try check(try Self.failure(found) == -25300)
        }
    }

    @Test func `a context that a person has answered for lets a key be used`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            _ = try Self.make()
            let context = LAContext()
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "to sign")
            let key = try required(Self.find(["u_AuthCtx": context]).key)
            try check(try Self.failure(key) == nil && Self.failure(key) == nil && door.count == 1)
            // A key that is returned together with attributes has no bytes either.
            var found: CFTypeRef?
            let query: [String: Any] = [
                "class": "keys", "labl": "closed", "r_Ref": true, "r_Attributes": true, "u_AuthCtx": context,
            ]
            try check(SecItemCopyMatching(query as CFDictionary, &found) == 0)
            let other = try required((found as? [String: Any])?["v_Ref"] as? SecKey)
            context.invalidate()
            for key in [key, other] { try check(try Self.failure(key) == -25308) }
        }
    }

    @Test func `a vault that is open in the program itself gives such a key to nobody`() async {
        await #expect(processExitsWith: .success) {
            Vault.setDefault(try .inMemory())
            let made = try Self.make()
            let found = try required(Self.find().key)
            try check(try Self.failure(made) == -25308 && Self.failure(found) == -25308)
            try check(Self.find(["r_Data": true]).status == -25308)
        }
    }

    @Test func `a key that is made with attributes of the caller's is the one that is found`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            let orders: [[String: Any]] = [
                ["extr": false], ["decr": false, "atag": Data("tag".utf8)], ["klbl": Data("hash".utf8)],
                ["priv": true, "modi": false],
            ]
            for order in orders {
                let made = try Self.make(order)
                try check(door.count == 0)
                let found = try required(Self.find(order).key)
                try check(found == made && door.count == 0)
                try check(SecItemDelete(["class": "keys"] as CFDictionary) == 0 && door.count == 0)
            }
        }
    }

    @Test func `what keeps such a key closed is what storing it says`() async {
        await #expect(processExitsWith: .success) {
            let next = Mutex(PersonAnswer?.some(.dismissed))
            let (world, door) = try World.open { passphrase in next.withLock { $0 } ?? .passphrase(passphrase) }
            defer { withExtendedLifetime(world) {} }
            let made = try Self.make()
            func store(_ key: SecKey) -> OSStatus {
                SecItemAdd(["v_Ref": key, "atag": "copy"] as CFDictionary, nil)
            }
            try check(store(made) == -128 && door.count == 1)
            world.rest()
            let wrong = try Passphrase.of("wrong")
            next.withLock { $0 = .passphrase(wrong) }
            try check(store(made) == -25293 && door.count == 2)
            let silent = try required(Self.find(["u_AuthUI": "u_AuthUIF"]).key)
            try check(store(silent) == -25308 && door.count == 2)
            try check(SecItemDelete(["class": "keys"] as CFDictionary) == 0 && door.count == 2)
            next.withLock { $0 = nil }
            try check(store(made) == -25300)
            try check(SecItemCopyMatching(["class": "keys"] as CFDictionary, nil) == -25300)
        }
    }

    @Test func `a key that is protected later, or changed, is known without a question`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            let parameters: [String: Any] = [
                "type": "73", "bsiz": 256, "private": ["perm": true, "labl": "closed"] as [String: Any],
            ]
            let open = try required(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let query = ["class": "keys", "labl": "closed"] as CFDictionary
            try check(SecItemUpdate(query, ["accc": try Self.control()] as CFDictionary) == 0 && door.count == 0)
            let found = try required(Self.find().key)
            try check(SecKeyCopyPublicKey(found) == SecKeyCopyPublicKey(open) && door.count == 0)
            try check(SecKeyCopyExternalRepresentation(found, nil) != nil && door.count == 1)
            let other = try required(
                SecKeyCreateRandomKey(["type": "73", "bsiz": 256] as CFDictionary, nil))
            let bytes = try required(SecKeyCopyExternalRepresentation(other, nil))
            try check(SecItemUpdate(query, ["v_Data": bytes] as CFDictionary) == 0 && door.count == 2)
            let changed = try required(Self.find().key)
            try check(SecKeyCopyPublicKey(changed) == SecKeyCopyPublicKey(other) && door.count == 2)
            try check(try Self.failure(changed) == nil && door.count == 3)
        }
    }

    @Test func `such a key outlives the agent that it came from`() async {
        await #expect(processExitsWith: .success) {
            let (world, first) = try World.open()
            let key = try Self.make()
            try check(try Self.failure(key) == nil && first.count == 1)
            world.ending()
            try check(try Self.failure(key) == -25291)
            let passphrase = world.passphrase
            let door = try world.startAgent { _ in .passphrase(passphrase) }
            try world.unlock()
            try check(try Self.failure(key) == nil && door.count == 1)
        }
    }

    @Test func `what was allowed in one vault is not allowed in another`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            let context = LAContext()
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "to sign")
            Vault.setDefault(try .inMemory())
            _ = try Self.make()
            let key = try required(Self.find(["u_AuthCtx": context]).key)
            try check(try Self.failure(key) == -25308 && door.count == 1)
            try check(Self.find(["r_Data": true, "u_AuthCtx": context]).status == -25308)
        }
    }
}
