// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus

@testable import VaultDoorKit
@testable import VaultSSHAgent
@testable import VaultSecretService

extension SecretService {
    /// Simulates an examination of the client in progress.
    fileprivate func expect(_ name: String) { arriving[name] = [] }
}

/// Clients of the service, and the rights that the agent's rules leave them.
@Suite(.enabled(if: PrivateBus.isThere)) struct RightsTests {
    @Test func `a sandbox that the agent does not see is confined under any rules`() async throws {
        try await aside {
            let world = try ServiceWorld(rules: "{\"unit\": \"x.service\", \"access\": \"none\"}")
            let client = try world.client()
            let path = try client.create(["k": "v"])
            for application in ["org.example.App", ""] {
                let sandbox = try world.sandboxed(application)
                #expect(
                    sandbox.refusal { () throws(BusError) in _ = try sandbox.secret(path) } != "")
                let found = try? sandbox.search(["k": "v"])
                #expect(found.map { $0 == ([], []) } ?? true)
            }
            #expect(try client.secrets([path]) == [path: "s3cret"])
        }
    }

    @Test func `rules that come while the service runs decide anew what its clients see`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            #expect(try client.alias("default") == BusClient.login)
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            try world.house.rule("{\"executable\": \"\(own)\", \"groups\": [\"work\"]}")
            try client.lock()
            try world.house.unlockNow()
            Patience.look { (try? client.alias("default")) == BusClient.root + "/collection/work" }
            #expect(try client.alias("default") == BusClient.root + "/collection/work")
        }
    }

    @Test func `a client that is being looked at keeps no other waiting, and is answered then`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (slow, gone, other) = (try world.client(), try world.client(), try world.client())
            let names = try [slow, gone].map { try #require($0.connection.uniqueName) }
            try world.look { service in for name in names { await service.expect(name) } }
            for client in [slow, gone] {
                for _ in 0..<9 {
                    try client.send("Service", "SearchItems") { message throws(BusError) in
                        try message.append(.texts(["k": "v"]))
                    }
                }
                // A message over the limit is refused at once.
                #expect(try client.answers(1) == ["s"])
            }
            #expect(try other.search(["k": "v"]) == ([], []))
            try world.look { service in
                await service.arrived(names[0], DoorClient(getpid()))
                await service.arrived(names[1], nil)
            }
            #expect(try slow.answers(8) == [String](repeating: "aoao", count: 8))
            #expect(try gone.answers(8) == [String](repeating: "s", count: 8))
            #expect(try slow.search(["k": "v"]) == ([], []))
        }
    }
}
