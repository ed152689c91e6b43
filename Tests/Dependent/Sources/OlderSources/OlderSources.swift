// SPDX-License-Identifier: Apache-2.0
import Foundation
import Security
import Vault
import VaultAgent

/// Sources as written for applications from before Swift 6.
public enum OlderSources {
    /// Checks the digests in a process that finds no libcrypto.
    public static func checkWithoutLibcrypto() -> [String] { DigestSources.checkWithoutLibrary() }

    /// - Returns: The expectations that failed.
    public static func check(path: String, passphrase: String) throws -> [String] {
        var failures: [String] = []
        let keychain = TokenStore()
        if keychain.read() != nil { failures.append("there is a token already") }
        if !keychain.save("first") || !keychain.save("second") { failures.append("a token cannot be saved") }
        if keychain.read() != "second" { failures.append("the token is another one") }
        if !keychain.remove() || keychain.read() != nil { failures.append("the token cannot be removed") }
        failures += try SigningKeys().check()
        failures += DigestSources.check()
        let vault = try Vault.create(
            at: FilePath(path), passphrase: Passphrase(SecretBytes(copying: Array(passphrase.utf8).span)),
            cost: .interactive)
        try vault.add(Item(.genericPassword(service: "s", account: "a"), secret: "x"))
        let items = try vault.copyMatching(Query(.genericPassword, service: "s"))
        if items.count != 1 || items[0].userAttributes != [:] { failures.append("the item is another one") }
        vault.close()
        if try AgentClient(vault: FilePath(path), accessGroups: nil) != nil { failures.append("there is an agent") }
        return failures
    }
}

/// The wrapper around the keychain that most tutorials show.
struct TokenStore {
    private var query: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "com.example.older",
            kSecAttrAccount as String: "token",
        ]
    }

    func save(_ token: String) -> Bool {
        let value = [kSecValueData as String: Data(token.utf8)]
        let status = SecItemUpdate(query as CFDictionary, value as CFDictionary)
        guard status == errSecItemNotFound else { return status == errSecSuccess }
        return SecItemAdd(query.merging(value) { $1 } as CFDictionary, nil) == errSecSuccess
    }

    func read() -> String? {
        var query = self.query
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: AnyObject?
        guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess, let data = result as? Data else {
            return nil
        }
        return String(data: data, encoding: .utf8)
    }

    func remove() -> Bool { SecItemDelete(query as CFDictionary) == errSecSuccess }
}
