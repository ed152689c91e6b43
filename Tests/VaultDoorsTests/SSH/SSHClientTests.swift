// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto
import VaultDoorKit

@testable import VaultSSHAgent

/// OpenSSH's own programs.
@Suite(.enabled(if: SSHDoorWorld.hasClients)) struct SSHClientTests {
    @Test(arguments: [false, true]) func `ssh-add adds, lists, tries and removes keys and certificates`(
        keepsKeys: Bool
    ) async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: keepsKeys)
            try world.copySamples(
                SSHSamples.keys.flatMap { [$0, $0 + ".pub"] } + SSHSamples.certified.map { $0 + "-cert.pub" }
                    + ["rsa1024"])
            for name in SSHSamples.keys {
                #expect(try world.run("ssh-add", "-q", name) == (0, ""))
                #expect(try world.run("ssh-add", "-T", name + ".pub") == (0, ""))
            }
            #expect(try world.run("ssh-add", "rsa1024").status == 1)
            let listed = try world.run("ssh-add", "-l").output
            #expect(listed.split(separator: "\n").count == 9)
            #expect(listed.contains("SHA256:6qXDKf6vyOVBXaHO61kbFBFLoan3Otd9O9cCiqBDgWA ada@example.com (ED25519)"))
            #expect(listed.contains("(ED25519-CERT)"))
            let keys = try world.run("ssh-add", "-L").output
            #expect(keys.contains(String(decoding: try SSHSamples.file("rsa2048.pub"), as: UTF8.self)))
            let removed = try world.run("ssh-add", "-d", "ed25519")
            #expect(removed.status == 0)
            #expect(removed.output.split(separator: "\n").count == 2)
            #expect(try world.run("ssh-add", "-T", "ed25519.pub").status == 1)
            #expect(try world.run("ssh-add", "-D").status == 0)
            #expect(try world.run("ssh-add", "-l").status == (keepsKeys ? 0 : 1))
        }
    }

    @Test func `ssh-keygen signs by each key of the vault, and verifies`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            try world.copySamples(SSHSamples.keys.flatMap { [$0, $0 + ".pub"] })
            for name in SSHSamples.keys {
                try world.run("ssh-add", "-q", name)
                try FileManager.default.removeItem(atPath: world.directory.path.appending(name).string)
                let signed = try world.run("ssh-keygen", "-Y", "sign", "-f", name + ".pub", "-n", "file", input: "text")
                #expect(signed.status == 0, "\(signed)")
                let start = signed.output.range(of: "-----BEGIN")
                let signature = try #require(start.map { String(signed.output[$0.lowerBound...]) })
                try world.directory.write(Array(signature.utf8), to: "signature")
                try world.directory.write(
                    Array("ada ".utf8) + SSHSamples.file(name + ".pub"), to: "allowed")
                let verify = ["-Y", "verify", "-f", "allowed", "-I", "ada", "-n", "file", "-s", "signature"]
                #expect(try world.run(["ssh-keygen"] + verify, input: "text").status == 0)
                #expect(try world.run(["ssh-keygen"] + verify, input: "other").status != 0)
            }
        }
    }

    @Test func `ssh-add locks and unlocks, and has keys confirmed`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            try world.copySamples(["ed25519", "ed25519.pub", "host", "host.pub"])
            try world.run("ssh-add", "-q", "-c", "-t", "600", "ed25519")
            #expect(try world.run("ssh-add", "-T", "ed25519.pub").status == 1)
            world.house.isAsked(to: .types)
            #expect(try world.run("ssh-add", "-T", "ed25519.pub").status == 0)
            #expect(world.house.asked.last?.contains("'ssh-add'") == true)
            world.house.isAsked(to: .dismisses)
            #expect(try world.run("ssh-add", "-T", "ed25519.pub").status == 1)
            try world.says("pass")
            #expect(try world.run("ssh-add", "-x").status == 0)
            #expect(try world.run("ssh-add", "-l").status == 1)
            try world.says("word")
            #expect(try world.run("ssh-add", "-X").status == 1)
            try world.says("pass")
            #expect(try world.run("ssh-add", "-X").status == 0)
            #expect(try world.run("ssh-add", "-l").status == 0)
            // A key restricted to one host signs for no other.
            try world.directory.write(Array("h ".utf8) + SSHSamples.file("host.pub"), to: "known")
            try world.run("ssh-add", "-D")
            #expect(try world.run("ssh-add", "-q", "-H", "known", "-h", "h", "ed25519") == (0, ""))
            #expect(try world.run("ssh-add", "-l").status == 0)
            #expect(try world.run("ssh-add", "-T", "ed25519.pub").status == 1)
        }
    }
}
