// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// What a program locks beside the default collection, it locks for the view that it has.
@Suite(.enabled(if: PrivateBus.isThere)) struct LockViewTests {
    private static func lock(_ paths: [String], _ client: BusClient) throws(BusError) {
        try client.call("Service", "Lock") { message throws(BusError) in try message.append(paths: paths) }
    }

    @Test func `a collection that a program locks is locked, and the rest of the vault is not`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let made = try client.makeCollection("Work", alias: "")
            let (inside, beside) = (try client.create(["k": "v"], in: made), try client.create(["k": "v"]))
            try Self.lock([made], client)
            #expect(try client.flag("Collection", "Locked", at: made))
            #expect(try !client.flag("Collection", "Locked", at: BusClient.login))
            #expect(try client.text("Collection", "Label", at: made) == "Work")
            #expect(try client.paths("Collection", "Items", at: made) == [])
            #expect(try client.search(["k": "v"]) == ([beside], [inside]))
            #expect(try client.flag("Item", "Locked", at: inside))
            #expect(try client.secrets([inside, beside]) == [beside: "s3cret"])
            for refusal in [
                client.refusal { () throws(BusError) in _ = try client.secret(inside) },
                client.refusal { () throws(BusError) in try client.delete(inside) },
                client.refusal { () throws(BusError) in try client.delete(made, "Collection") },
                client.refusal { () throws(BusError) in try client.create(["k": "w"], in: made) },
            ] { #expect(refusal == "Secret.Error.IsLocked") }
            #expect(try world.store().status().state == .unlocked)
            #expect(try client.unlock([made]) == ([made], "/"))
            #expect(try client.secret(inside).text == "s3cret")
            #expect(try client.paths("Collection", "Items", at: made) == [inside])
        }
    }

    @Test func `an item that a program locks is locked until it is unlocked`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let (one, two) = (try client.create(["k": "1"]), try client.create(["k": "2"]))
            try Self.lock([one], client)
            #expect(try client.flag("Item", "Locked", at: one) && !client.flag("Item", "Locked", at: two))
            #expect(client.refusal { () throws(BusError) in _ = try client.secret(one) } == "Secret.Error.IsLocked")
            #expect(try client.unlock([one]) == ([one], "/"))
            #expect(try client.secrets([one, two]).count == 2)
        }
    }

    @Test func `an application in a sandbox locks only what it sees itself`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let application = try world.sandboxed("org.example.App")
            let home = try application.alias("default")
            let (own, other) = (try application.create(["k": "v"], in: home), try client.create(["k": "v"]))
            for _ in 0..<3 {
                try Self.lock([BusClient.login, BusClient.root], application)
                try application.call("Service", "LockService")
            }
            #expect(try application.flag("Item", "Locked", at: own))
            #expect(
                application.refusal { () throws(BusError) in _ = try application.secret(own) }
                    == "Secret.Error.IsLocked")
            #expect(try world.store().status().state == .unlocked)
            #expect(try client.secrets([own, other]).count == 2)
            #expect(try application.unlock([home]) == ([home], "/"))
            #expect(try application.secret(own).text == "s3cret")
        }
    }

    @Test(arguments: ["login", "alias", "service", "LockService"])
    func `the default collection, its alias and the service lock the vault`(what: String) async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            switch what {
            case "login": try Self.lock([BusClient.login], client)
            case "alias": try Self.lock([BusClient.root + "/aliases/default"], client)
            case "service": try Self.lock([BusClient.root], client)
            default: try client.call("Service", "LockService")
            }
            #expect(try world.store().status().state == .locked)
        }
    }
}
