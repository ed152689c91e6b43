// SPDX-License-Identifier: Apache-2.0
import CBus
import Foundation
import Synchronization
import TestSupport
import Testing
import Vault

@testable import VaultBus
@testable import VaultSecretService

/// Secrets of sandboxed applications, over the portal.
@Suite(.enabled(if: PrivateBus.isThere)) struct PortalTests {
    private struct Answer: Equatable {
        let response: UInt32
        let bytes: [UInt8]
    }

    private static func retrieve(_ application: String, _ client: BusClient) throws(BusError) -> Answer {
        let pipe = Pipe()
        let message = try client.connection.call(
            BusMember(interface: Portal.interface, name: "RetrieveSecret"), at: Portal.path,
            of: "org.freedesktop.impl.portal.desktop.vault"
        ) { message throws(BusError) in
            try message.append(path: "/org/freedesktop/portal/desktop/request/1_1/t")
            try message.append(application)
            var descriptor = pipe.fileHandleForWriting.fileDescriptor
            guard cbus_append(message.message, CChar(bitPattern: UInt8(ascii: "h")), &descriptor) >= 0 else {
                throw .malformed
            }
            try message.append([] as BusProperties)
        }
        let response = try message.number()
        try? pipe.fileHandleForWriting.close()
        let bytes = try? pipe.fileHandleForReading.readToEnd()
        return Answer(response: response, bytes: Array(bytes ?? Data()))
    }

    @Test func `an application has one secret for ever, and another one another`() async throws {
        try await aside {
            let world = try ServiceWorld(portal: true)
            let client = try world.client()
            let first = try Self.retrieve("org.example.App", client)
            #expect(first.response == 0 && first.bytes.count == 64)
            #expect(try Self.retrieve("org.example.App", client) == first)
            let other = try Self.retrieve("org.example.Other", client)
            #expect(other.response == 0 && other.bytes.count == 64 && other.bytes != first.bytes)
            // The item is in gnome-keyring's form.
            let found = try client.search(["app_id": "org.example.App"]).unlocked
            #expect(found.count == 1)
            #expect(
                client.refusal { () throws(BusError) in _ = try Self.retrieve("", client) }
                    == "DBus.Error.InvalidArgs")
        }
    }

    @Test func `an application gets the secret that another keyring had for it`() async throws {
        try await aside {
            let world = try ServiceWorld(portal: true)
            let client = try world.client()
            try client.create(["app_id": "org.example.App"], "of another keyring")
            #expect(
                try Self.retrieve("org.example.App", client)
                    == Answer(response: 0, bytes: Array("of another keyring".utf8)))
        }
    }

    @Test func `an application whose person does not unlock the vault gets nothing`() async throws {
        try await aside {
            let world = try ServiceWorld(isUnlocked: false, portal: true)
            let client = try world.client()
            #expect(try Self.retrieve("org.example.App", client) == Answer(response: 1, bytes: []))
            world.house.isAsked(to: .dismisses)
            #expect(try Self.retrieve("org.example.App", client) == Answer(response: 1, bytes: []))
            world.house.isAsked(to: .types)
            let other = try world.client()
            // The person has just declined for this process.
            #expect(try Self.retrieve("org.example.App", other) == Answer(response: 1, bytes: []))
            try world.house.unlockNow()
            #expect(try Self.retrieve("org.example.App", client).bytes.count == 64)
        }
    }

    @Test func `many that ask at once for a new secret get the same one`() async throws {
        try await aside {
            let world = try ServiceWorld(portal: true)
            let clients = try (0..<8).map { _ in try world.client() }
            nonisolated(unsafe) let all = clients
            let answers = Mutex<[Answer]>([])
            try atOnce(8) { index in
                let answer = try? Self.retrieve("org.example.App", all[index])
                answers.withLock { $0 += [answer].compactMap { $0 } }
            }
            let got = answers.withLock { $0 }
            #expect(got.count == 8 && got.allSatisfy { $0 == got[0] && $0.bytes.count == 64 })
        }
    }
}
