// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgentServer

@testable import VaultSSHAgent
import VaultDoorKit

/// Keys that a door serves to no client, and state that it does not keep for all clients.
struct SSHBoundTests {
    @Test func `a socket for keys that go to a vault shows none of it, and signs nothing`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            #expect(try world.connect().ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
            let path = world.directory.path.appending("run").appending("add.sock")
            let socket = try AgentSocket.make(path)
            let store = try #require(try world.house.agent(for: nil))
            let door = try #require(SSHDoor(socket.descriptor, store))
            defer { door.close() }
            let client = try SSHClient(path)
            #expect(client.ask([11]) == [12, 0, 0, 0, 0])
            #expect(client.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
            #expect(client.ask(try SSHSamples.adding("ecdsa256")) == SSHSamples.success)
            #expect(client.ask(try SSHSamples.signing("ecdsa256.pub")) == SSHSamples.failure)
            #expect(client.ask(try SSHSamples.removing("ecdsa256.pub")) == SSHSamples.success)
            #expect(try store.allMatching(Query(.genericPassword, service: "ssh")).count == 1)
        }
    }

    @Test func `sixteen wait for a person at once, and more are refused`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            world.house.isAsked(to: .hesitates)
            let confirmed = try SSHSamples.adding("ed25519", constraints: [2])
            #expect(try world.connect().ask(confirmed) == SSHSamples.success)
            let (path, request) = (world.path, try SSHSamples.signing("ed25519.pub"))
            let answered = DispatchSemaphore(value: 0)
            let workers = (0..<20).map { _ in
                Worker {
                    let answer = try SSHClient(path).ask(request)
                    answered.signal()
                    return answer
                }
            }
            for _ in 0..<4 { #expect(answered.wait(timeout: Patience.deadline) == .success) }
            #expect(answered.wait(timeout: .now()) == .timedOut)
            world.door?.close()
            let answers = try workers.map { try $0.value() }
            #expect(answers.count { $0 == SSHSamples.failure } >= 4)
            #expect(answers.allSatisfy { $0 == nil || $0 == SSHSamples.failure })
        }
    }
}
