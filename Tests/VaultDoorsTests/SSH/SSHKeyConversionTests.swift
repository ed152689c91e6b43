// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSSHAgent

/// Key files of ssh-keygen(1) and PKCS#8, each made of the other.
struct SSHKeyConversionTests {
    private func der(_ name: String) throws -> [UInt8] {
        [UInt8](hexadecimal: try Vectors.table("cxf/ssh-keys.txt")[name] ?? "")
    }

    private func key(_ der: [UInt8]) -> PKCS8PrivateKey? { PKCS8PrivateKey(der.span) }

    private func file(_ der: [UInt8], comment: String = "c") throws -> Secret? {
        SSHKeyConversion.file(try Secret(bytes: der), comment: comment)
    }

    @Test func `a key that is cut, extended or of another kind is refused`() throws {
        let der = try der("ed25519")
        for length in 0..<der.count { #expect(try file(Array(der[..<length])) == nil) }
        #expect(try file(der + [0]) == nil)
        // P-384 without its point, which no part of the house computes.
        let p384 = try self.der("ecdsa384")
        let place = try #require(key(p384))
        let body: [UInt8] = [0x02, 1, 1, 0x04, 48] + p384[place.secret]
        let inner: [UInt8] = [0x30, UInt8(body.count)] + body
        let head: [UInt8] = [
            2, 1, 0, 0x30, 0x10, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4, 0, 0x22,
        ]
        let rest: [UInt8] = head + [4, UInt8(inner.count)] + inner
        let without: [UInt8] = [0x30, UInt8(rest.count)] + rest
        #expect(key(without)?.kind == .p384 && key(without)?.publicKey == nil)
        #expect(try file(without) == nil)
    }

    @Test(arguments: ["ed25519", "ecdsa256", "ecdsa521", "rsa2048"])
    func `numbers that do not belong together are refused`(_ name: String) throws {
        var der = try der(name)
        let place = try #require(key(der))
        let secret =
            name == "rsa2048" ? RSAKeyNumbers(der.span, in: place.secret, isPrivate: true)?.ranges[2] : place.secret
        der[try #require(secret).upperBound - 2] ^= 1
        if name == "ed25519" {
            // Any seed is a key: the point has to say which.
            let other = try SSHSamples.blob("authority.pub").suffix(32)
            der = [0x30, 0x51, 2, 1, 1] + der[5...] + [0x81, 0x21, 0] + other
        }
        #expect(try file(der) == nil)
    }

    @Test(arguments: SSHSamples.keys) func `each kind of key goes both ways`(_ name: String) throws {
        let original = try Secret(bytes: try SSHSamples.file(name))
        let exported = try #require(SSHKeyConversion.exported(file: original))
        #expect(try exported.key.exposed == der(name))
        let back = try #require(SSHKeyConversion.file(exported.key, comment: exported.comment))
        let (first, second) = (
            try SSHPrivateKey.commented(bytes: original.exposed), try SSHPrivateKey.commented(bytes: back.exposed)
        )
        #expect(first.key.publicKey == second.key.publicKey && first.comment == second.comment)
        // The same file each time: a second import finds nothing new.
        #expect(SSHKeyConversion.file(exported.key, comment: exported.comment)?.exposed == back.exposed)
    }

    @Test func `a file with a passphrase is not converted`() throws {
        #expect(SSHKeyConversion.exported(file: try Secret(bytes: try SSHSamples.file("encrypted"))) == nil)
    }

    @Test(.enabled(if: SSHDoorWorld.hasClients), arguments: SSHSamples.keys)
    func `ssh-keygen reads the file that results`(_ name: String) async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let file = try #require(try self.file(der(name), comment: "a comment"))
            try world.directory.write(file.exposed, to: "key")
            let path = world.directory.path.appending("key").string
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let shown = try world.run("ssh-keygen", "-y", "-f", "key")
            let line = String(decoding: try SSHSamples.file(name + ".pub"), as: UTF8.self)
            let parts = line.split(separator: " ").prefix(2).joined(separator: " ")
            #expect(shown.status == 0 && shown.output == parts + " a comment\n", "\(shown)")
        }
    }
}

extension SSHPrivateKey {
    fileprivate static func commented(bytes: [UInt8]) throws -> (key: SSHPrivateKey, comment: String) {
        try commented(file: bytes.span)
    }
}
