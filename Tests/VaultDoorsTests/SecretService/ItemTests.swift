// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// Items of an unlocked vault, over the bus.
@Suite(.enabled(if: PrivateBus.isThere)) struct ServiceItemTests {
    @Test func `a new item is found, read, changed and deleted, there and in the vault`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["service": "web", "user": "bob"], "hunter2", label: "Web")
            #expect(try client.search(["user": "bob"]).unlocked == [path])
            #expect(try client.search(["user": "bob"], in: BusClient.login) == [path])
            #expect(try client.search(["user": "bob"], in: BusClient.root + "/aliases/default") == [path])
            #expect(try client.search(["user": "eve"]).unlocked == [])
            #expect(try client.secret(path).text == "hunter2")
            #expect(try client.text("Item", "Label", at: path) == "Web")
            #expect(try client.attributes(of: path) == ["service": "web", "user": "bob"])
            let found = try #require(try world.store().first(Query(.genericPassword, service: "web", account: "bob")))
            #expect(try found.openedSecret()?.exposed == Array("hunter2".utf8))
            try client.set("Item", "Label", .text("Other"), at: path)
            #expect(try client.text("Item", "Label", at: path) == "Other")
            try client.set("Item", "Attributes", .texts(["service": "web", "user": "carol"]), at: path)
            #expect(try client.attributes(of: path) == ["service": "web", "user": "carol"])
            #expect(try world.store().first(Query(.genericPassword, service: "web", account: "carol")) != nil)
            let session = try client.plainSession()
            try client.call("Item", "SetSecret", at: path) { message throws(BusError) in
                try BusClient.append(Array("new".utf8), session, "text/plain", to: message)
            }
            #expect(try client.secret(path).text == "new")
            try client.delete(path)
            #expect(try client.search(["user": "carol"]).unlocked == [])
            #expect(client.refusal { () throws(BusError) in try client.delete(path) } == "Secret.Error.NoSuchObject")
        }
    }

    @Test func `to replace means the same attributes, not more of them`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let one = try client.create(["k": "v"], "one")
            let more = try client.create(["k": "v", "l": "w"], "more")
            let schema = try client.create(["k": "v", "xdg:schema": "org.example"], "schema")
            #expect(try client.create(["k": "v"], "new", replace: true) == one)
            #expect(try client.secrets([one, more, schema]) == [one: "new", more: "more", schema: "schema"])
            // The generic schema counts as no schema.
            #expect(
                try client.create(["k": "v", "xdg:schema": "org.freedesktop.Secret.Generic"], replace: true) == one)
            let twin = try client.create(["k": "v"], "twin")
            #expect(twin != one)
            #expect(try client.create(["k": "v"], "newest", replace: true) == twin)
            #expect(try client.create(["other": "1"], replace: true) != one)
        }
    }

    @Test func `items of one key are told apart, and keep their attributes`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let attributes = ["service": "web", "username": "ada"]
            let paths = try (0..<4).map { try client.create(attributes, "\($0)") }
            #expect(Set(paths).count == 4)
            #expect(try client.search(attributes).unlocked.sorted() == paths.sorted())
            let accounts = try world.store().allMatching(Query(.genericPassword, service: "web")).map(\.account)
            #expect(Set(accounts) == ["ada", "ada~2", "ada~3", "ada~4"])
        }
    }

    @Test func `a content type comes back with its parameters`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"], contentType: "application/octet-stream; a=b")
            #expect(try client.secret(path).contentType == "application/octet-stream; a=b")
            #expect(try client.attributes(of: path) == ["k": "v"])
            #expect(try client.create(["k": "v"], replace: true) == path)
            #expect(try client.secret(path).contentType == "text/plain")
        }
    }

    @Test func `what the command keeps is found by service and username, and by a server`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let store = try world.store()
            try store.add(Item(.genericPassword(service: "mail", account: "ada"), secret: "s3cret"))
            try store.add(
                Item(
                    .internetPassword(server: "git.example", account: "ada", protocol: "htps", port: 8443),
                    secret: "forge"))
            _ = try store.deviceIdentifier(for: "player")
            let client = try world.client()
            let mail = try client.search(["service": "mail", "username": "ada"]).unlocked
            #expect(try client.secrets(mail).values.sorted() == ["s3cret"])
            #expect(try client.search(["service": "mail", "user": "ada"]).unlocked == [])
            let forge = try client.search(["server": "git.example", "protocol": "https"]).unlocked
            #expect(try client.secrets(forge).values.sorted() == ["forge"])
            #expect(
                try client.attributes(of: #require(forge.first)) == [
                    "server": "git.example", "protocol": "https", "port": "8443", "user": "ada",
                    "xdg:schema": "org.gnome.keyring.NetworkPassword",
                ])
            #expect(try client.text("Item", "Type", at: #require(forge.first)) == "org.gnome.keyring.NetworkPassword")
            // The device's identifiers are hidden from every client.
            #expect(try client.search([:]).unlocked.count == 2)
            #expect(try client.paths("Service", "Collections").count == 2)
        }
    }

    @Test(arguments: [([:], "org.example.Old"), (["xdg:schema": "org.example.New"], "org.example.New")])
    func `a type that an item is made with is its schema, unless it says another`(
        own: [String: String], schema: String
    ) async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let session = try client.plainSession()
            let path = try client.call("Collection", "CreateItem", at: BusClient.login) { message throws(BusError) in
                try message.append([
                    ("org.freedesktop.Secret.Item.Type", .text("org.example.Old")),
                    ("org.freedesktop.Secret.Item.Attributes", .texts(own.merging(["k": "v"]) { $1 })),
                ])
                try BusClient.append(Array("s3cret".utf8), session, "text/plain", to: message)
                try message.append(false)
            }.path()
            #expect(try client.attributes(of: path) == ["k": "v", "xdg:schema": schema])
            #expect(try client.text("Item", "Type", at: path) == schema)
            #expect(try client.search(["k": "v", "xdg:schema": schema]).unlocked == [path])
        }
    }

    @Test func `the generic schema finds items without one`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            let generic = "org.freedesktop.Secret.Generic"
            #expect(try client.search(["k": "v", "xdg:schema": generic]).unlocked == [path])
            #expect(try client.search(["k": "v", "xdg:schema": "org.example"]).unlocked == [])
        }
    }

    @Test func `both kinds of session carry a secret`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let group = try OakleyGroup2()
            let answer = try client.call("Service", "OpenSession") { message throws(BusError) in
                try message.append(ServiceSession.encryptedName)
                try message.append(variantOf: group.publicKey.span)
            }
            var peer: [UInt8] = []
            try answer.variant(of: "ay") { () throws(BusError) in peer = try answer.bytes(limit: 128) ?? [] }
            let session = try answer.path()
            #expect(peer.count == 128)
            guard let shared = try group.shared(with: peer.span) else { throw BusError.malformed }
            let key = try ForeignDerivation.hkdfSHA256(shared, count: 16)
            let vector = [UInt8](repeating: 7, count: 16)
            let secret = Array("pässwörd".utf8)
            let sealed = try ForeignCipher.sealedCBC(secret.span, key: key, vector: vector.span)
            let bytes = sealed.withBytes { span in span.indices.map { span[$0] } }
            let path = try client.call("Collection", "CreateItem", at: BusClient.login) { message throws(BusError) in
                try message.append([("org.freedesktop.Secret.Item.Attributes", .texts(["k": "v"]))])
                try BusClient.append(bytes, session, "text/plain", vector, to: message)
                try message.append(false)
            }.path()
            #expect(try client.secret(path).text == "pässwörd")
            let read = try client.call("Item", "GetSecret", at: path) { message throws(BusError) in
                try message.append(path: session)
            }
            var (iv, text): ([UInt8], [UInt8]) = ([], [])
            try read.structure(of: "oayays") { () throws(BusError) in
                _ = try read.path()
                (iv, text) = (try read.bytes(limit: 16) ?? [], try read.bytes(limit: 64) ?? [])
                _ = try read.text()
            }
            #expect(iv.count == 16 && iv != vector && text.count == 16)
            let opened = try ForeignCipher.openedCBC(text.span, key: key, vector: iv.span)
            #expect(opened.withBytes { span in span.indices.map { span[$0] } } == secret)
            // A secret with wrong padding.
            #expect(
                client.refusal { () throws(BusError) in
                    try client.create(["k": "w"], "short", session: session, parameters: vector)
                } == "DBus.Error.InvalidArgs")
        }
    }

    @Test(arguments: [2, 8, 16])
    func `programs that store one login at the same moment store one item`(count: Int) async throws {
        try await aside {
            let world = try ServiceWorld()
            let address = world.bus.address
            try atOnce(count) { number in
                let client = try BusClient(address)
                let session = try client.plainSession()
                for round in 0..<20 {
                    try client.create(["round": "\(round)"], "\(number)", replace: true, session: session)
                }
            }
            let client = try world.client()
            for round in 0..<20 { #expect(try client.search(["round": "\(round)"]).unlocked.count == 1) }
        }
    }

    @Test func `a store that changes nothing is no version, and comes first all the same`() async throws {
        try await aside {
            let world = try ServiceWorld()
            try world.store().setHistoryLimit(5)
            let client = try world.client()
            let first = try client.create(["service": "s", "appid": "1"], replace: true)
            let second = try client.create(["service": "s"], replace: true)
            #expect(try client.search(["service": "s"]).unlocked == [second, first])
            // The newer item is no further match of the first one's attributes, but the first one is one of its.
            for _ in 0..<2 { #expect(try client.create(["service": "s", "appid": "1"], replace: true) == first) }
            #expect(try client.search(["service": "s"]).unlocked == [second, first])
            try client.create(["service": "s", "appid": "1"], "new", replace: true)
            #expect(try client.create(["service": "s"], replace: true) == second)
            #expect(try client.search(["service": "s"]).unlocked == [second, first])
            let versions = try world.store().versions(matching: Query(.genericPassword, service: "s"))
            #expect(versions.count == 3)
        }
    }

    @Test func `a hundred programs at once get their own`() async throws {
        try await aside {
            let world = try ServiceWorld()
            // All of them call before the service has a connection to the agent.
            let address = world.bus.address
            let arriving = DispatchGroup()
            for _ in 0..<100 { arriving.enter() }
            try atOnce(100) { number in
                let connected = Result { try BusClient(address) }
                arriving.leave()
                arriving.wait()
                let client = try connected.get()
                let path = try client.create(["number": "\(number)"], "\(number)")
                #expect(try client.search(["number": "\(number)"]).unlocked == [path])
                #expect(try client.secret(path).text == "\(number)")
            }
        }
    }

    @Test func `the session's collection is this process's, and is not in the vault`() async throws {
        try await aside {
            let world = try ServiceWorld(isUnlocked: false)
            let client = try world.client()
            let collection = BusClient.root + "/collection/session"
            let path = try client.create(["k": "v"], "volatile", label: "L", in: collection)
            #expect(try client.secret(path).text == "volatile")
            #expect(try client.search(["k": "v"]).unlocked == [path])
            #expect(try client.create(["k": "v"], "new", replace: true, in: collection) == path)
            #expect(try !client.flag("Collection", "Locked", at: collection))
            try client.set("Item", "Label", .text("M"), at: path)
            #expect(try client.text("Item", "Label", at: path) == "M")
            #expect(
                client.refusal { () throws(BusError) in try client.delete(collection, "Collection") }
                    == "DBus.Error.NotSupported")
            try client.delete(path)
            #expect(try client.paths("Collection", "Items", at: collection) == [])
        }
    }
}
