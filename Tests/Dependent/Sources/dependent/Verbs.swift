// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault
import VaultAgent

/// Runs the same verbs on a vault in this process and on a vault in an agent, with one body: code that takes an
/// `OpenVault` cannot tell them apart.
enum Verbs {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        let (path, passphrase) = (FilePath(home.vault), try passphrase())
        var failures = Failures()
        let vault = try Vault.open(at: path, unlockingWith: passphrase)
        try verbs(of: vault, &failures)
        try own(vault, passphrase, home, &failures)
        try command.run(["agent"], in: home)
        defer { _ = try? command.run(["agent", "--stop"], in: home) }
        guard let client = try AgentClient(vault: path, accessGroups: nil) else { return ["no agent"] }
        try verbs(of: client, &failures)
        try agent(client, passphrase, &failures)
        return failures.all
    }

    private static func passphrase() throws -> Passphrase {
        let typed = try SecretBytes(copying: Array(Home.passphrase.utf8).span)
        return try Passphrase(typed)
    }

    private static func text(_ item: Item) throws -> String? {
        try item.withSecret { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }

    private static func verbs(of vault: any OpenVault, _ failures: inout Failures) throws {
        let query = Query(.genericPassword, service: "s", account: "a")
        let added = try vault.add(
            Item(.genericPassword(service: "s", account: "a"), userAttributes: ["team": "web"], secret: "one"))
        try expect(added.record?.version == 1 && added[.service]?.text == "s", &failures)
        do {
            try vault.add(Item(.genericPassword(service: "s", account: "a"), secret: "again"))
            try expect(false, &failures)
        } catch VaultError.duplicateItem {
        } catch { try expect(false, &failures) }
        try vault.set(Item(.genericPassword(service: "s", account: "a"), secret: "two"))
        let found = try vault.copyMatching(query)
        try expect(found.count == 1 && found[0].userAttributes == ["team": "web"], &failures)
        try expect(try text(found[0]) == "two", &failures)
        try expect(
            try vault.update(matching: query, with: ItemChanges(attributes: [.label: "l"], secret: "three")) == 1,
            &failures)
        try vault.store(
            (0..<300).map { Item(.genericPassword(service: "many", account: "\($0)"), secret: "m") }, replacing: false)
        try expect(try vault.copyMatching(Query(.genericPassword, service: "many")).count == 300, &failures)
        try expect(try vault.delete(matching: Query(.genericPassword, service: "many")) == 300, &failures)
        let (first, second) = (
            try vault.deviceIdentifier(for: "dependent", thisDeviceOnly: false),
            try vault.deviceIdentifier(for: "dependent", thisDeviceOnly: true)
        )
        try expect(
            try first != second && vault.deviceIdentifier(for: "dependent", thisDeviceOnly: false) == first, &failures)
        try vault.compact()
        try expect(try vault.verify(deep: true).items >= 1, &failures)
        try expect(try vault.versions(matching: query).count >= 1, &failures)
        try expect(try vault.lockedCount(matching: query) == 0, &failures)
        try expect(try vault.delete(matching: query) == 1, &failures)
        do {
            _ = try vault.copyMatching(query)
            try expect(false, &failures)
        } catch VaultError.itemNotFound {
        } catch { try expect(false, &failures) }
    }

    private struct OwnError: Error {}

    /// Checks the verbs that only a vault in this process has.
    private static func own(_ vault: Vault, _ passphrase: Passphrase, _ home: Home, _ failures: inout Failures) throws {
        let query = Query(.genericPassword, service: "t")
        do {
            try vault.transaction { transaction in
                try transaction.add(Item(.genericPassword(service: "t"), secret: "x"))
                throw OwnError()
            }
            try expect(false, &failures)
        } catch is OwnError {
        } catch { try expect(false, &failures) }
        try expect((try? vault.copyMatching(query)) == nil, &failures)
        try vault.transaction { transaction in
            try transaction.add(Item(.genericPassword(service: "t"), secret: "x"))
        }
        do {
            try vault.transaction { _ in try vault.add(Item(.genericPassword(service: "u"), secret: "x")) }
            try expect(false, &failures)
        } catch VaultError.insideTransaction {
        } catch { try expect(false, &failures) }
        try vault.setHistoryLimit(3)
        try vault.update(matching: query, with: ItemChanges(secret: "y"))
        guard let record = try vault.copyMatching(query).first?.record else { return try expect(false, &failures) }
        try expect(try text(vault.undo(record)) == "x", &failures)
        let backup = FilePath(home.directory + "/backup")
        try expect(try vault.backUp(to: backup) >= 1, &failures)
        let code = try vault.addRecoveryCode()
        try vault.lock()
        try expect(vault.isLocked, &failures)
        try vault.unlock(with: .recoveryCode(code))
        try vault.delete(matching: query)
        vault.close()
        do {
            try vault.add(Item(.genericPassword(service: "u"), secret: "x"))
            try expect(false, &failures)
        } catch VaultError.closed {
        } catch { try expect(false, &failures) }
        let other = FilePath(home.directory + "/other.vault")
        try expect(try LockedVault(at: backup).restore(with: .passphrase(passphrase), to: other) >= 1, &failures)
        try expect(VaultError.duplicateItem.localizedDescription == "An item with this key exists.", &failures)
    }

    private static func agent(_ client: AgentClient, _ passphrase: Passphrase, _ failures: inout Failures) throws {
        try expect(try client.status().state == .unlocked, &failures)
        try client.lock()
        do {
            try client.add(Item(.genericPassword(service: "s"), secret: "x"))
            try expect(false, &failures)
        } catch VaultError.locked {
        } catch { try expect(false, &failures) }
        try client.unlock(with: .passphrase(passphrase))
        try client.add(Item(.genericPassword(service: "s"), secret: "x"))
        try expect(try client.delete(matching: Query(.genericPassword, service: "s")) == 1, &failures)
    }
}
