// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Vault

// The keychain as most applications use it: a dictionary for a service, save as delete and add, an archive as the
// value, and a device identifier that outlives the application.

enum KeyChainStore {
    static func getKeychainQuery(_ service: String) -> NSMutableDictionary {
        NSMutableDictionary(
            objects: [kSecClassGenericPassword, service, service, kSecAttrAccessibleAfterFirstUnlock],
            forKeys: [
                kSecClass as NSString, kSecAttrService as NSString, kSecAttrAccount as NSString,
                kSecAttrAccessible as NSString,
            ])
    }

    @discardableResult
    static func save(_ service: String, data: Any) throws -> OSStatus {
        let keychainQuery = getKeychainQuery(service)
        SecItemDelete(keychainQuery)
        keychainQuery.setObject(
            try NSKeyedArchiver.archivedData(withRootObject: data, requiringSecureCoding: false),
            forKey: kSecValueData as NSString)
        return SecItemAdd(keychainQuery, nil)
    }

    static func load(_ service: String) throws -> Any? {
        let keychainQuery = getKeychainQuery(service)
        keychainQuery.setObject(true, forKey: kSecReturnData as NSString)
        keychainQuery.setObject(kSecMatchLimitOne, forKey: kSecMatchLimit as NSString)
        var keyData: CFTypeRef?
        guard SecItemCopyMatching(keychainQuery, &keyData) == errSecSuccess, let data = keyData as? Data else {
            return nil
        }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        return unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    }

    static func delete(_ service: String) { SecItemDelete(getKeychainQuery(service)) }
}

enum KeychainProgram {
    private static let identifierKey = "com.example.app.uuid"

    private static func uuid() throws -> String {
        if let uuid = try KeyChainStore.load(identifierKey) as? String, !uuid.isEmpty { return uuid }
        let uuid = UUID().uuidString
        try KeyChainStore.save(identifierKey, data: uuid)
        return uuid
    }

    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        Vault.setDefault(nil)
        defer { Vault.setDefault(nil) }
        var failures = Failures()
        let login: [String: Any] = ["user": "ada", "password": "s3cret", "tries": 2]
        try expect(try KeyChainStore.save("com.example.app", data: login) == errSecSuccess, &failures)
        try expect(try KeyChainStore.save("com.example.app", data: login) == errSecSuccess, &failures)
        let first = try uuid()
        // The application is removed and installed again; its own directory held no state.
        Vault.setDefault(nil)
        let back = try KeyChainStore.load("com.example.app") as? [String: Any]
        try expect(back?["user"] as? String == "ada" && back?["tries"] as? Int == 2, &failures)
        try expect(try uuid() == first && UUID(uuidString: first) != nil, &failures)
        KeyChainStore.delete("com.example.app")
        try expect(try KeyChainStore.load("com.example.app") == nil, &failures)
        // The library and the keychain calls see the same items.
        let vault = try Vault.openDefault()
        try expect(
            try vault.contains(.genericPassword(service: identifierKey, account: identifierKey)), &failures)
        let opened = try Vault.open(at: FilePath(home.vault), unlockingWith: Passphrase(Home.passphrase))
        try expect(
            try opened.contains(.genericPassword(service: identifierKey, account: identifierKey)), &failures)
        try expect(try command.run(["find"], in: home).contains(identifierKey), &failures)
        return failures.all
    }
}
