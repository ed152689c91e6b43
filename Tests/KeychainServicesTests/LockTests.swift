// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultStorage

extension SecItemTests {
    /// Rows K02 to K15 of the table of Apple's behaviour.
    @Suite struct LockTests {
        private let directory: TemporaryDirectory
        private let passphrase: Passphrase
        private let item: [String: Any] = ["class": "genp", "acct": "a", "v_Data": Data("x".utf8)]

        private var path: FilePath { directory.path.appending("v") }

        init() throws {
            directory = try TemporaryDirectory()
            passphrase = try .of("pass")
        }

        private var environment: VaultEnvironment { .seeded("lock", clock: SystemClock(), state: directory.path.appending("state")) }

        private func makeVault() throws -> Vault {
            let vault = try Vault.create(at: path, passphrase: passphrase, cost: .weakest, environment: environment)
            Vault.setDefault(vault)
            return vault
        }

        private func bindReopened() throws {
            Vault.setDefault(try Vault.open(at: path, unlockingWith: passphrase, environment: environment))
        }

        private func add(_ more: [String: Any] = [:]) -> OSStatus {
            SecItemAdd(item.merging(more) { $1 } as CFDictionary, nil)
        }

        private func copy(_ query: [String: Any], _ result: inout CFTypeRef?) -> OSStatus {
            SecItemCopyMatching((["class": "genp"] as [String: Any]).merging(query) { $1 } as CFDictionary, &result)
        }

        @Test func `K02, K03: a duplicate is locked first, and a duplicate once it is unlocked`() throws {
            let vault = try makeVault()
            #expect(add() == errSecSuccess)
            try vault.lock()
            #expect(add() == errSecInteractionNotAllowed)
            try bindReopened()
            #expect(add() == errSecDuplicateItem)
        }

        @Test func `K04 to K07: data and attributes of a locked item are refused, and the result stays as it was`() throws {
            let vault = try makeVault()
            #expect(add() == errSecSuccess)
            try vault.lock()
            let untouched = NSObject()
            var result: CFTypeRef? = untouched
            #expect(copy(["r_Data": true], &result) == errSecInteractionNotAllowed)
            #expect(copy(["r_Attributes": true], &result) == errSecInteractionNotAllowed)
            #expect(result === untouched)
            try bindReopened()
            #expect(copy(["r_Data": true], &result) == errSecSuccess)
            #expect(result as? Data == Data("x".utf8))
        }

        @Test func `K09: a locked item can be deleted`() throws {
            let vault = try makeVault()
            #expect(add() == errSecSuccess)
            try vault.lock()
            #expect(SecItemDelete(["class": "genp"] as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete(["class": "genp"] as CFDictionary) == errSecItemNotFound)
        }

        @Test func `K12, K13: one locked item among the matches fails the call, and none among them does not`() throws {
            let vault = try makeVault()
            #expect(add() == errSecSuccess)
            #expect(add(["acct": "b", "pdmn": "ck"]) == errSecSuccess)
            try vault.lock()
            var result: CFTypeRef?
            #expect(copy(["m_Limit": "m_LimitAll", "r_Data": true], &result) == errSecInteractionNotAllowed)
            #expect(copy(["acct": "none"], &result) == errSecItemNotFound)
            #expect(copy(["acct": "b", "r_Data": true], &result) == errSecSuccess)
        }

        private func keyFile() throws -> KeyFile { try KeyFile(SecretBytes(copying: [UInt8](repeating: 3, count: 32).span)) }

        @Test func `K14: an item that needs a passphrase is refused by a vault without one`() throws {
            let vault = try Vault.create(at: path, keyFile: try keyFile(), environment: environment)
            Vault.setDefault(vault)
            #expect(add(["pdmn": "akpu"]) == errSecNotAvailable)
            #expect(add(["pdmn": "aku"]) == errSecSuccess)
            #expect(
                SecItemUpdate(["class": "genp"] as CFDictionary, ["pdmn": "akpu"] as CFDictionary) == errSecNotAvailable)
        }

