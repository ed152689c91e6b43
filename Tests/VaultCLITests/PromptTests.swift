// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

struct PromptTests {
    private static func shellWithVault() throws -> Shell {
        let shell = try Shell()
        _ = try shell.run(
            "chmod 600 pass; vault init --kdf interactive --passphrase-file pass; echo s3cret | vault add s ada --passphrase-file pass")
        return shell
    }

    @Test func `init asks twice, and nothing that is typed appears`() throws {
        let shell = try Shell()
        let terminal = try PseudoTerminal(["init", "--kdf", "interactive"], in: shell)
        try terminal.wait(for: "New passphrase: ")
        #expect(!terminal.isEchoing)
        terminal.type("open sesame\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("open sesame\n")
        try terminal.wait(for: "Make a recovery code")
        terminal.type("n\n")
        #expect(terminal.end() == 0)
        #expect(terminal.isEchoing)
        #expect(!terminal.screen.contains("sesame"))
        #expect(terminal.screen.contains("cannot be recovered"))
        #expect(try shell.run("printf 'open sesame' | vault verify --passphrase-fd 0").status == 0)
    }

    @Test func `two different passphrases make no vault`() throws {
        let shell = try Shell()
        let terminal = try PseudoTerminal(["init", "--kdf", "interactive"], in: shell)
        try terminal.wait(for: "New passphrase: ")
        terminal.type("one\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("two\n")
        #expect(terminal.end() == 3)
        #expect(try shell.run("vault status").status == 10)
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, 128 + SIGTERM), (SIGHUP, 128 + SIGHUP), (SIGQUIT, 128 + SIGQUIT)])
    func `a signal at a prompt turns the echo on again and takes effect`(signal: Int32, status: Int32) throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "Passphrase: ")
        #expect(!terminal.isEchoing)
        terminal.signal(signal)
        #expect(terminal.end() == status)
        #expect(terminal.isEchoing)
    }

    @Test func `control-C at a prompt ends with 130`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "Passphrase: ")
        terminal.type("\u{3}")
        #expect(terminal.end() == 130)
        #expect(terminal.isEchoing)
    }

    @Test func `the end of input at a prompt is a no`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "Passphrase: ")
        terminal.type("\u{4}")
        #expect(terminal.end() == 3)
    }

    @Test func `a secret that is typed is asked for twice and ends with no newline`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["add", "typed", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "Secret: ")
        terminal.type("hunter2\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("hunter2\n")
        #expect(terminal.end() == 0)
        #expect(!terminal.screen.contains("hunter2"))
        #expect(try shell.run("vault get typed --passphrase-file pass").output == "hunter2")
    }

    @Test func `a secret on a terminal ends its line, and one that is no text is refused`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s", "--passphrase-file", "pass"], in: shell)
        #expect(terminal.end() == 0)
        #expect(terminal.screen == "s3cret\r\n")
        _ = try shell.run("printf '\\033[2J' | vault add bin --passphrase-file pass")
        let refusing = try PseudoTerminal(["get", "bin", "--passphrase-file", "pass"], in: shell)
        #expect(refusing.end() == 64)
        #expect(!refusing.screen.contains("\u{1b}"))
        let forced = try PseudoTerminal(["get", "bin", "--force", "--passphrase-file", "pass"], in: shell)
        #expect(forced.end() == 0)
        #expect(forced.screen.contains("\u{1b}[2J"))
    }

    @Test(arguments: [("n\n", Int32(3), 1), ("\n", 3, 1), ("y\n", 0, 0)])
    func `a delete asks, and does what it is told`(answer: String, status: Int32, left: Int) throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["delete", "s", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "Delete 1 item? [y/N] ")
        terminal.type(answer)
        #expect(terminal.end() == status)
        #expect(try shell.run("vault find --passphrase-file pass").output.split(separator: "\n").count == left)
    }

    @Test func `a terminal gets a table`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["find", "--passphrase-file", "pass"], in: shell)
        #expect(terminal.end() == 0)
        #expect(terminal.screen == "SERVICE  ACCOUNT  LABEL  CLASS\r\ns        ada             generic\r\n")
    }

    @Test func `passwd asks for the old passphrase once and for the new one twice`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["passwd"], in: shell)
        try terminal.wait(for: "Current passphrase: ")
        terminal.type("correct horse battery staple\n")
        try terminal.wait(for: "New passphrase: ")
        terminal.type("new\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("new\n")
        #expect(terminal.end() == 0)
        #expect(try shell.run("printf new | vault get s --passphrase-fd 0").output == "s3cret")
    }
}
