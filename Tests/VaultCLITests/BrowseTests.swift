// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import TestSupport
import Testing

/// The full-screen command, at a terminal.
struct BrowseTests {
    private static func shell() throws -> Shell {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass
            echo main-s3cret | vault set github.com ada --passphrase-file pass
            echo field-s33d | vault set github.com ada --field otp --passphrase-file pass
            echo other | vault set mail bob --passphrase-file pass
            """
        )
        return shell
    }

    private static let program = ["browse", "--passphrase-file", "pass"]
    /// The escape sequence that returns a terminal to its main screen.
    private static let firstScreen = "\u{1b}[?1049l"

    @Test func `without a terminal it says so at once`() throws {
        let result = try Self.shell().run("setsid vault browse --passphrase-file pass < /dev/null")
        #expect(result.status == 64 && result.error.contains("browsing needs a terminal"))
    }

    @Test(arguments: ["xterm-256color", "vt100"])
    func `what is shown of a secret is off the screen when it ends`(_ terminalType: String) throws {
        let shell = try Self.shell()
        let terminal = try PseudoTerminal(
            ["TERM=\(terminalType)", Shell.commands + "/vault"] + Self.program, in: shell, program: "/usr/bin/env",
            columns: 80)
        try terminal.wait(for: "Search: ")
        try terminal.wait(for: "github.com")
        terminal.type("git\r")
        try terminal.wait(for: "main-s3cret")
        try terminal.wait(for: "field-s33d")
        terminal.clear()
        terminal.type("\u{3}")
        #expect(terminal.end() == 0)
        #expect(!terminal.screen.contains("s3cret") && !terminal.screen.contains("s33d"))
        // The screen is overwritten before the return to the main screen, for terminals that have only one.
        #expect(terminal.screen.contains("\u{1b}[H") || terminal.screen.contains("\u{1b}[2J"))
        #expect(terminal.isEchoing)
        if terminalType != "vt100" { #expect(terminal.screen.contains(Self.firstScreen)) }
    }

    @Test func `a seed of one-time passwords is not copied`() throws {
        let shell = try Self.shell()
        _ = try shell.run(
            "echo 'otpauth://totp/x?secret=JBSWY3DPEHPK3PXP' | vault set seeds eve --passphrase-file pass")
        let terminal = try PseudoTerminal(
            ["TERM=xterm", Shell.commands + "/vault"] + Self.program, in: shell, program: "/usr/bin/env", columns: 120)
        try terminal.wait(for: "seeds")
        terminal.type("see\u{19}")
        try terminal.wait(for: "a seed of one-time passwords")
        terminal.type("\u{3}")
        #expect(terminal.end() == 0)
    }

    /// Waits for an exit code of a command: the browser redraws only differences, so the screen may not contain a whole
    /// text.
    private func wait(for status: Int32, from command: String, in shell: Shell) throws {
        try Patience.look { try shell.run(command).status == status }
        #expect(try shell.run(command).status == status, "\(command)")
    }

    @Test func `an item is deleted, brought back, and given a new secret`() throws {
        let shell = try Self.shell()
        let terminal = try PseudoTerminal(
            ["TERM=xterm", Shell.commands + "/vault"] + Self.program, in: shell, program: "/usr/bin/env", columns: 80)
        try terminal.wait(for: "github.com")
        terminal.type("git\u{4}y")
        try wait(for: 10, from: "vault get github.com ada --passphrase-file pass", in: shell)
        terminal.type("\u{1a}")
        try wait(for: 0, from: "vault get github.com ada --passphrase-file pass", in: shell)
        #expect(try shell.run("vault get github.com ada --field otp --passphrase-file pass").output == "field-s33d")
        terminal.type("\u{5}")
        try terminal.wait(for: "Secret: ")
        #expect(!terminal.isEchoing)
        terminal.type("new\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("new\n")
        try wait(for: 0, from: "[ \"$(vault get github.com ada --passphrase-file pass)\" = new ]", in: shell)
        terminal.type("\u{3}")
        #expect(terminal.end() == 0)
        #expect(try shell.run("vault get github.com ada --passphrase-file pass").output == "new")
        #expect(!terminal.screen.contains("new\n"))
    }

    @Test func `it ends when the agent locks the vault, with nothing on the screen`() throws {
        let shell = try Self.shell()
        #expect(try shell.run("vault unlock --passphrase-file pass").status == 0)
        let terminal = try PseudoTerminal(
            ["TERM=xterm", Shell.commands + "/vault", "browse"], in: shell, program: "/usr/bin/env", columns: 80)
        try terminal.wait(for: "github.com")
        terminal.type("git\r")
        try terminal.wait(for: "main-s3cret")
        terminal.clear()
        #expect(try shell.run("vault lock").status == 0)
        #expect(terminal.end() == 4)
        #expect(!terminal.screen.contains("s3cret") && terminal.isEchoing)
        #expect(terminal.screen.contains("the vault is locked"))
    }

    @Test func `a key that meets a lock ends it, and begins no session without what could be taken back`() throws {
        let shell = try Self.shell()
        #expect(try shell.run("vault unlock --passphrase-file pass").status == 0)
        let terminal = try PseudoTerminal(
            ["TERM=xterm", Shell.commands + "/vault", "browse"], in: shell, program: "/usr/bin/env", columns: 80)
        try terminal.wait(for: "github.com")
        // The key arrives before the notice of the lock.
        terminal.signal(SIGSTOP)
        #expect(try shell.run("vault lock").status == 0)
        terminal.type("\r")
        terminal.signal(SIGCONT)
        #expect(terminal.end() == 4)
        #expect(terminal.screen.contains("the vault is locked") && !terminal.screen.contains("Passphrase of"))
    }

    @Test func `what another process changes is seen, and a vault that goes away ends it`() throws {
        let shell = try Self.shell()
        let terminal = try PseudoTerminal(
            ["TERM=xterm", Shell.commands + "/vault"] + Self.program, in: shell, program: "/usr/bin/env", columns: 80)
        try terminal.wait(for: "github.com")
        _ = try shell.run("echo x | vault set added-meanwhile x --passphrase-file pass")
        try terminal.wait(for: "added-meanwhile")
        _ = try shell.run("mv .local/share/vault/default.vault away")
        #expect(terminal.end() == 16)
        #expect(terminal.isEchoing)
    }
}
