// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

/// The command's view of items that programs keep with Apple's calls.
struct FindClassTests {
    /// Returns a distinguished name with a single attribute, a common name of fewer than 100 bytes.
    private static func name(_ text: String) -> AttributeValue {
        let value = [0x0c, UInt8(text.utf8.count)] + Array(text.utf8)
        let pair = [0x06, 3, 0x55, 4, 3] + value
        let sequence = [0x30, UInt8(pair.count)] + pair
        return .data([0x31, UInt8(sequence.count)] + sequence)
    }

    private static func shell(subject: AttributeValue) throws -> Shell {
        let shell = try Shell()
        #expect(try shell.run("chmod 600 pass; vault init --kdf interactive --passphrase-file pass").status == 0)
        let path = shell.home.path.appending(".local/share/vault/default.vault")
        let vault = try Vault.open(
            at: path, unlockingWith: .of("correct horse battery staple"), accessGroups: .standard)
        try vault.add(
            Item(
                .certificate(issuer: [1], serialNumber: [1]),
                attributes: [.publicKeyHash: .data([7]), .subject: subject, .label: "ada"], secret: "certificate"))
        try vault.add(Item(.certificate(issuer: [1], serialNumber: [2]), secret: "other"))
        try vault.add(
            Item(
                .key(applicationLabel: [7], applicationTag: "tag"),
                attributes: [.keyClass: 1, .isPrivate: 1], secret: "key-s3cret"))
        vault.close()
        return shell
    }

    private static func find(_ arguments: String, in shell: Shell) throws -> Shell.Result {
        try shell.run("vault find \(arguments) --passphrase-file pass")
    }

    @Test func `what is no class is a mistake of the caller's`() throws {
        let shell = try Shell()
        let result = try shell.run("vault find --class identities")
        #expect(result.status == 64 && result.error.contains("--class"))
    }

    @Test func `an identity is a certificate and its key, under the subject's name`() throws {
        let shell = try Self.shell(subject: Self.name("Ada Lovelace"))
        let found = try Self.find("--class identity", in: shell)
        #expect(found.output == "Ada Lovelace\t\tada\tcertificate\ntag\t\t\tkey\n" && found.status == 0)
        #expect(try Self.find("--class certificate", in: shell).output.split(separator: "\n").count == 2)
        let json = try Self.find("--class identity --json", in: shell).output
        #expect(json.contains("\"service\":\"Ada Lovelace\"") && !json.contains("s3cret"))
        #expect(try Self.find("--class identity --json --reveal", in: shell).output.contains("key-s3cret"))
        #expect(try Self.find("--class identity --label eve", in: shell).status == 10)
    }

    @Test(arguments: ["ada\u{1b}[2J\u{7}eve", "ada\u{202e}eve", "ada\neve"])
    func `a name that moves the cursor is shown as what it is`(_ name: String) throws {
        let shell = try Self.shell(subject: Self.name(name))
        for arguments in ["--class identity", "--class identity --json"] {
            let output = try Self.find(arguments, in: shell).output
            #expect(output.contains("ada") && output.contains("eve") && !output.contains(name))
            #expect(!output.contains("\u{1b}") && !output.contains("\u{202e}") && !output.contains("\u{7}"))
        }
    }

    @Test func `a subject that is no name is shown as its bytes`() throws {
        let shell = try Self.shell(subject: .data([0x31, 0xff, 0x30]))
        #expect(try Self.find("--class identity", in: shell).status == 0)
    }
}
