// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultAgent
import VaultBus
import VaultCrypto

@testable import Vault
@testable import VaultSecretService
import VaultDoorKit

/// Features of items that the doors' protocols cannot express.
struct ItemFeatureTests {
    private static let attributes = ["service": "mail", "username": "ada"]
    private static let control = AttributeValue.data(AccessControl(.afterFirstUnlock, constraints: 1).encoded)

    private static func item(
        _ account: String = "ada", _ attributes: [Attribute: AttributeValue] = [:], service: String = "mail"
    ) throws -> Item {
        Item(
            .genericPassword(service: service, account: account), attributes: attributes,
            secret: try Secret(text: "secret"), fields: ["pin": "1234"])
    }

    /// Opens the vault of a house, bypassing its agent.
    private static func opened(_ house: TestHouse) throws -> Vault {
        try Vault.open(
            at: house.path, unlockingWith: .of("pass"), environment: house.environment, accessGroups: ["default", "*"])
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `a secret that a program sets keeps the fields, the mark, the class and the older version`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let store = try world.store()
            try store.setHistoryLimit(5)
            try world.keep(Self.item("ada", [.synchronizable: 1, .accessible: "ck"]))
            let client = try world.client()
            let path = try client.create(Self.attributes, "replaced", replace: true)
            let session = try client.plainSession()
            try client.call("Item", "SetSecret", at: path) { message throws(BusError) in
                try BusClient.append(Array("set".utf8), session, "text/plain", to: message)
            }
            try client.set("Item", "Label", .text("Label"), at: path)
            var query = Query(.genericPassword, service: "mail")
            query.returnsSecrets = true
            let versions = try store.versions(matching: query)
            #expect(
                versions.map { String(decoding: $0.item.secret?.exposed ?? [], as: UTF8.self) }
                    == ["set", "set", "replaced", "secret"])
            for version in versions {
                #expect(version.item[.synchronizable] == .number(1) && version.item[.accessible] == "ck")
                #expect(version.item.fields["pin"]?.exposed == Array("1234".utf8))
            }
        }
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `an item that a program deletes can be restored, and leaves a tombstone if it was marked`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let store = try world.store()
            try store.setHistoryLimit(5)
            try world.keep(Self.item("ada", [.synchronizable: 1]))
            let client = try world.client()
            let path = try #require(try client.search(Self.attributes).unlocked.first)
            try client.delete(path)
            #expect(try client.search(Self.attributes).unlocked.isEmpty)
            let graves = Query(.genericPassword, attributes: [.tombstone: 1, .synchronizable: 1])
            #expect(try store.copyMatching(graves).count == 1)
            let deleted = try store.deletedItems(matching: Query(.genericPassword, service: "mail"))
            try store.restoreItem(#require(deleted.first?.item.record))
            #expect(try client.search(Self.attributes).unlocked == [path] && client.secret(path).text == "secret")
        }
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `programs do not find, list or replace protected items, locked or not`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.keep(Self.item("ada", [.accessControl: Self.control]))
            try world.keep(Self.item("grace", [.accessible: "ck"]))
            let client = try world.client()
            let grace = try client.search(["service": "mail"]).unlocked
            #expect(try grace.count == 1 && client.attributes(of: grace[0])["username"] == "grace")
            #expect(try client.search(Self.attributes) == ([], []))
            #expect(try client.paths("Collection", "Items", at: BusClient.login) == grace)
            // A program that stores under the same attributes gets an item of its own.
            let path = try client.create(Self.attributes, "new", replace: true)
            #expect(try client.search(Self.attributes).unlocked == [path])
            try client.lock()
            #expect(try client.search(["service": "mail", "username": "grace"]).unlocked == grace)
            let vault = try Self.opened(world.house)
            let query = Query(.genericPassword, service: "mail", account: "ada")
            #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(query) }
            let found = try vault.attended().copyMatching(query)
            #expect(try found.first?.openedSecret()?.exposed == Array("secret".utf8))
            #expect(world.house.asked.isEmpty)
        }
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `a program hears that an item is gone which demands a person from now on`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.keep(Self.item())
            let client = try world.client()
            let path = try #require(try client.search(Self.attributes).unlocked.first)
            #expect(try client.paths("Collection", "Items", at: BusClient.login) == [path])
            #expect(try client.secret(path).text == "secret")
            try client.listen(to: "Secret.Collection", "ItemDeleted")
            try world.store().update(
                matching: Query(.genericPassword, service: "mail"),
                with: ItemChanges(attributes: [.accessControl: Self.control]))
            let deleted = try client.heard("Secret.Collection", "ItemDeleted", at: BusClient.login)
            #expect(try #require(deleted).path() == path && client.search(Self.attributes).unlocked.isEmpty)
            #expect(throws: BusError.self) { try client.secret(path) }
        }
    }

    @Test func `a key of ssh that demands a person is not offered, signs nothing, and stays as it is`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            let client = try world.connect()
            #expect(client.ask(try SSHSamples.adding("ed25519", comment: "mine")) == SSHSamples.success)
            let store = try #require(try world.house.agent(for: nil))
            try store.update(
                matching: Query(.genericPassword, service: "ssh"),
                with: ItemChanges(attributes: [.accessControl: Self.control]))
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).isEmpty)
            #expect(client.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
            #expect(client.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
            #expect(client.ask(try SSHSamples.adding("ed25519", comment: "anew")) == SSHSamples.failure)
            let items = try Self.opened(world.house).attended().copyMatching(Query(.genericPassword, service: "ssh"))
            #expect(items.map(\.label) == ["mine"] && items.allSatisfy(\.asksForPresence))
            #expect(world.house.asked.isEmpty)
        }
    }
}
