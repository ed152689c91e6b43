// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// Collections are access groups.
@Suite(.enabled(if: PrivateBus.isThere)) struct ServiceCollectionTests {
    @Test func `a collection is made, named, found by its alias and deleted with its items`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let made = try client.makeCollection("My Work!", alias: "work")
            #expect(made == BusClient.root + "/collection/My_20Work_21")
            #expect(try client.alias("work") == made)
            #expect(try client.text("Collection", "Label", at: made) == "My Work!")
            #expect(try client.paths("Service", "Collections") == [BusClient.login, made, BusClient.session])
            // An existing collection is not made again.
            #expect(try client.makeCollection("Another", alias: "work") == made)
            #expect(try client.makeCollection("My Work!", alias: "") == made + "_1")
            #expect(try client.makeCollection("my work", alias: "") == BusClient.root + "/collection/my_20work")
            // The path of earlier versions, which was that of the group.
            #expect(try client.text("Collection", "Label", at: BusClient.root + "/collection/my_2dwork") == "My Work!")
            let path = try client.create(["k": "v"], "of work", in: made)
            #expect(path.hasPrefix(made + "/i"))
            #expect(try client.paths("Collection", "Items", at: made) == [path])
            #expect(try client.search(["k": "v"], in: BusClient.login) == [])
            #expect(try client.search(["k": "v"]).unlocked == [path])
            #expect(
                try world.store().first(Query(.genericPassword, userAttributes: ["k": "v"]))?[.accessGroup]
                    == .string("my-work"))
            try client.set("Collection", "Label", .text("Job"), at: made)
            #expect(try client.text("Collection", "Label", at: BusClient.root + "/aliases/work") == "Job")
            try client.delete(made, "Collection")
            #expect(try client.alias("work") == "/")
            #expect(try client.search(["k": "v"]).unlocked == [])
            #expect(try !client.paths("Service", "Collections").contains(made))
        }
    }

    @Test func `a collection that is deleted has no items from then on, and one that another process deletes goes`()
        async throws
    {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            for number in 0..<20 {
                let made = try client.makeCollection("c\(number)", alias: "")
                let path = try client.create(["k": "v"], in: made)
                #expect(try client.attributes(of: path) == ["k": "v"])
                #expect(try client.paths("Collection", "Items", at: made) == [path])
                try client.delete(made, "Collection")
                #expect(try client.paths("Service", "Collections") == [BusClient.login, BusClient.session])
                #expect(
                    client.refusal { () throws(BusError) in _ = try client.attributes(of: path) }
                        == "Secret.Error.NoSuchObject")
            }
            let made = try client.makeCollection("Past", alias: "")
            #expect(try client.paths("Service", "Collections").contains(made))
            try client.listen(to: "DBus.Properties", "PropertiesChanged")
            try world.remove(CollectionRecord.query("past"))
            while try client.paths("Service", "Collections").contains(made),
                try client.heard("DBus.Properties", "PropertiesChanged", at: BusClient.root) != nil
            {}
            #expect(try client.paths("Service", "Collections") == [BusClient.login, BusClient.session])
        }
    }

    @Test func `any name can be an alias, and goes to one collection at a time`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let (one, two) = (try client.makeCollection("one", alias: ""), try client.makeCollection("two", alias: ""))
            func set(_ alias: String, _ path: String) -> String {
                client.refusal { () throws(BusError) in
                    try client.call("Service", "SetAlias") { message throws(BusError) in
                        try message.append(alias)
                        try message.append(path: path)
                    }
                }
            }
            #expect(set("pocket", one) == "")
            #expect(try client.alias("pocket") == one)
            #expect(set("pocket", two) == "")
            #expect(try client.alias("pocket") == two)
            #expect(set("default", two) == "")
            #expect(try client.alias("default") == two)
            #expect(set("default", BusClient.login) == "")
            #expect(try client.alias("default") == BusClient.login)
            #expect(set("pocket", "/") == "")
            #expect(try client.alias("pocket") == "/")
            #expect(set("pocket", BusClient.root + "/collection/three") == "Secret.Error.NoSuchObject")
            #expect(set("", one) == "DBus.Error.InvalidArgs")
            #expect(set("a\nb", one) == "DBus.Error.InvalidArgs")
            #expect(try client.alias("nothing") == "/")
        }
    }

    @Test(arguments: [
        ("GitHubTool", "GitHubTool"), ("a.b,c", "a_2eb_2cc"), ("a_b", "a_5fb"), ("9 \u{fc}", "9_20_c3_bc"),
        ("", "unnamed"),
        ("login", "login_1"), ("default", "default_1"), ("session", "session_1"),
        ("org.example.App", "org_2eexample_2eApp"),
        (String(repeating: ".", count: 1024), String(repeating: "_2e", count: 1024)),
    ])
    func `the path of a collection is that of its label, which programs make themselves`(
        label: String, element: String
    ) async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = BusClient.root + "/collection/" + element
            #expect(try client.makeCollection(label, alias: "") == path)
            let item = try client.create(["k": "v"], in: path)
            #expect(item.hasPrefix(path + "/i"))
            #expect(try client.search(["k": "v"], in: path) == [item])
            // The path outlives another label and another process.
            try client.set("Collection", "Label", .text("Other"), at: path)
            try world.restartAgent()
            try world.house.unlockNow()
            #expect(try client.text("Collection", "Label", at: path) == "Other")
            #expect(try client.secret(item).text == "s3cret")
        }
    }

    @Test func `of two collections that two devices made of one path, the older one has it`() {
        func record(_ path: String, _ created: Int) -> CollectionRecord {
            CollectionRecord(
                Item(
                    .genericPassword(service: "s"),
                    attributes: [.creationDate: .date(Date(timeIntervalSince1970: Double(created)))],
                    userAttributes: ["vault.path": path]))
        }
        let names = CollectionNames(["b": record("Work", 0), "a": record("Work", 0), "work_": record("other", 0)])
        for (group, element) in ["a": "Work", "b": "Work_1", "work_": "other", "Work": "Work_2", "default": "login"] {
            #expect(names.element(of: group) == element && names.group(of: element) == group)
        }
        // The names of groups lead to them too.
        #expect(names.group(of: "b") == "b" && names.group(of: "work_5f") == "work_")
        #expect(names.group(of: "_x") == nil)
        #expect(names.element(forLabel: "Work", beside: ["a", "b", "Work"]) == "Work_3")
    }

    @Test func `groups of the command are collections, whatever their names`() async throws {
        try await aside {
            let world = try ServiceWorld()
            for group in ["login", "session", "Über uns", "systemd"] {
                try world.keep(
                    Item(
                        .genericPassword(service: "s", account: group), attributes: [.accessGroup: .string(group)],
                        secret: "x"))
            }
            let client = try world.client()
            let expected = ["_6cogin", "_73ession", "_c3_9cber_20uns"].map { BusClient.root + "/collection/" + $0 }
            #expect(
                try Set(client.paths("Service", "Collections")) == Set(expected + [BusClient.login, BusClient.session]))
            for path in expected {
                let items = try client.paths("Collection", "Items", at: path)
                #expect(items.count == 1)
                #expect(try client.secrets(items).count == 1)
            }
            #expect(try client.search(["service": "s"]).unlocked.count == 3)
        }
    }

    @Test func `programs hear of what others do, and get the whole lists`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            _ = try client.paths("Collection", "Items", at: BusClient.login)
            try client.listen(to: "Secret.Collection", "ItemCreated")
            try client.listen(to: "DBus.Properties", "PropertiesChanged")
            let first = try client.create(["k": "v"])
            // The notices of the first item are consumed before those of the next.
            _ = try #require(try client.heard("Secret.Collection", "ItemCreated", at: BusClient.login))
            var items: [String]?
            repeat { items = try Self.items(client) } while items != nil && items != [first]
            #expect(items == [first])
            let listener = try world.client()
            _ = try listener.paths("Collection", "Items", at: BusClient.login)
            for name in ["ItemCreated", "ItemChanged", "ItemDeleted"] {
                try listener.listen(to: "Secret.Collection", name)
            }
            try listener.listen(to: "DBus.Properties", "PropertiesChanged")
            try world.keep(Item(.genericPassword(service: "by", account: "another"), secret: "x"))
            let created = try #require(try listener.heard("Secret.Collection", "ItemCreated", at: BusClient.login))
            let path = try created.path()
            #expect(try listener.attributes(of: path) == ["service": "by", "username": "another"])
            #expect(try Self.items(listener) == [first, path])
            _ = try client.create(["k": "v"], "new", replace: true)
            #expect(
                try #require(try listener.heard("Secret.Collection", "ItemChanged", at: BusClient.login)).path()
                    == first)
            try client.set("Item", "Label", .text("L"), at: first)
            let changed = try #require(try listener.heard("DBus.Properties", "PropertiesChanged", at: first))
            #expect(try changed.text() == "org.freedesktop.Secret.Item")
            try client.delete(first)
            #expect(
                try #require(try listener.heard("Secret.Collection", "ItemDeleted", at: BusClient.login)).path()
                    == first)
            #expect(try Self.items(listener) == [path])
            try client.lock()
            #expect(try Self.items(listener) == [])
        }
    }

    /// Waits for the next list of items.
    private static func items(_ client: BusClient) throws -> [String]? {
        while let signal = try client.heard("DBus.Properties", "PropertiesChanged", at: BusClient.login) {
            _ = try signal.text()
            var items: [String]?
            try signal.dictionary(of: "sv") { () throws(BusError) in
                guard try signal.text() == "Items" else { return try signal.skip("v") }
                try signal.variant(of: "ao") { () throws(BusError) in items = try signal.paths(limit: 100) }
            }
            if let items { return items }
        }
        return nil
    }

    @Test func `a label becomes a group of letters, digits and hyphens, that no other is`() {
        #expect(SecretService.freeGroup(for: "My  Work!", beside: []) == "my-work")
        #expect(SecretService.freeGroup(for: "Login", beside: []) == "login-2")
        #expect(SecretService.freeGroup(for: "ÄÖ", beside: []) == "collection")
        #expect(SecretService.freeGroup(for: "work", beside: ["work", "work-2"]) == "work-3")
        #expect(SecretService.freeGroup(for: "systemd", beside: []) == "systemd-2")
    }
}
