// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import Vault
@testable import VaultImport

/// What a file may state of the items that it brings.
struct TrustTests {
    private static func login(_ attributes: [(String, String)]) throws -> ImportedLogins {
        var login = Login(id: "1", place: "entry 1")
        (login.title, login.user) = ("planted", "ada")
        login.password = try Secret(text: "x")
        login.attributes = attributes.map { (name: $0.0, value: $0.1) }
        var imported = ImportedLogins()
        imported.logins = [login]
        return imported
    }

    private static func vault() throws -> Vault { try Vault.inMemory(accessGroups: ["default", "*"]) }

    private static func report(
        _ attributes: [(String, String)], in vault: Vault, _ trust: ImportTrust = ImportTrust()
    ) throws -> ImportReport {
        var plan = try ImportPlan(
            login(attributes), of: "test", in: vault, group: trust.group ?? "default", within: trust, replaces: false)
        try plan.carryOut { _ in }
        return plan.report
    }

    @Test(arguments: [
        ("vault.group", "systemd"), ("vault.group", "device-identifiers"), ("vault.group", "org.example.App"),
        ("vault.service", "vault.browser"), ("vault.service", "org.freedesktop.Secret.Collection"),
    ])
    func `an item on which programs rely comes from a backup alone`(name: String, value: String) throws {
        let vault = try Self.vault()
        let refused = try Self.report([(name, value)], in: vault)
        #expect(try refused.counts == "skipped 1" && refused.hasFindings && vault.all().isEmpty)
        let allowed = try Self.report([(name, value)], in: vault, ImportTrust(isBackup: true))
        #expect(allowed.counts == "added 1" && allowed.reserved.count == 1)
        let item = try #require(try vault.all().first)
        #expect(item.service == value || item[.accessGroup]?.text == value)
    }

    @Test(arguments: ["vault.browser", "org.freedesktop.Secret.Collection"])
    func `a title makes no item on which programs rely`(title: String) throws {
        let vault = try Self.vault()
        var imported = try Self.login([])
        imported.logins[0].title = title
        #expect(try imported.stored(in: vault).counts == "skipped 1" && vault.all().isEmpty)
    }

    @Test func `a planted field of this product stays a field of the file`() throws {
        let vault = try Self.vault()
        let planted = [("vault.import", "kdbx:x"), ("vault.browser", "b"), ("vault.aliases", "default")]
        #expect(try Self.report(planted, in: vault).counts == "added 1")
        let item = try #require(try vault.all().first)
        #expect(item.userAttributes[ItemNames.source] == "test:1" && item.userAttributes["vault.browser"] == nil)
        for (name, value) in planted { #expect(item.userAttributes["custom." + name] == value) }
        // Not even a backup of the vault with it makes it one of the product's own.
        let entries = try ExportedEntries(vault.all())
        #expect(entries.entries[0].attributes.contains { $0 == ("custom.vault.browser", "b") })
    }

    @Test func `a file makes no item readable while the vault is locked`() throws {
        for accessibility in Accessibility.allCases {
            let vault = try Self.vault()
            let report = try Self.report([("vault.accessible", accessibility.rawValue)], in: vault)
            let isWeaker = [.afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly]
                .contains(accessibility)
            let stored = try #require(try vault.all().first)[.accessible]
            #expect(stored == .string(isWeaker ? Accessibility.whenUnlocked.rawValue : accessibility.rawValue))
            #expect(report.refused == (isWeaker ? 1 : 0) && !report.hasFindings)
            let other = try Self.vault()
            _ = try Self.report(
                [("vault.accessible", accessibility.rawValue)], in: other, ImportTrust(isBackup: true))
            #expect(try other.all().first?[.accessible] == .string(accessibility.rawValue))
        }
    }

    @Test func `the group of an option counts before that of a file`() throws {
        let vault = try Self.vault()
        let report = try Self.report([("vault.group", "work")], in: vault, ImportTrust(group: "mine"))
        #expect(try vault.all().map { $0[.accessGroup] } == ["mine"] && report.refused == 1)
        _ = try Self.report([("vault.group", "work")], in: try Self.vault())
    }

    @Test func `an item that the vault refuses leaves the rest imported`() throws {
        let vault = try Vault.inMemory(accessGroups: ["default"])
        var imported = try Self.login([("vault.group", "denied")])
        imported.logins += try Self.login([]).logins
        imported.logins[1].id = "2"
        let report = try imported.stored(in: vault)
        #expect(report.counts == "added 1, skipped 1" && report.hasFindings)
        #expect(try vault.all().count == 1)
    }
}