        @Test func `K15: an item that needs a passphrase is gone with the last one`() throws {
            let vault = try makeVault()
            #expect(add(["pdmn": "akpu"]) == errSecSuccess)
            #expect(add(["acct": "b"]) == errSecSuccess)
            vault.close()
            try replacePassphraseByKeyFile()
            Vault.setDefault(
                try LockedVault(at: path, environment: environment).unlock(with: .keyFile(try keyFile())))
            var result: CFTypeRef?
            #expect(copy(["acct": "a"], &result) == errSecItemNotFound)
            #expect(copy(["acct": "b"], &result) == errSecSuccess)
        }

        private func replacePassphraseByKeyFile() throws {
            let locked = try LockedStore(path, environment: environment)
            guard let vaultKey = try locked.header.slots[0].open(passphrase.secret.bytes, vaultID: locked.header.vaultID) else {
                throw StorageError.wrongPassphrase
            }
            let store = try locked.open(with: try locked.unlock(with: passphrase))
            let slot = try KeySlot.sealing(
                vaultKey, for: .keyFile(try keyFile()), cost: .weakest, vaultID: locked.header.vaultID, name: "",
                random: environment.random)
            try store.lock.lock()
            try store.rewrite(slots: [HeldSlot(slot)])
            store.lock.unlock()
        }

        @Test func `an identifier of the device is an item like any other`() throws {
            let vault = try Vault.inMemory()
            Vault.setDefault(vault)
            defer { Vault.setDefault(nil) }
            let identifier = try vault.deviceIdentifier(for: "com.example.player")
            var result: CFTypeRef?
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "device-identifier",
                kSecAttrAccount as String: "com.example.player", kSecReturnData as String: true,
            ]
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(result as? Data == Data(identifier.uuidString.lowercased().utf8))
        }

        @Test func `an access control without constraints is stored, told, and changes the protection class`() throws {
            try bindEmptyVault()
            let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAfterFirstUnlock, [], nil))
            var result: CFTypeRef?
            #expect(add(["accc": control, "pdmn": "ck"]) == errSecParam)
            #expect(add(["accc": control]) == errSecSuccess)
            #expect(copy(["r_Attributes": true], &result) == errSecSuccess)
            var found = try #require(result as? [String: Any])
            #expect(found["pdmn"] as? String == "ck" && found["accc"] as? SecAccessControl == control)
            #expect(SecItemUpdate(["class": "genp"] as CFDictionary, ["pdmn": "dk"] as CFDictionary) == errSecSuccess)
            #expect(copy(["r_Attributes": true], &result) == errSecSuccess)
            found = try #require(result as? [String: Any])
            #expect(found["pdmn"] as? String == "dk" && found["accc"] is SecAccessControl)
            // The two agree, so that what was found can be added elsewhere.
            found["class"] = "genp"
            found["acct"] = "copy"
            found["v_Data"] = Data()
            #expect(SecItemAdd(found as CFDictionary, nil) == errSecSuccess)
        }

        @Test(arguments: [SecAccessControlCreateFlags.userPresence, .biometryAny, .devicePasscode, .applicationPassword, .privateKeyUsage])
        func `an access control that nobody would enforce is refused, also by an update`(flags: SecAccessControlCreateFlags) throws {
            try bindEmptyVault()
            let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
            #expect(add(["accc": control]) == errSecUnimplemented)
            #expect(add() == errSecSuccess)
            #expect(SecItemUpdate(["class": "genp"] as CFDictionary, ["accc": control] as CFDictionary) == errSecUnimplemented)
            #expect(add(["acct": "b", "sync": true, "accc": control]) == errSecParam)
            // One without flags was given as a constraint all the same.
            let plain = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [], nil))
            #expect(add(["acct": "b", "sync": true, "accc": plain]) == errSecParam)
        }
    }
}
