// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file
import Foundation
import LocalAuthentication
import Vault
import VaultAgent

// MovingAnApp

#if canImport(Security)
import Security
#else
import KeychainServices
#endif

// The articles' blocks that are not whole functions: each verbatim, in a function that compiles it.

enum Snippets {
    static func overview(path: FilePath, passphrase: Passphrase) throws {
        let vault = try Vault.open(at: path, unlockingWith: passphrase)
        let items = try vault.allMatching(Query(.genericPassword, service: "com.example.mail"))
        try check(items.isEmpty)
    }

    static func catching(vault: Vault, query: Query) async throws {
        do throws(VaultError) { try await vault.delete(matching: query) } catch {
            guard error == .itemNotFound else { throw error }
        }
        do { try await vault.delete(matching: query) } catch { guard error == .itemNotFound else { throw error } }
        do { try await vault.delete(matching: query) } catch VaultError.itemNotFound {} catch { throw error }
    }

    // Agent

    static func agent(path: FilePath) throws {
        if let vault = try AgentClient(vault: path, accessGroups: nil) {      // nil if no agent listens
            print(try vault.allMatching(Query(.genericPassword, service: "com.example.mail")))
        }
    }

    // KeySlots

    static func slots(vault: Vault, locked: LockedVault) throws -> Vault {
        let code = try vault.addRecoveryCode()                         // code.text() is shown now or never
        try vault.addMachineSlot(.tpm2)
        let opened = try locked.unlock(with: .recoveryCode(code))
        return opened
    }

    // WhatSurvives

    static func device(vault: Vault) throws -> UUID {
        let id = try vault.deviceIdentifier(for: "com.example.player")
        return id
    }

    // KeysAndCertificates

    static func sign(_ message: Data) {
        let parameters: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits as String: 256,
            kSecPrivateKeyAttrs as String: [
                kSecAttrIsPermanent as String: true,
                kSecAttrApplicationTag as String: Data("com.example.app.signing".utf8),
            ],
        ]
        guard let key = SecKeyCreateRandomKey(parameters as CFDictionary, nil),
            let publicKey = SecKeyCopyPublicKey(key),
            let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message as CFData, nil)
        else { return }
        let isGenuine = SecKeyVerifySignature(
            publicKey, .ecdsaSignatureMessageX962SHA256, message as CFData, signature, nil)
        print(isGenuine)
    }

    // UserPresence

    static func presence(pin: Data) {
        let control = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        SecItemAdd([kSecClass: kSecClassGenericPassword, kSecAttrService: "bank", kSecValueData: pin,
                    kSecAttrAccessControl: control!] as CFDictionary, nil)
    }

    static func attended() async throws -> CFTypeRef? {
        var pin: CFTypeRef?
        let context = LAContext()
        try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "to show the PIN")
        SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecAttrService: "bank", kSecReturnData: true,
                             kSecUseAuthenticationContext: context] as CFDictionary, &pin)   // asks no second time
        return pin
    }

    // MovingAnApp

    static func objects(person: Person) throws -> Person? {
        try SecureArchive.set(person, service: "people", account: "ada")
        let ada = try SecureArchive.object(of: Person.self, service: "people", account: "ada")
        return ada
    }

    static func testing(signIn: @escaping () async throws -> Void) async throws {
        try await Vault.withDefault(Vault.inMemory()) { try await signIn() }
    }

    final class Person: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        func encode(with coder: NSCoder) {}
        init?(coder: NSCoder) {}
    }
}

/// A stand-in for the class of XCTest.
class TestCase {
    func setUp() async throws {}
}

final class AppTests: TestCase {
    override func setUp() async throws {
        Vault.setDefault(try Vault.inMemory(), accessGroups: ["com.example.app"])
    }
}
