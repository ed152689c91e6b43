// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// A locked vault: serves no secret, denies no item's existence, and asks the person.
@Suite(.enabled(if: PrivateBus.isThere)) struct ServiceLockedTests {
    /// Makes a locked vault with an item of each kind.
    private static func locked(_ person: TestHouse.Person = .absent) throws -> (ServiceWorld, BusClient, String) {
        let world = try ServiceWorld()
        let client = try world.client()
        let path = try client.create(["service": "mail", "username": "ada"], label: "Mail")
        try client.lock()
        world.house.isAsked(to: person)
        return (world, client, path)
    }

    @Test func `a locked vault serves no item, and reports none as missing`() async throws {
        try await aside {
            let (world, client, path) = try Self.locked()
            #expect(try client.paths("Collection", "Items", at: BusClient.login) == [])
            #expect(try client.text("Collection", "Label", at: BusClient.login) == "Login")
            #expect(try client.flag("Collection", "Locked", at: BusClient.login))
            #expect(try client.flag("Item", "Locked", at: path))
            #expect(try client.text("Item", "Label", at: path) == "")
            #expect(try client.attributes(of: path) == [:])
            #expect(try client.secrets([path]) == [:])
            for query in [["service": "mail"], ["no": "such"]] {
                let (unlocked, locked) = try client.search(query)
                #expect(unlocked == [] && locked.count == 1)
                #expect(locked.first?.hasPrefix(BusClient.login + "/locked_") == true)
                #expect(try client.search(query, in: BusClient.login).count == 1)
                // The same question gets the same answer.
                #expect(try client.search(query).locked == locked)
            }
            #expect(try client.alias("default") == BusClient.login)
            let session = try client.plainSession()
            let calls: [(String, () throws(BusError) -> Void)] = [
                ("CreateItem", { () throws(BusError) in try client.create(["k": "v"]) }),
                ("GetSecret", { () throws(BusError) in _ = try client.secret(path) }),
                (
                    "SetSecret",
                    { () throws(BusError) in
                        try client.call("Item", "SetSecret", at: path) { message throws(BusError) in
                            try BusClient.append([1], session, "text/plain", to: message)
                        }
                    }
                ), ("Set", { () throws(BusError) in try client.set("Item", "Label", .text("x"), at: path) }),
                ("Delete", { () throws(BusError) in try client.delete(path) }),
            ]
            for (name, call) in calls { #expect(client.refusal(call) == "Secret.Error.IsLocked", "\(name)") }
            try world.house.unlockNow()
            #expect(try client.secret(path).text == "s3cret")
        }
    }

    @Test func `a search waits for the person who is asked, and says the truth`() async throws {
        try await aside {
            let (world, client, path) = try Self.locked(.types)
            #expect(try client.search(["service": "mail"]).unlocked == [path])
            try client.lock()
            let (unlocked, locked) = try client.search(["no": "such"])
            #expect(unlocked == [] && locked == [])
            #expect(world.house.asked.count == 2)
        }
    }

    @Test func `what stands for a search is its first match when the vault was unlocked, or nothing`() async throws {
        try await aside {
            let (world, client, path) = try Self.locked()
            let found = try client.search(["service": "mail"]).locked
            let none = try client.search(["no": "such"]).locked
            world.house.isAsked(to: .types)
            let (unlocked, prompt) = try client.unlock(found + none)
            #expect(unlocked == [] && prompt.hasPrefix(BusClient.root + "/prompt/p"))
            let completed = try client.complete(prompt)
            #expect(!completed.isDismissed && completed.paths == found)
            #expect(try client.secrets(found + none) == [found[0]: "s3cret"])
            #expect(try client.attributes(of: found[0]) == ["service": "mail", "username": "ada"])
            #expect(
                client.refusal { () throws(BusError) in _ = try client.secret(none[0]) }
                    == "Secret.Error.NoSuchObject")
            #expect(try client.search(["service": "mail"]).unlocked == [path])
            // For another client the prompt does not exist.
            let other = try world.client()
            #expect(
                other.refusal { () throws(BusError) in _ = try other.secret(found[0]) } == "Secret.Error.NoSuchObject")
        }
    }

    @Test func `a prompt that nobody can answer, or that is dismissed, says so`() async throws {
        try await aside {
            let (world, client, _) = try Self.locked()
            let first = try client.unlock([BusClient.login])
            #expect(first.unlocked == [])
            #expect(try client.complete(first.prompt).isDismissed)
            #expect(
                client.refusal { () throws(BusError) in
                    try client.call("Prompt", "Prompt", at: first.prompt) { message throws(BusError) in
                        try message.append("")
                    }
                } == "Secret.Error.NoSuchObject")
            world.house.isAsked(to: .dismisses)
            #expect(try client.complete(try client.unlock([BusClient.login]).prompt).isDismissed)
            #expect(world.house.asked.count == 1)
            // The same process cannot make the person be asked again at once.
            #expect(try client.search(["service": "mail"]).locked.count == 1)
            #expect(try client.complete(try client.unlock([BusClient.login]).prompt).isDismissed)
            #expect(world.house.asked.count == 1)
        }
    }

    @Test func `to unlock what is unlocked, or nothing, needs no prompt`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            for paths in [[], [path], [BusClient.login, BusClient.session]] {
                let (unlocked, prompt) = try client.unlock(paths)
                #expect(unlocked == paths && prompt == "/")
            }
            try client.lock()
            let (unlocked, prompt) = try client.unlock([])
            #expect(unlocked == [] && prompt == "/")
        }
    }

    @Test func `a prompt is its client's alone, and ends with it`() async throws {
        try await aside {
            let (world, client, _) = try Self.locked(.hesitates)
            var other: BusClient? = try world.client()
            let prompt = try #require(try other?.unlock([BusClient.login]).prompt)
            for method in ["Prompt", "Dismiss"] {
                #expect(
                    client.refusal { () throws(BusError) in
                        try client.call("Prompt", method, at: prompt) { message throws(BusError) in
                            if method == "Prompt" { try message.append("") }
                        }
                    } == "Secret.Error.NoSuchObject")
            }
            try other?.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            world.house.hasBegun()
            other = nil
            // The person is no longer asked.
            world.house.hasGiven()
            world.house.isAsked(to: .types)
            #expect(try !client.complete(try client.unlock([BusClient.login]).prompt).isDismissed)
        }
    }

    @Test func `a prompt that its client dismisses ends the question`() async throws {
        try await aside {
            let (world, client, _) = try Self.locked(.hesitates)
            let prompt = try client.unlock([BusClient.login]).prompt
            try client.listen(to: "Secret.Prompt", "Completed")
            try client.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            world.house.hasBegun()
            try client.call("Prompt", "Dismiss", at: prompt)
            let completed = try #require(try client.heard("Secret.Prompt", "Completed", at: prompt))
            #expect(try completed.flag())
            world.house.hasGiven()
        }
    }

    @Test func `when the doors close the question ends, and programs that ask again at once get no other`() async throws
    {
        try await aside {
            let (world, client, _) = try Self.locked(.hesitates)
            let prompt = try client.unlock([BusClient.login]).prompt
            try client.listen(to: "Secret.Prompt", "Completed")
            try client.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            world.house.hasBegun()
            world.service?.close()
            world.house.hasGiven()
            _ = try client.heard("Secret.Prompt", "Completed", at: prompt)
            #expect(try client.complete(try client.unlock([BusClient.login]).prompt).isDismissed)
            #expect(try client.search(["service": "mail"]).locked.count == 1)
            #expect(world.house.asked.count == 1)
        }
    }

    @Test func `a vault that is unlocked elsewhere needs no answer any more`() async throws {
        try await aside {
            let (world, client, path) = try Self.locked(.hesitates)
            let house = world.house
            Thread {
                house.hasBegun()
                try? house.unlockNow()
            }.start()
            #expect(try client.search(["service": "mail"]).unlocked == [path])
            house.hasGiven()
        }
    }

    @Test func `a vault that was unlocked once tells which collections there are, and nothing in them`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let made = try client.makeCollection("GitHubTool", alias: "tool")
            let item = try client.create(["k": "v"], in: made)
            // A group that another program fills, and the record of an earlier version.
            try world.keep(Item(.genericPassword(service: "s"), attributes: [.accessGroup: "beside"], secret: "x"))
            try world.keep(
                Item(
                    .genericPassword(service: CollectionRecord.service),
                    attributes: [.accessGroup: "earlier", .label: "Earlier"],
                    userAttributes: ["vault.aliases": "early"]))
            let all =
                [BusClient.login] + ["GitHubTool", "beside", "earlier"].map { BusClient.root + "/collection/" + $0 }
                + [BusClient.session]
            try Patience.look { try client.paths("Service", "Collections").sorted() == all.sorted() }
            let store = try world.store()
            try Patience.look {
                try store.allMatching(Query(.genericPassword, service: CollectionRecord.service))
                    .filter { $0[.accessible] == "ck" }.count == 3
            }
            try client.lock()
            #expect(try client.paths("Service", "Collections").sorted() == all.sorted())
            #expect(try client.text("Collection", "Label", at: made) == "GitHubTool")
            #expect(try client.text("Collection", "Label", at: all[3]) == "Earlier")
            #expect(try client.flag("Collection", "Locked", at: made))
            #expect(try client.paths("Collection", "Items", at: made) == [])
            #expect(try client.alias("tool") == made && client.alias("early") == all[3])
            #expect(try client.attributes(of: item) == [:])
            #expect(world.house.asked.isEmpty)
        }
    }

    @Test func `before the first unlock, a program that asks which collections there are has a person asked, once`()
        async throws
    {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let made = try client.makeCollection("GitHubTool", alias: "")
            try world.restartAgent()
            world.house.isAsked(to: .dismisses)
            // Every program of libsecret begins with all properties.
            try client.call("DBus.Properties", "GetAll") { message throws(BusError) in
                try message.append("org.freedesktop.Secret.Service")
            }
            try client.call("DBus.Introspectable", "Introspect")
            #expect(world.house.asked.isEmpty)
            // Until the service hears that the agent has ended, it knows the collections.
            try Patience.look { try client.paths("Service", "Collections") == [BusClient.login, BusClient.session] }
            #expect(try client.paths("Service", "Collections") == [BusClient.login, BusClient.session])
            #expect(world.house.asked.count == 1)
            let other = try ServiceWorld()
            let second = try other.client()
            let path = try second.makeCollection("GitHubTool", alias: "")
            try other.restartAgent()
            other.house.isAsked(to: .types)
            #expect(try second.paths("Service", "Collections") == [BusClient.login, path, BusClient.session])
            #expect(path == made)
        }
    }

    @Test func `a program that makes a collection of a locked vault gets the one of that label`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let made = try client.makeCollection("GitHubTool", alias: "")
            try client.lock()
            world.house.isAsked(to: .types)
            let answer = try client.call("Service", "CreateCollection") { message throws(BusError) in
                try message.append([("org.freedesktop.Secret.Collection.Label", .text("GitHubTool"))])
                try message.append("")
            }
            #expect(try answer.path() == "/")
            let prompt = try answer.path()
            try client.listen(to: "Secret.Prompt", "Completed")
            try client.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            let completed = try #require(try client.heard("Secret.Prompt", "Completed", at: prompt))
            #expect(try !completed.flag())
            var path = ""
            try completed.variant(of: "o") { () throws(BusError) in path = try completed.path() }
            #expect(path == made)
        }
    }

    @Test func `items readable after the first unlock are served while locked`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.keep(
                Item(
                    .genericPassword(service: "wifi", account: "home"), accessible: .afterFirstUnlock, secret: "psk"))
            let client = try world.client()
            try client.lock()
            let (unlocked, locked) = try client.search(["service": "wifi"])
            #expect(locked == [] && unlocked.count == 1)
            #expect(try client.secrets(unlocked).values.sorted() == ["psk"])
            #expect(try client.attributes(of: #require(unlocked.first)) == ["service": "wifi", "username": "home"])
        }
    }

    @Test func `without a vault there is memory alone, and a prompt makes one`() async throws {
        try await aside {
            let world = try ServiceWorld(hasVault: false)
            let client = try world.client()
            #expect(try client.paths("Service", "Collections") == [BusClient.session])
            #expect(try client.alias("default") == "/")
            let (unlocked, locked) = try client.search(["k": "v"])
            #expect(unlocked == [] && locked == [])
            #expect(
                client.refusal { () throws(BusError) in try client.create(["k": "v"]) } == "Secret.Error.NoSuchObject")
            world.house.isAsked(to: .types)
            let answer = try client.call("Service", "CreateCollection") { message throws(BusError) in
                try message.append([("org.freedesktop.Secret.Collection.Label", .text("Default"))])
                try message.append("default")
            }
            #expect(try answer.path() == "/")
            let prompt = try answer.path()
            try client.listen(to: "Secret.Prompt", "Completed")
            try client.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            let completed = try #require(try client.heard("Secret.Prompt", "Completed", at: prompt))
            #expect(try !completed.flag())
            var made = ""
            try completed.variant(of: "o") { () throws(BusError) in made = try completed.path() }
            #expect(made == BusClient.login && world.house.hasVault)
            #expect(try client.secret(client.create(["k": "v"])).text == "s3cret")
        }
    }
}
