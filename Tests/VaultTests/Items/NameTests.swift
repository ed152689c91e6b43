// SPDX-License-Identifier: Apache-2.0
import Testing
import Vault

// Types of a program that knows nothing of vaults.
private struct Item {}
private struct Query {}
private struct Transaction {}
private enum Attribute {}
private struct Secret {}

struct NameTests {
    @Test func `a program with names of its own reaches those of the vault through the class`() throws {
        _ = (Item(), Query(), Transaction(), Attribute.self, Secret())
        let vault = try Vault.inMemory()
        let secret: Vault.Secret = "s3cret"
        try vault.transaction { (transaction: inout Vault.Transaction) in
            try transaction.add(Vault.Item(.genericPassword(service: "s"), secret: secret))
        }
        let label: Vault.Attribute = .label
        try vault.update(
            matching: Vault.Query(.genericPassword, service: "s"), with: ItemChanges(attributes: [label: "L"]))
        let found: Vault.Item? = try vault.first(VaultQuery(.genericPassword, label: "L"))
        #expect(try found?.secretString() == "s3cret")
    }
}
