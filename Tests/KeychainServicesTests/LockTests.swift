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
    /// Lock tests beyond the rows of the table of Apple's behaviour.
    @Suite struct LockTests {
        private let directory: TemporaryDirectory
        private let passphrase: Passphrase
        private let item: [String: Any] = ["class": "genp", "acct": "a", "v_Data": Data("x".utf8)]

        private var path: FilePath { directory.path.appending("v") }

        init() throws {
            directory = try TemporaryDirectory()
            passphrase = try .of("pass")
        }

        private var environment: VaultEnvironment {
            .seeded("lock", clock: SystemClock(), state: directory.path.appending("state"))
        }

        private func makeVault() throws -> Vault {
            let vault = try Vault.create(at: path, passphrase: passphrase, cost: .weakest, environment: environment)
            Vault.setDefault(vault)
            return vault
        }

        private func add(_ more: [String: Any] = [:]) -> OSStatus {
            SecItemAdd(item.merging(more) { $1 } as CFDictionary, nil)
        }

        private func copy(_ query: [String: Any], _ result: inout CFTypeRef?) -> OSStatus {
            SecItemCopyMatching((["class": "genp"] as [String: Any]).merging(query) { $1 } as CFDictionary, &result)
        }

        @Test func `an identifier of the device is an item that whoever names its group finds`() throws {
            let vault = try Vault.inMemory()
            Vault.setDefault(vault)
            defer { Vault.setDefault(nil) }
            let identifier = try vault.deviceIdentifier(for: "com.example.player")
            var result: CFTypeRef?
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "device-identifier",
                kSecAttrAccount as String: "com.example.player", kSecReturnData as String: true,
                kSecAttrAccessGroup as String: "device-identifiers",
            ]
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(result as? Data == Data(identifier.uuidString.lowercased().utf8))
        }

        @Test func `an access control without constraints is stored, told, and changes the protection class`() throws {
            try bindEmptyVault()
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAfterFirstUnlock, [], nil))
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
            // Both attributes agree, so the found attributes can be added as another item.
            found["class"] = "genp"
            found["acct"] = "copy"
            found["v_Data"] = Data()
            #expect(SecItemAdd(found as CFDictionary, nil) == errSecSuccess)
        }

        @Test(arguments: [
            SecAccessControlCreateFlags.biometryAny, [.devicePasscode, .biometryAny, .and], .companion,
            .applicationPassword, [.userPresence, .applicationPassword], .privateKeyUsage,
        ])
        func `an access control that nobody would enforce is refused, also by an update`(
            flags: SecAccessControlCreateFlags
        ) throws {
            try bindEmptyVault()
            let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
            #expect(add(["accc": control]) == errSecUnimplemented)
            #expect(add() == errSecSuccess)
            #expect(
                SecItemUpdate(["class": "genp"] as CFDictionary, ["accc": control] as CFDictionary)
                    == errSecUnimplemented)
            #expect(add(["acct": "b", "sync": true, "accc": control]) == errSecParam)
            // An access control without flags is refused as well.
            let plain = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [], nil))
            #expect(add(["acct": "b", "sync": true, "accc": plain]) == errSecParam)
        }

        @Test(arguments: [
            SecAccessControlCreateFlags.userPresence, .devicePasscode, [.devicePasscode, .biometryAny, .or],
        ])
        func `an access control that the passphrase meets is kept, and nobody can be asked here`(
            flags: SecAccessControlCreateFlags
        ) throws {
            try bindEmptyVault()
            let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
            #expect(add(["accc": control]) == errSecSuccess)
            var result: CFTypeRef?
            for query: [String: Any] in [[:], ["r_Data": true], ["r_Attributes": true], ["r_PersistentRef": true]] {
                #expect(copy(query, &result) == errSecInteractionNotAllowed)
                #expect(copy(query.merging(["u_AuthUI": "u_AuthUIS"]) { $1 }, &result) == errSecItemNotFound)
            }
            #expect(
                SecItemUpdate(["class": "genp"] as CFDictionary, ["pdmn": "ak"] as CFDictionary)
                    == errSecInteractionNotAllowed)
            #expect(SecItemDelete(["class": "genp"] as CFDictionary) == errSecSuccess)
        }
    }
}
