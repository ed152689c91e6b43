// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import OlderSources
import Vault
import VaultAgent

/// A program that names no access groups gets a default group of its own: an application's first-launch wipe deletes no
/// item of another application.
enum Groups {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        Vault.setDefault(nil)
        var failures = Failures()
        try expect(Vault.processGroup == "dependent", &failures)
        try command.run(["add", "mail", "ada"], in: home, input: "s3cret")
        for byAgent in [false, true] {
            if byAgent { try command.run(["agent"], in: home) }
            Vault.setDefault(nil)
            try expect(rememberToken("t") == errSecSuccess, &failures)
            for itemClass in [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
                kSecClassIdentity,
            ] {
                let status = SecItemDelete([kSecClass as String: itemClass] as CFDictionary)
                try expect(status == errSecSuccess || status == errSecItemNotFound, &failures)
            }
            try expect(try command.run(["get", "mail"], in: home) == "s3cret", &failures)
            try expect(try command.run(["find"], in: home) == "mail\tada\t\tgeneric\n", &failures)
        }
        // The command and a program get the same identifier for the same name; the wipe keeps the identifier.
        guard let client = try AgentClient(vault: FilePath(home.vault), accessGroups: nil) else { return ["no agent"] }
        let identifier = try client.deviceIdentifier(for: "dependent").uuidString.lowercased()
        try expect(try command.run(["device-id", "dependent"], in: home) == identifier + "\n", &failures)
        _ = SecItemDelete([kSecClass as String: kSecClassGenericPassword] as CFDictionary)
        try expect(try client.deviceIdentifier(for: "dependent").uuidString.lowercased() == identifier, &failures)
        try command.run(["agent", "--stop"], in: home)
        Vault.setDefault(nil)
        return failures.all
    }
}

/// Runs the sources that are in Swift 5 mode.
enum Older {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        Vault.setDefault(nil)
        defer { Vault.setDefault(nil) }
        return try OlderSources.check(path: home.directory + "/older.vault", passphrase: Home.passphrase)
    }
}
