// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import VaultCLI

/// The messages for nearly correct input.
struct UsageTests {
    private static func shellWithVault() throws -> Shell {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass; export VAULT_PASSPHRASE_FILE=pass
            echo s3cret | vault add Bank ada; echo x | vault add example.com; echo x | vault add shop.example
            echo x | vault set Bank ada --field secretanswer
            """)
        return shell
    }

    @Test func `names are compared without their capitals, by a few changes, and as parts`() {
        let names = ["Bank", "example.com", "example.org", "shop.example", "a"]
        #expect(Suggestion.names(like: "bank", among: names) == ["Bank"])
        #expect(Suggestion.names(like: "exmple.com", among: names) == ["example.com"])
        #expect(Suggestion.names(like: "shop", among: names) == ["shop.example"])
        #expect(Suggestion.names(like: "example", among: names) == ["example.com", "example.org", "shop.example"])
        #expect(Suggestion.names(like: "quite something else", among: names) == [])
        #expect(Suggestion.names(like: "", among: names) == [] && Suggestion.names(like: "b", among: names) == [])
        #expect(Suggestion.question(["a\u{1b}", "b", "c"]) == #"did you mean 'a\u{1b}', 'b' or 'c'?"#)
    }

    @Test(arguments: [
        (["get", "bank"], "did you mean 'Bank'?"), (["get", "exmple.com"], "did you mean 'example.com'?"),
        (["otp", "shop"], "did you mean 'shop.example'?"), (["get", "Bank", "eve"], "its accounts: 'ada'"),
        (["read", "vault://bank/ada"], "did you mean 'Bank'?"),
        (["get", "Bank", "--field", "secretanswr"], "did you mean 'secretanswer'?"),
        (["get", "Bank", "--field", "pin"], "its fields: 'secretanswer'"),
        (["get", "Bank", "--attr", "secretanswer"], "it is the name of a field: --field"),
        (["get", "Bank", "--attr", "acount"], "did you mean 'account'?"),
    ])
    func `at a terminal a name that is nearly right is answered with the right one`(
        command: [String], hint: String
    ) throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(command + ["--passphrase-file", "pass"], in: shell)
        #expect(terminal.end() == 10)
        #expect(terminal.screen.contains("vault: hint: \(hint)\r\n"), "\(terminal.screen)")
    }

    @Test func `a script hears of a missing item by the code alone`() throws {
        let result = try Self.shellWithVault().run("vault get bank --passphrase-file pass")
        #expect(result.status == 10 && result.error == "vault: error: no such item\n")
    }

    @Test(arguments: [
        ("get --nonsense", "unknown option '--nonsense'", "vault help get"),
        ("get --nonsense=s3cret", "unknown option '--nonsense'", "vault help get"),
        ("get --S3cret", "unknown option", "vault help get"),
        ("slot add frob", "not a value for an argument", "vault help slot add"),
        ("slot --vault v surplus", "unexpected argument", "vault help slot"),
        ("slot frob", "no such command", "vault help slot"), ("frob", "no such command", "vault help"),
    ])
    func `what is not understood is named if it can be no secret, with the help of its command`(
        command: String, message: String, help: String
    ) throws {
        let result = try Shell().run("vault \(command)")
        #expect(result.status == 64)
        #expect(result.error == "vault: error: \(message)\nvault: hint: see '\(help)'\n")
    }

    @Test(arguments: ["get --", "get -", "inject --x", "help get --", "slot list --x", "get a b --"])
    func `an option of any length is unknown at once`(start: String) throws {
        let letters = String((0..<131_000).map { Character(Unicode.Scalar(UInt8(97 + $0 * $0 % 26))) })
        let words = start.split(separator: " ").map(String.init)
        let arguments = words.dropLast() + [words[words.count - 1] + letters]
        // The parser compares an unknown option with each of its own.
        #expect(Suggestion.forLongOption(in: arguments + ["--", "x"])?.message == "unknown option")
        #expect(Suggestion.forLongOption(in: words + ["--label=" + letters, "--", "--" + letters]) == nil)
        let result = try Shell().run("ulimit -t 1; vault \(arguments.joined(separator: " "))")
        #expect(result.status == 64 && result.error.hasPrefix("vault: error: unknown option\n"), "\(result.status)")
        #expect(result.error.utf8.count < 100)
    }

    @Test(arguments: ["/etc/passwd", "notes"])
    func `a file that is not a vault is called that, and nobody is to change its mode`(path: String) throws {
        let result = try Shell().run("echo text > notes; chmod 644 notes; vault get s --vault \(path)")
        let isForeign = path.hasPrefix("/") && getuid() != 0
        #expect(result.status == (isForeign ? 30 : 20))
        #expect(!result.error.contains("chmod"), "\(result.error)")
    }

    @Test func `without a door to open, doors says which there are`() throws {
        let result = try Shell().run("vault doors; vault doors status")
        let lines = result.output.split(separator: "\n")
        #expect(result.status == 0 && lines.count >= 2)
        #expect(Array(lines.prefix(lines.count / 2)) == Array(lines.suffix(lines.count / 2)), "\(result)")
    }

    @Test func `a doctor that was given a wrong passphrase still says what it found`() throws {
        let result = try Shell().run(
            """
            chmod 600 pass other; vault init --kdf interactive --passphrase-file pass 2>/dev/null; mkdir share
            vault remote add file://$PWD/share --passphrase-file pass >/dev/null 2>&1
            vault doctor --passphrase-file other
            """)
        #expect(result.status == 5)
        #expect(result.output.contains("ok    the file and its directory are the user's own"))
        #expect(result.output.contains("fail  cannot check the fleet: wrong passphrase\n"))
    }

    @Test func `additions to an array by several commands at once are all kept`() throws {
        let result = try Shell().run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault unlock --passphrase-file pass 2>/dev/null
            for i in $(seq 12); do
                vault defaults write app list -array-add $i & vault defaults write app map -dict-add $i x &
            done; wait
            vault defaults read app list --json | grep -o '"[0-9]*"' | sort -u | wc -l
            vault defaults read app map --json | grep -o '"[0-9]*"' | sort -u | wc -l; vault agent --stop
            """)
        #expect(result.output == "12\n12\n", "\(result)")
    }

    @Test func `a terminal's clipboard is overwritten when the time is over`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(
            ["-c", "vault copy Bank --clear-after 1s --passphrase-file pass; read -r _"], in: shell,
            program: "/bin/bash")
        try terminal.wait(for: "\u{1b}]52;c;\(Data("s3cret".utf8).base64EncodedString())\u{07}")
        try terminal.wait(for: "is overwritten in 1 s")
        try terminal.wait(for: "\u{1b}]52;c;IA==\u{07}")
        terminal.type("\n")
        #expect(terminal.end() == 0)
    }

    @Test func `a long list in a help goes on below its text, within the width`() throws {
        let lines = try Shell().run("vault help import").output.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("  csv ") })
        let list = lines[start...].prefix { $0.hasPrefix("  ") }
        #expect(list.count > 5 && lines.allSatisfy { $0.count <= 80 })
        let indent = try #require(list.first?.dropFirst(5).firstIndex { $0 != " " })
        #expect(list.dropFirst().allSatisfy { $0[..<indent].hasSuffix("  ") }, "\(list)")
    }
}
