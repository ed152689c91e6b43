// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// Which attributes programs see, of items that a program, a person or an import has made.
@Suite(.enabled(if: PrivateBus.isThere)) struct ProvenanceTests {
    private static let login = ["service": "mail", "username": "ada"]

    private static func tag(_ world: ServiceWorld, _ attributes: [String: String]) throws {
        try world.store().update(
            matching: Query(.genericPassword, service: "mail"),
            with: ItemChanges(userAttributes: attributes.mapValues { $0 }))
    }

    @Test func `a person's attribute hides no item from the programs that look for it`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.keep(Item(.genericPassword(service: "mail", account: "ada"), secret: "s3cret"))
            try Self.tag(world, ["tag": "x"])
            let client = try world.client()
            let path = try #require(try client.search(Self.login).unlocked.first)
            #expect(try client.search(["service": "mail", "tag": "x"]).unlocked == [path])
            #expect(try client.attributes(of: path) == ["service": "mail", "username": "ada", "tag": "x"])
            // A program that stores the login changes this item, and leaves what is the person's.
            #expect(try client.create(Self.login, "new", label: "Mail", replace: true) == path)
            #expect(try client.attributes(of: path)["tag"] == "x")
            #expect(try client.secret(path).text == "new")
        }
    }

    @Test func `a program finds and stores its item again when a person has added an attribute`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(Self.login, replace: true)
            try Self.tag(world, ["tag": "x"])
            #expect(try client.create(Self.login, "new", replace: true) == path)
            #expect(try client.search(Self.login).unlocked == [path])
            #expect(try client.search(["tag": "x"]).unlocked == [])
            #expect(try client.attributes(of: path) == Self.login)
            let item = try #require(try world.store().first(Query(.genericPassword, service: "mail")))
            #expect(
                item.userAttributes
                    == Self.login.merging([
                        "tag": "x", "vault.attributes": "service\nusername", "vault.made": "program",
                    ]) { $1 })
        }
    }

    @Test func `attributes that a program sets are its item's, and its only ones`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(Self.login.merging(["old": "1"]) { $1 })
            try client.set("Item", "Attributes", .texts(["service": "mail", "username": "eve", "a b": "1"]), at: path)
            try Self.tag(world, ["old": "2"])
            #expect(try client.attributes(of: path) == ["service": "mail", "username": "eve", "a b": "1"])
            #expect(try client.search(["a b": "1", "username": "eve"]).unlocked == [path])
            #expect(try world.store().first(Query(.genericPassword, service: "mail", account: "eve")) != nil)
        }
    }

    @Test func `the last changed item comes first, in the vault and in memory`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            for collection in [BusClient.login, BusClient.session] {
                let items = try (0..<3).map { number in
                    try client.create(["service": "s", "appid": "\(number)"], in: collection)
                }
                func found() throws -> [String] { try client.search(["service": "s"], in: collection) }
                #expect(try found() == items.reversed())
                #expect(
                    try client.create(["service": "s", "appid": "0"], "new", replace: true, in: collection) == items[0])
                #expect(try found() == [items[0], items[2], items[1]])
                try client.set("Item", "Label", .text("L"), at: items[1])
                #expect(try found() == [items[1], items[0], items[2]])
            }
        }
    }

    @Test func `an item without a label has a name all the same`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.keep(Item(.internetPassword(server: "registry.example", account: "ada"), secret: "s3cret"))
            try world.keep(Item(.genericPassword(service: "mail"), secret: "s3cret"))
            let client = try world.client()
            #expect(
                try client.search([:]).unlocked.map { try client.text("Item", "Label", at: $0) }.sorted()
                    == ["mail", "registry.example (ada)"])
        }
    }
}
