// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// A service at boot: opens the vault of its environment, and creates the vault at the first start.
enum Opening {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home()
        home.enter()
        Vault.setDefault(nil)
        var failures = Failures()
        try expect(outcome { _ = try Vault.openDefault() } == .storage(.noVault), &failures)
        let made = try Vault.openDefault(creating: .withKeyFile)
        try made.set("kept", for: "value")
        made.close()
        let key = home.directory + "/.config/vault/default.key"
        let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
        try expect(mode == 0o600, &failures)
        // A second start and a different opener both use the existing vault.
        try expect(
            try Vault.openDefault(creating: .withKeyFile).value(of: String.self, for: "value") == "kept", &failures)
        try expect(try Vault.openDefault().value(of: String.self, for: "value") == "kept", &failures)
        try expect(
            try command.run(["find", "--service", "values"], in: home) == "values\tvalue\t\tgeneric\n", &failures)
        // The key of another vault opens nothing, and the call asks for no passphrase.
        try Data(repeating: 7, count: 64).write(to: URL(filePath: key))
        try expect(outcome { _ = try Vault.openDefault(creating: .withKeyFile) } == .locked, &failures)
        try FileManager.default.removeItem(atPath: key)
        try expect(outcome { _ = try Vault.openDefault() } == .locked, &failures)

        let other = try Home()
        other.enter()
        let passphrase = try Passphrase(Home.passphrase)
        try Vault.openDefault(creating: .withPassphrase(passphrase)).close()
        try expect(outcome { _ = try Vault.openDefault() } == .locked, &failures)
        try Vault.openDefault(creating: .withPassphrase(passphrase)).close()
        other.variables["VAULT_PASSPHRASE_FILE"] = other.passphraseFile
        other.enter()
        try Vault.openDefault().close()
        return failures.all
    }

    private static func outcome(_ body: () throws -> Void) throws -> VaultError? {
        do { try body() } catch let error as VaultError { return error }
        return nil
    }
}
