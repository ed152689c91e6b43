// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultBus

@testable import VaultSecretService

/// A bus with gnome-keyring's daemon, unlocked.
private final class Keyring {
    let bus: PrivateBus
    private let process = Process()

    static let isThere = access("/usr/bin/gnome-keyring-daemon", X_OK) == 0

    init() throws {
        bus = try PrivateBus()
        let home = bus.directory.path.string
        let runtime = home + "/run"
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let input = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/gnome-keyring-daemon")
        process.arguments = ["--foreground", "--unlock", "--components=secrets"]
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": home, "XDG_RUNTIME_DIR": runtime, "XDG_DATA_HOME": home + "/share",
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("pass".utf8))
        try input.fileHandleForWriting.close()
        try BusClient(bus.address).awaitName("org.freedesktop.secrets", hasOwner: true)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Makes a collection without a prompt, by the interface of the daemon's own tests.
    static func makeCollection(_ label: String, _ client: BusClient) throws -> String {
        let session = try client.plainSession()
        return try client.connection.call(
            BusMember(
                interface: "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface",
                name: "CreateWithMasterPassword"), at: BusClient.root, of: "org.freedesktop.secrets"
        ) { message throws(BusError) in
            try message.append([("org.freedesktop.Secret.Collection.Label", .text(label))])
            try BusClient.append(Array("pass".utf8), session, "text/plain", to: message)
        }.path()
    }
}

/// The same script on gnome-keyring and on the vault: what programs rely on is equal.
@Suite(.enabled(if: PrivateBus.isThere && Keyring.isThere)) struct IncumbentTests {
    /// gnome-keyring's dates have whole seconds, and it orders items of one second as it likes.
    private static func nextSecond() {
        let now = Int(Date().timeIntervalSince1970)
        Patience.look { Int(Date().timeIntervalSince1970) > now }
    }

    private static func facts(
        _ address: String, _ makeCollection: (String, BusClient) throws -> String
    ) throws -> [String] {
        var facts: [String] = []
        let client = try BusClient(address)
        func name(_ paths: [String]) throws -> String {
            try paths.map { try client.text("Item", "Label", at: $0) }.joined(separator: " ")
        }
        func found(_ attributes: [String: String]) throws -> String { try name(client.search(attributes).unlocked) }
        // The order of what a search finds.
        let order = ["application": "order"]
        var items: [String] = []
        for number in ["one", "two", "three"] {
            items.append(try client.create(order.merging(["number": number]) { $1 }, label: number))
            nextSecond()
        }
        facts.append("made: " + (try found(order)))
        let session = try client.plainSession()
        try client.call("Item", "SetSecret", at: items[0]) { message throws(BusError) in
            try BusClient.append(Array("new".utf8), session, "text/plain", to: message)
        }
        nextSecond()
        facts.append("secret changed: " + (try found(order)))
        try client.set("Item", "Label", .text("TWO"), at: items[1])
        nextSecond()
        facts.append("label changed: " + (try found(order)))
        try client.create(order.merging(["number": "three"]) { $1 }, "new", label: "three", replace: true)
        nextSecond()
        facts.append("stored again: " + (try found(order)))
        facts.append("in the collection: " + (try name(client.search(order, in: BusClient.login))))
        // Programs that store one login at the same moment.
        for count in [2, 8] {
            try atOnce(count) { number in
                let client = try BusClient(address)
                let session = try client.plainSession()
                for round in 0..<10 {
                    try client.create(
                        ["round": "\(round) of \(count)"], "\(number)", replace: true, session: session)
                }
            }
            facts += try (0..<10).map { "at once: \(try client.search(["round": "\($0) of \(count)"]).unlocked.count)" }
        }
        // Paths, and the order beyond one collection.
        for label in ["GitHubTool", "a.b,c", "a_b", "9lives", "Über", "org.example.App"] {
            facts.append("path: " + (try makeCollection(label, client)))
        }
        let tool = BusClient.root + "/collection/GitHubTool"
        let inside = try client.create(order.merging(["number": "four"]) { $1 }, label: "four", in: tool)
        facts.append("in another collection: " + (try found(order)))
        // A locked collection is still listed, and named.
        try client.call("Service", "Lock") { message throws(BusError) in try message.append(paths: [tool]) }
        facts.append("locked: \(try client.flag("Collection", "Locked", at: tool))")
        facts.append("label: " + (try client.text("Collection", "Label", at: tool)))
        facts.append("listed: \(try client.paths("Service", "Collections").contains(tool))")
        facts.append("others locked: \(try client.flag("Collection", "Locked", at: BusClient.login))")
        let search = try client.search(order)
        facts.append("found: \(try name(search.unlocked)), locked \(search.locked.map { $0 == inside })")
        facts.append("secrets: \(try client.secrets([inside]).count)")
        facts.append(client.refusal { () throws(BusError) in _ = try client.secret(inside) })
        facts.append(client.refusal { () throws(BusError) in try client.create(order, in: tool) })
        return facts
    }

    @Test func `programs find the vault as they found gnome-keyring`() async throws {
        try await aside {
            let keyring = try Keyring()
            let expected = try Self.facts(keyring.bus.address, Keyring.makeCollection)
            let world = try ServiceWorld()
            let facts = try Self.facts(world.bus.address) { try $1.makeCollection($0, alias: "") }
            for (fact, other) in zip(facts, expected) { #expect(fact == other) }
            #expect(facts.count == expected.count)
        }
    }
}
