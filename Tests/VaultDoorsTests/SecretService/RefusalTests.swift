// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// Forbidden, malformed and oversized requests of a program.
@Suite(.enabled(if: PrivateBus.isThere)) struct ServiceRefusalTests {
    private func openSession(_ client: BusClient, _ algorithm: String, _ bytes: [UInt8]) -> String {
        client.refusal { () throws(BusError) in
            _ = try client.call("Service", "OpenSession") { message throws(BusError) in
                try message.append(algorithm)
                try message.append(variantOf: bytes.span)
            }
        }
    }

    /// p of the second Oakley group (RFC 2409, section 6.2).
    private static let prime: [UInt8] =
        [UInt8](repeating: 0xff, count: 8)
        + [
            0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34, 0xc4, 0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02,
            0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74, 0x02, 0x0b, 0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79,
            0x8e, 0x34, 0x04, 0xdd, 0xef, 0x95, 0x19, 0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f,
            0x14, 0x37, 0x4f, 0xe1, 0x35, 0x6d, 0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6,
            0xf4, 0x4c, 0x42, 0xe9, 0xa6, 0x37, 0xed, 0x6b, 0x0b, 0xff, 0x5c, 0xb6, 0xf4, 0x06, 0xb7, 0xed, 0xee, 0x38,
            0x6b, 0xfb, 0x5a, 0x89, 0x9f, 0xa5, 0xae, 0x9f, 0x24, 0x11, 0x7c, 0x4b, 0x1f, 0xe6, 0x49, 0x28, 0x66, 0x51,
            0xec, 0xe6, 0x53, 0x81,
        ] + [UInt8](repeating: 0xff, count: 8)

    @Test func `a public key that would leave no secret is none`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            var lessOne = Self.prime
            lessOne[127] -= 1
            let one = [UInt8](repeating: 0, count: 127) + [1]
            for key in [[], [0], one, lessOne, Self.prime, [0] + Self.prime, [UInt8](repeating: 1, count: 129)] {
                let refusal = openSession(client, ServiceSession.encryptedName, key)
                #expect(refusal == "DBus.Error.InvalidArgs", "\(key.count)")
            }
            #expect(openSession(client, "rot13", [1]) == "DBus.Error.NotSupported")
            #expect(openSession(client, "plain", [1]) == "DBus.Error.InvalidArgs")
        }
    }

    @Test func `a session is its client's`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, other) = (try world.client(), try world.client())
            let path = try client.create(["k": "v"])
            let session = try client.plainSession()
            #expect(try client.secret(path, session: session).text == "s3cret")
            for foreign in [session, BusClient.root + "/session/s999", "/"] {
                #expect(
                    other.refusal { () throws(BusError) in _ = try other.secret(path, session: foreign) }
                        == "Secret.Error.NoSession")
                #expect(
                    other.refusal { () throws(BusError) in _ = try other.create(["k": "w"], session: foreign) }
                        == "Secret.Error.NoSession")
            }
            let close = { (client: BusClient) in
                client.refusal { () throws(BusError) in try client.call("Session", "Close", at: session) }
            }
            #expect(close(other) == "DBus.Error.AccessDenied")
            #expect(close(client) == "")
            #expect(close(client) == "Secret.Error.NoSuchObject")
        }
    }

    @Test func `no program has more than 256 sessions, on however many connections`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, other) = (try world.client(), try world.client())
            let sessions = try (0..<ClientHoldings.mostObjects.ofOne).map { number in
                try (number % 2 == 0 ? client : other).plainSession()
            }
            for each in [client, other, try world.client()] {
                #expect(
                    each.refusal { () throws(BusError) in _ = try each.plainSession() } == "DBus.Error.LimitsExceeded")
            }
            try client.call("Session", "Close", at: sessions[0])
            #expect(try !other.plainSession().isEmpty)
        }
    }

    @Test func `what is too large is refused, and 16 MiB are not`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let most = String(repeating: "x", count: 16 << 20)
            let path = try client.create(["k": "v"], most)
            #expect(
                client.refusal { () throws(BusError) in try client.create(["k": "w"], most + "x") }
                    == "DBus.Error.LimitsExceeded")
            #expect(
                client.refusal { () throws(BusError) in
                    try client.create(["k": String(repeating: "x", count: 65 << 10)])
                } == "DBus.Error.LimitsExceeded")
            #expect(
                client.refusal { () throws(BusError) in try client.create(["k": "v"], most, in: BusClient.session) }
                    == "DBus.Error.LimitsExceeded")
            #expect(try client.search([:]).unlocked == [path])
        }
    }

    @Test func `names, types and properties that cannot be are refused`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            let session = try client.plainSession()
            for name in ["", String(repeating: "n", count: 256), "vault.import"] {
                #expect(
                    client.refusal { () throws(BusError) in try client.create([name: "v"]) }
                        == "DBus.Error.InvalidArgs")
                #expect(
                    client.refusal { () throws(BusError) in
                        try client.set("Item", "Attributes", .texts([name: "v"]), at: path)
                    } == "DBus.Error.InvalidArgs")
            }
            for (name, value) in [
                ("Created", BusValue.longNumber(1)), ("Locked", .flag(true)), ("Nonsense", .text("x")),
                ("Label", .flag(true)), ("Attributes", .text("x")),
            ] {
                #expect(
                    client.refusal { () throws(BusError) in try client.set("Item", name, value, at: path) }
                        == "DBus.Error.InvalidArgs", "\(name)")
            }
            #expect(
                client.refusal { () throws(BusError) in _ = try client.property("Item", "Nonsense", at: path) }
                    == "DBus.Error.InvalidArgs")
            #expect(
                client.refusal { () throws(BusError) in
                    try client.call("Collection", "CreateItem", at: BusClient.login) { message throws(BusError) in
                        try message.append([("org.example.Nonsense", .text("x"))])
                        try BusClient.append([], session, "text/plain", to: message)
                        try message.append(false)
                    }
                } == "DBus.Error.InvalidArgs")
            #expect(
                client.refusal { () throws(BusError) in
                    try client.call("Service", "SearchItems") { message throws(BusError) in try message.append("x") }
                } == "DBus.Error.InvalidArgs")
            #expect(
                client.refusal { () throws(BusError) in try client.call("Service", "Nonsense") }
                    == "DBus.Error.UnknownMethod")
            for missing in ["/", "/nowhere", BusClient.root + "/collection/nothing", BusClient.root + "/prompt/p9"] {
                #expect(
                    client.refusal { () throws(BusError) in
                        _ = try client.call("DBus.Properties", "GetAll", at: missing) { message throws(BusError) in
                            try message.append("")
                        }
                    } == "Secret.Error.NoSuchObject", "\(missing)")
            }
        }
    }

    @Test func `the login collection and another one that is locked are not deleted`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            try client.create(["k": "v"])
            let delete = { (path: String) in
                client.refusal { () throws(BusError) in try client.delete(path, "Collection") }
            }
            #expect(delete(BusClient.login) == "DBus.Error.NotSupported")
            let made = try client.makeCollection("Work", alias: "")
            try client.lock()
            #expect(delete(made) == "Secret.Error.IsLocked")
            #expect(delete(BusClient.login) == "Secret.Error.IsLocked")
            try world.house.unlockNow()
            #expect(delete(made) == "")
            #expect(try client.search(["k": "v"]).unlocked.count == 1)
        }
    }

    @Test func `a name that another process has is left to it, and is said`() async throws {
        try await aside {
            let world = try ServiceWorld()
            do throws(DoorError) {
                _ = try SecretService.start([.secretService], at: world.bus.address, house: world.house) { _ in }
                Issue.record("the name was taken")
            } catch {
                guard case .nameTaken("org.freedesktop.secrets", getpid(), _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            #expect(try world.client().alias("default") == BusClient.login)
        }
    }

    @Test func `a bus that goes away is noticed`() async throws {
        try await aside {
            let world = try ServiceWorld()
            #expect(try world.client().alias("default") == BusClient.login)
            world.bus.end()
            #expect(world.ended.wait(timeout: Patience.deadline) == .success)
            #expect(throws: DoorError.noBus) {
                _ = try SecretService.start([.secretService], at: world.bus.address, house: world.house) { _ in }
            }
        }
    }
}

extension BusClient {
    static let session = root + "/collection/session"

    func makeCollection(_ label: String, alias: String) throws(BusError) -> String {
        let answer = try call("Service", "CreateCollection") { message throws(BusError) in
            try message.append([("org.freedesktop.Secret.Collection.Label", .text(label))])
            try message.append(alias)
        }
        return try answer.path()
    }
}
