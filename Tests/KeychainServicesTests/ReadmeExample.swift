// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Testing
import Vault

func rememberToken(_ token: String) -> OSStatus {
    let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "com.example.app",
        kSecAttrAccount as String: "token",
        kSecValueData as String: Data(token.utf8),
    ]
    return SecItemAdd(item as CFDictionary, nil)
}

extension SecItemTests {
    @Test func `the example of the readme runs`() throws {
        Vault.setDefault(try Vault.inMemory())
        #expect(rememberToken("t") == errSecSuccess)
        #expect(rememberToken("t") == errSecDuplicateItem)
    }
}
