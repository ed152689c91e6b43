// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Vault

// The readme shows these functions; the formatter is off because it would move their comments.
// swift-format-ignore
func example(path: FilePath, passphrase: Passphrase) throws {
    let vault = try Vault.create(at: path, passphrase: passphrase)
    try vault.add(Item(.genericPassword(service: "com.example.mail", account: "ada"), secret: "s3cret"))
    let query = Query(.genericPassword, service: "com.example.mail")
    let item = try vault.first(query)
    try item?.withSecret { bytes in print(bytes.count) }        // opened here, wiped on return
    try vault.update(matching: query, with: ItemChanges(attributes: [.label: "Mail"], secret: "n3w"))
    try vault.transaction { transaction in                      // all or nothing
        try transaction.add(Item(.internetPassword(server: "example.com", account: "ada"), secret: "x"))
        try transaction.delete(matching: query)
    }
    vault.close()
}

func rememberToken(_ token: String) -> OSStatus {
    let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "com.example.app",
        kSecAttrAccount as String: "token",
        kSecValueData as String: Data(token.utf8),
    ]
    return SecItemAdd(item as CFDictionary, nil)
}

enum Examples {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home()
        home.enter()
        var failures = Failures()
        let typed = try SecretBytes(copying: Array(Home.passphrase.utf8).span)
        try example(path: FilePath(home.vault), passphrase: Passphrase(typed))
        try expect(
            try command.run(["find", "--passphrase-file", home.passphraseFile], in: home)
                == "example.com\tada\t\tinternet\n", &failures)
        home.variables["VAULT_PASSPHRASE_FILE"] = home.passphraseFile
        home.enter()
        Vault.setDefault(nil)
        try expect(rememberToken("t") == errSecSuccess, &failures)
        try expect(rememberToken("t") == errSecDuplicateItem, &failures)
        return failures.all
    }
}

func expect(_ condition: Bool, _ failures: inout Failures, line: Int = #line, file: String = #fileID) throws {
    if !condition { failures.note("\(file):\(line)") }
}
