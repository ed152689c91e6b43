// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault

// The readme shows this function; the formatter leaves its comments where they are.
// swift-format-ignore
func example(path: FilePath, passphrase: Passphrase) throws {
    let vault = try Vault.create(at: path, passphrase: passphrase)
    try vault.add(Item(.genericPassword(service: "com.example.mail", account: "ada"), secret: "s3cret"))
    let query = Query(.genericPassword, service: "com.example.mail")
    let item = try vault.copyMatching(query).first
    try item?.withSecret { bytes in print(bytes.count) }        // opened here, wiped on return
    try vault.update(matching: query, with: ItemChanges(attributes: [.label: "Mail"], secret: "n3w"))
    try vault.transaction { transaction throws(VaultError) in   // all of it, or nothing
        try transaction.add(Item(.internetPassword(server: "example.com", account: "ada"), secret: "x"))
        try transaction.delete(matching: query)
    }
    vault.close()
}

struct ReadmeExampleTests {
    @Test func `the example of the readme runs`() throws {
        let directory = try TemporaryDirectory()
        try example(path: directory.path.appending("example.vault"), passphrase: .of("correct horse"))
    }
}
