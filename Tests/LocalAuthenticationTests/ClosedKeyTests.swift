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

/// Keys that a person has to allow the use of: they have no bytes in the program that uses them.
struct ClosedKeyTests {
    private static let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
    private static let message = Data("message".utf8)

    private static func make() throws -> SecKey {
        let control = try required(
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlocked, [.privateKeyUsage, .userPresence], nil))
        let own: [String: Any] = ["perm": true, "accc": control, "labl": "closed"]
        let parameters: [String: Any] = ["type": "73", "bsiz": 256, "private": own]
        return try required(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
    }

    private static func find(_ more: [String: Any] = [:]) -> (status: OSStatus, key: SecKey?) {
        var found: CFTypeRef?
        let query = ["class": "keys", "labl": "closed", "r_Ref": true].merging(more) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        return (status, found as? SecKey)
    }

    /// Nil: it signs, and that verifies.
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
            let world = try World()
            try world.makeVault()
            let passphrase = world.passphrase
            let next = Mutex(PersonAnswer.passphrase(passphrase))
            let door = try world.startAgent { _ in next.withLock { $0 } }
            try required(AgentClient(vault: nil, accessGroups: nil)).unlock(with: .passphrase(passphrase))
            let made = try Self.make()
            let found = try required(Self.find().key)
            // What it is, and its public half, nobody is asked for.
            try check(found == made && SecKeyCopyPublicKey(found) == SecKeyCopyPublicKey(made) && door.count == 0)
            try check(SecKeyIsAlgorithmSupported(found, .sign, Self.algorithm) && SecKeyGetBlockSize(found) == 32)
            try check(try Self.failure(made) == nil && Self.failure(found) == nil && door.count == 2)
            next.withLock { $0 = .dismissed }
            try check(try Self.failure(found) == -128 && door.count == 3)
            try check(SecKeyCopyExternalRepresentation(found, nil) == nil && door.count == 4)
            let wrong = try Passphrase.of("wrong")
            next.withLock { $0 = .passphrase(wrong) }
            try check(try Self.failure(found) == -25293)
            // A query that forbids questions gives a key that forbids them.
            let silent = try required(Self.find(["u_AuthUI": "u_AuthUIF"]).key)
            let count = door.count
            try check(try Self.failure(silent) == -25308 && door.count == count)
            try check(SecItemDelete(["class": "keys"] as CFDictionary) == 0)
            next.withLock { $0 = .passphrase(passphrase) }
            try check(try Self.failure(found) == -25300)
        }
    }

    @Test func `a context that a person has answered for lets a key be used`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let passphrase = world.passphrase
            let door = try world.startAgent { _ in .passphrase(passphrase) }
            try required(AgentClient(vault: nil, accessGroups: nil)).unlock(with: .passphrase(passphrase))
            _ = try Self.make()
            let context = LAContext()
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "to sign")
            let key = try required(Self.find(["u_AuthCtx": context]).key)
            try check(try Self.failure(key) == nil && Self.failure(key) == nil && door.count == 1)
            // Nor has one that came with all else any bytes.
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
}
