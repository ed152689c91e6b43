// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultBus
import VaultFormat

@testable import VaultSecretService

/// Arguments of valid types with random content.
private struct RandomArguments {
    let random: SeededRandom
    var paths: [String]

    /// Appends values of complete types.
    func append(_ types: [String], to message: BusMessage) throws(BusError) {
        for type in types { try append(type, to: message) }
    }

    private func append(_ type: String, to message: BusMessage) throws(BusError) {
        switch type {
        case "s": try message.append(text())
        case "o": try message.append(path: path())
        case "b": try message.append(chance())
        case "v": try message.append(variantOf: value())
        case "ay": try message.append(bytes: bytes().span)
        case "ao": try message.append(paths: (0..<random.number(in: 0...4)).map { _ in path() })
        case "a{ss}": try message.append(.texts(texts()))
        case "a{sv}":
            let properties = (0..<random.number(in: 0...3)).map { _ in (name: text(), value: value()) }
            try message.append(properties)
        default:
            try message.appendStructure(of: TransferredSecret.signature) { () throws(BusError) in
                try append(["o", "ay", "ay", "s"], to: message)
            }
        }
    }

    private func chance() -> Bool { random.number(in: 0...1) == 0 }

    private func text() -> String {
        random.element(of: [
            "", "plain", ServiceSession.encryptedName, "org.freedesktop.Secret.Item.Label", "default", "login",
            "org.freedesktop.Secret.Item.Attributes", "org.freedesktop.Secret.Item.Type", "session", "xdg:schema",
            "org.freedesktop.Secret.Collection.Label", "org.freedesktop.Secret.Item", "org.freedesktop.Secret.Service",
            "org.freedesktop.Secret.Collection", "Label", "Attributes", "Type", "Items", "Collections", "Locked",
            "service", "username", "vault.x", CollectionRecord.service, "text/plain", "\u{1F511}\n",
            String(repeating: "x", count: 300), "~2", "%s%n", "/",
        ])
    }

    private func texts() -> [String: String] {
        var texts: [String: String] = [:]
        for _ in 0..<random.number(in: 0...3) { texts[text()] = text() }
        return texts
    }

    private func value() -> BusValue {
        switch random.number(in: 0...6) {
        case 0: .flag(chance())
        case 1: .number(UInt32(random.number(in: 0...100)))
        case 2: .longNumber(.max)
        case 3: .paths([path()])
        case 4: .texts(texts())
        default: .text(text())
        }
    }

    private func bytes() -> [UInt8] {
        let count = random.element(of: [0, 1, 15, 16, 17, 32, 127, 128, 129, 1000])
        return (0..<count).map { _ in UInt8(random.number(in: 0...255)) }
    }

    func path() -> String { random.element(of: paths) }
}

@Suite(.enabled(if: PrivateBus.isThere)) struct ServiceArgumentTests {
    private static let methods: [(interface: String, name: String, types: [String])] = [
        ("DBus.Introspectable", "Introspect", []), ("DBus.Peer", "Ping", []), ("DBus.Properties", "Get", ["s", "s"]),
        ("DBus.Properties", "GetAll", ["s"]), ("DBus.Properties", "Set", ["s", "s", "v"]),
        ("Service", "OpenSession", ["s", "v"]), ("Service", "CreateCollection", ["a{sv}", "s"]),
        ("Service", "SearchItems", ["a{ss}"]), ("Service", "Unlock", ["ao"]), ("Service", "Lock", ["ao"]),
        ("Service", "GetSecrets", ["ao", "o"]), ("Service", "ReadAlias", ["s"]), ("Service", "SetAlias", ["s", "o"]),
        ("Collection", "Delete", []), ("Collection", "SearchItems", ["a{ss}"]),
        ("Collection", "CreateItem", ["a{sv}", "(oayays)", "b"]), ("Item", "Delete", []),
        ("Item", "GetSecret", ["o"]), ("Item", "SetSecret", ["(oayays)"]), ("Session", "Close", []),
        ("Prompt", "Prompt", ["s"]), ("Prompt", "Dismiss", []),
    ]

    /// Every method, on existing and missing objects, with the vault unlocked, locked or missing.
    @Test(arguments: ["unlocked", "locked", "none"])
    func `whatever a call says, it has an answer, and what comes after it too`(state: String) async throws {
        try await aside {
            let world = try ServiceWorld(hasVault: state != "none", isUnlocked: state == "unlocked", portal: true)
            world.house.isAsked(to: .dismisses)
            let random = SeededRandom("arguments \(state)")
            var arguments = RandomArguments(random: random, paths: [])
            for _ in 0..<40 {
                // Sessions and prompts of a client are limited, so each round uses a new client.
                let client = try world.client()
                let session = try client.plainSession()
                arguments.paths = [
                    "/", "/x", BusClient.root, BusClient.login, BusClient.session, session,
                    BusClient.root + "/aliases/default", BusClient.root + "/collection/x", Portal.path,
                    BusClient.root + "/prompt/p\(random.number(in: 1...99))",
                    BusClient.root + "/session/s\(random.number(in: 1...99))",
                    BusClient.login + "/locked_\(random.number(in: 1...99))",
                    BusClient.login + "/i00112233445566778899aabbccddeeff",
                    try client.create(["k": "v"], in: BusClient.session, session: session),
                ]
                if state == "unlocked" {
                    try? world.house.unlockNow()
                    arguments.paths.append(try client.create(["k": "v"], session: session))
                }
                for _ in 0..<60 {
                    let method = random.element(of: Self.methods)
                    let isOwn = !method.interface.contains(".")
                    let member = BusMember(
                        interface: "org.freedesktop." + (isOwn ? "Secret." : "") + method.interface, name: method.name)
                    // Sometimes the types of another method.
                    let types = random.number(in: 0...9) == 0 ? random.element(of: Self.methods).types : method.types
                    let call = try client.connection.newCall(
                        member, at: arguments.path(), of: "org.freedesktop.secrets")
                    try arguments.append(types, to: call)
                    try client.connection.send(call)
                }
                #expect(try client.answers(60).count == 60)
            }
            #expect(try world.client().alias("session") == BusClient.session)
        }
    }
}
