// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Imports of gnome-keyring's items, and from a correct provider.
@Suite(.enabled(if: SecretServiceWorld.hasKeyring))
struct SecretServiceTests {
    private static let expected: [String: [String: String]] = [
        "s3cret": ["service": "mail", "username": "ada"],
        "of the forge": [
            "xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "https", "server": "git.example",
            "port": "8443", "object": "repo.git", "user": "ada", "domain": "EXAMPLE",
        ],
        "pässwörd": ["anwendung": "Übersicht", "folder": "given"],
    ]

    private func attributes(_ login: Login) -> [String: String] {
        Dictionary(login.attributes.map { ($0.name, $0.value) }) { first, _ in first }
    }

    private func service(_ login: Login) -> String? {
        if case .service(let service) = login.address { service } else { nil }
    }

    @Test(arguments: SecretServiceSession.Algorithm.allCases)
    func `every item of gnome-keyring comes byte for byte`(algorithm: SecretServiceSession.Algorithm) throws {
        let world = try SecretServiceWorld("keyring")
        #expect(try world.source().owner == Int32(world.ask("pid")))
        let imported = try world.logins([algorithm])
        #expect(imported.skipped.isEmpty)
        #expect(imported.logins.count == 8)
        let logins = Dictionary(grouping: imported.logins) { $0.title }
        for (title, secret) in [
            ("Mail of Ada", "s3cret"), ("Forge", "of the forge"), ("Schlüssel für Ada 🔑", "pässwörd"),
        ] {
            let login = try #require(logins[title]?.first)
            #expect(login.password?.exposed == Array(secret.utf8))
            #expect(attributes(login) == Self.expected[secret])
            #expect(login.keepsAttributeNames && login.collection == nil && login.contentType == nil)
        }
        let mail = try #require(logins["Mail of Ada"]?.first)
        #expect(service(mail) == "mail" && mail.user == "ada")
        #expect(try service(#require(logins["Schlüssel für Ada 🔑"]?.first)) == "Schlüssel für Ada 🔑")
        let binary = try #require(logins["Binary"]?.first)
        #expect(binary.password?.exposed == (0..<1280).map { UInt8(truncatingIfNeeded: $0) })
        #expect(service(binary) == "binary" && attributes(binary)["vault.import"] == "a name of ours")
        let nameless = try #require(logins[""]?.first)
        #expect(nameless.password?.exposed == [] && service(nameless) == "secret")
        #expect(logins["Twin"]?.map { $0.password?.exposed } == [Array("twin 0".utf8), Array("twin 1".utf8)])
        let badge = try #require(logins["Badge"]?.first)
        #expect(badge.collection == "Work" && badge.folder.isEmpty && badge.password?.exposed == Array("of work".utf8))
        #expect(logins["Volatile"] == nil)
    }

    @Test func `a network password is an internet password`() throws {
        let world = try SecretServiceWorld("keyring")
        let forge = try #require(world.logins().logins.first { $0.title == "Forge" })
        let item = try #require(forge.items(of: "secret-service").first)
        #expect(item.itemClass == .internetPassword)
        #expect(item.server == "git.example" && item.account == "ada" && item[.path] == "repo.git")
        #expect(item[.protocolName] == "htps" && item[.port] == 8443 && item[.securityDomain] == "EXAMPLE")
        #expect(item.userAttributes["object"] == "repo.git")
    }

    @Test func `a vault has what came, and a second import adds nothing, also after a restart`() throws {
        let world = try SecretServiceWorld("keyring")
        let directory = try TemporaryDirectory()
        let vault = try Vault.create(
            at: directory.path.appending("a.vault"), keyFile: KeyFile(SecretBytes(random: 32)),
            accessGroups: ["default", "*"])
        func report() throws -> ImportReport {
            var plan = try ImportPlan(
                world.logins(), of: "secret-service", in: vault, group: nil, replaces: false)
            try plan.carryOut { _ in }
            return plan.report
        }
        #expect(try report().count(.added) == 8)
        #expect(try report().count(.unchanged) == 8)
        // After its restart gnome-keyring reports a schema for items that have none.
        try world.ask("restart")
        let again = try report()
        #expect(again.count(.unchanged) == 8, "\(again.lines)")
        let binary = try #require(vault.copyMatching(Query(.genericPassword, service: "binary")).first)
        #expect(binary.userAttributes["custom.vault.import"] == "a name of ours")
        #expect(binary.userAttributes["vault.import"]?.hasPrefix("secret-service:") == true)
        let given = try vault.copyMatching(Query(.genericPassword, userAttributes: ["anwendung": "Übersicht"]))
        #expect(given.first?.userAttributes["folder"] == "given")
    }

    @Test func `a locked collection is skipped when nobody can be asked, and the others come`() throws {
        let world = try SecretServiceWorld("keyring")
        try world.ask("lock")
        let imported = try world.logins()
        #expect(imported.logins.count == 7)
        #expect(
            imported.skipped.map(\.reason) == [
                "it is locked, and the prompt to unlock it was dismissed, or there is no way to ask"
            ])
    }

    @Test func `items that say the same have one identity, and others have their own`() throws {
        let world = try SecretServiceWorld("keyring")
        let logins = try world.logins().logins
        let twins = logins.filter { $0.title == "Twin" }.map(\.id)
        #expect(twins.count == 2 && twins.last == twins.first && Set(logins.map(\.id)).count == logins.count - 1)
        #expect(try world.logins().logins.map(\.id) == logins.map(\.id))
    }
}
