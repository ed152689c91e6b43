// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

/// Copies with the history of a vault, and copies without.
struct HistoryCopyTests {
    private let test: TestVault
    private var vault: Vault { test.vault }
    private let everything = Query(.genericPassword)

    init() throws { test = try TestVault() }

    private func secrets(in vault: Vault) throws -> [String?] {
        var query = Query(.genericPassword, service: "s")
        query.returnsSecrets = true
        return try vault.versions(matching: query).map { try $0.item.text }
    }

    private func copy(_ name: String, withHistory: Bool) throws -> Vault {
        let path = test.path.removingLastComponent().appending(name)
        #expect(try vault.backUp(to: path, withHistory: withHistory) == 1)
        return try Vault.open(
            at: path, unlockingWith: test.passphrase, environment: test.environment, accessGroups: ["A", "B"])
    }

    @Test func `a copy has what the vault keeps, and one that goes to others has nothing replaced or deleted`() throws {
        try vault.setHistoryLimit(3)
        for secret in ["one", "two"] { try vault.set(.generic("s", "a", secret)) }
        try vault.add(.generic("t", "a", "gone"))
        try vault.delete(matching: Query(.genericPassword, service: "t"))
        let whole = try copy("whole", withHistory: true)
        #expect(try secrets(in: whole) == ["two", "one"])
        #expect(try whole.deletedItems(matching: everything).count == 1)
        let given = try copy("given", withHistory: false)
        #expect(try secrets(in: given) == ["two"])
        #expect(throws: VaultError.itemNotFound) { try given.deletedItems(matching: everything) }
        let result = try given.verify(deep: true)
        #expect(result.items == 1 && result.versions == 0 && result.values == 1 && result.opened == 1)
        // The vault itself has lost nothing, and the copy keeps versions from now on.
        #expect(try secrets(in: vault) == ["two", "one"])
        try given.set(.generic("s", "a", "three"))
        #expect(try secrets(in: given) == ["three", "two"])
    }

    @Test func `a copy without history takes items that ask for a person along, whose older secrets no salvage finds`()
        throws
    {
        try vault.setHistoryLimit(3)
        let control = AttributeValue.data(AccessControl(requiringPresence: .whenUnlocked).encoded)
        let attended = vault.attended()
        for secret in ["one", "two"] { try attended.set(.generic("s", "a", secret, [.accessControl: control])) }
        try attended.add(.generic("t", "a", "gone", [.accessControl: control]))
        try attended.delete(matching: Query(.genericPassword, service: "t"))
        let given = try copy("given", withHistory: false)
        #expect(throws: VaultError.presenceRequired) { try secrets(in: given) }
        #expect(try secrets(in: given.attended()) == ["two"])
        given.close()
        var environment = test.environment
        environment.stateDirectory = test.directory.path.appending("elsewhere")
        let saved = test.directory.path.appending("saved")
        _ = try DamagedVault(at: test.directory.path.appending("given"), environment: environment)
            .salvage(with: .passphrase(test.passphrase), to: saved)
        let vault = try Vault.open(
            at: saved, unlockingWith: test.passphrase, environment: environment, accessGroups: ["A", "B"]
        ).attended()
        #expect(try secrets(in: vault) == ["two"])
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: everything) }
    }
}
