// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VaultSSHAgent

struct SSHRightsTests {
    @Test func `rules that come while the door serves are for the programs behind it`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            let client = try world.connect()
            #expect(client.ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
            #expect(try world.run("ssh-add", "-l").status == 0)
            try world.house.rule("{\"executable\": \"/usr/bin/ssh-add\", \"access\": \"none\"}")
            try world.lockNow()
            try world.house.unlockNow()
            #expect(try world.run("ssh-add", "-l").status == 1)
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).count == 1)
        }
    }
}
