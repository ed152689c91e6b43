// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus
import VaultCrypto

@testable import VaultSSHAgent
import VaultDoorKit

/// Items that an application planted in its own group for the user's own programs to find.
struct PlantedItemTests {
    private static let application = "org.example.App"
    private static let attributes = ["server": "https://registry.example", "docker_cli": "1"]

    private func item(_ group: String, _ text: String = "planted") throws -> Item {
        Item(
            .genericPassword(service: "https://registry.example", account: group),
            attributes: [.accessGroup: .string(group)], userAttributes: Self.attributes,
            secret: try Secret(text: text))
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `a search of all collections finds no item of an application, and the last changed first`() async throws {
        try await aside {
            let (world, client) = try world()
            try world.keep(item(Self.application))
            #expect(try client.search(Self.attributes) == ([], []))
            try world.keep(item("work", "other"))
            try world.keep(item("default", "own"))
            let found = try client.search(Self.attributes).unlocked
            #expect(try found.map { try client.secret($0).text } == ["own", "other"])
            // The application's own collection, visible to the user, contains the item.
            let home = BusClient.root + "/collection/org_2eexample_2eApp"
            #expect(try client.paths("Service", "Collections").contains(home))
            #expect(try client.search(Self.attributes, in: home) == client.paths("Collection", "Items", at: home))
            #expect(try client.search(Self.attributes, in: home).map { try client.secret($0).text } == ["planted"])
        }
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `what stands for a search of a locked vault is nothing of an application's`() async throws {
        try await aside {
            let (world, client) = try world()
            try world.keep(item(Self.application))
            try client.lock()
            let path = try #require(try client.search(Self.attributes).locked.first)
            try world.house.unlockNow()
            #expect(throws: BusError.self) { try client.secret(path) }
            try world.keep(item("default", "own"))
            #expect(try client.secret(path).text == "own")
        }
    }

    private func world() throws -> (ServiceWorld, BusClient) {
        let world = try ServiceWorld()
        return (world, try world.client())
    }

    @Test func `the agent of ssh has the keys of the user's own group alone`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            let client = try world.connect()
            #expect(client.ask(try SSHSamples.adding("ed25519", comment: "mine")) == SSHSamples.success)
            let store = try #require(try world.house.agent(for: nil))
            let own = try #require(try store.allMatching(Query(.genericPassword, service: "ssh")).first)
            #expect(own[.accessGroup]?.text == "default")
            let foreign = try #require(
                try AgentClient(at: world.house.address, vault: world.house.path, accessGroups: [Self.application]))
            try SSHItems(foreign).keep(new("ecdsa256"), file: new("ecdsa256").file())
            // The user's own key with a certificate of a foreign authority.
            var attributes = own.userAttributes
            let certificate = String(decoding: try SSHSamples.file("ed25519-cert.pub"), as: UTF8.self)
            attributes["ssh.certificate"] = certificate.split(separator: " ").prefix(2).joined(separator: " ")
            try foreign.add(
                Item(
                    .genericPassword(service: "ssh", account: own.account ?? ""), userAttributes: attributes,
                    secret: try own.openedSecret()))
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).map(\.comment) == ["mine"])
            #expect(client.ask(try SSHSamples.signing("ecdsa256.pub")) == SSHSamples.failure)
            #expect(client.ask(try SSHSamples.signing("ed25519-cert.pub")) == SSHSamples.failure)
            // Storing the key again does not add the certificate either.
            #expect(client.ask(try SSHSamples.adding("ed25519", comment: "anew")) == SSHSamples.success)
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).map(\.comment) == ["anew"])
            #expect(client.ask(try SSHSamples.removing("ecdsa256.pub")) == SSHSamples.failure)
            #expect(try foreign.allMatching(Query(.genericPassword, service: "ssh")).count == 2)
        }
    }

    private func new(_ name: String) throws -> NewSSHKey {
        NewSSHKey(key: try SSHSamples.key(name), certificate: nil, comment: name, isConfirmed: false)
    }
}
