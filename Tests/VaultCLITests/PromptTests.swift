// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

struct PromptTests {
    private static func shellWithVault() throws -> Shell {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass; echo s3cret |
                vault add s ada --passphrase-file pass
            """
        )
        return shell
    }

    @Test func `init asks twice, and nothing that is typed appears`() throws {
        let shell = try Shell()
        let terminal = try PseudoTerminal(["init", "--kdf", "interactive"], in: shell)
        try terminal.wait(for: "New passphrase: ")
        #expect(!terminal.isEchoing)
        terminal.type("sesame\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("sesame\n")
        // The warning about a weak passphrase precedes the vault's creation. The prompt repeats until the answer is yes
        // or no.
        try terminal.wait(for: "Take it all the same?")
        #expect(try shell.run("vault status").status == 16)
        terminal.type("maybe\n")
        try terminal.wait(for: "Please answer yes or no.")
        terminal.type("y\n")
        try terminal.wait(for: "Make a recovery code")
        terminal.type("n\n")
        try terminal.wait(for: "Leave the vault unlocked")
        terminal.type("n\n")
        #expect(terminal.end() == 0)
        #expect(try shell.run("vault status | grep -c 'agent.*locked'").output == "0\n")
        #expect(terminal.isEchoing)
        #expect(!terminal.screen.contains("sesame"))
        #expect(terminal.screen.contains("cannot be recovered"))
        #expect(try shell.run("printf 'sesame' | vault verify --passphrase-fd 0").status == 0)
    }

    @Test func `init leaves the vault unlocked for a person who wants that, and asks for no other agent`() throws {
        let shell = try Shell()
        func make(_ path: String, _ answer: String?) throws -> String {
            let terminal = try PseudoTerminal(["init", "--kdf", "interactive", "--vault", path], in: shell)
            for question in ["New passphrase: ", "Once more: "] {
                try terminal.wait(for: question)
                terminal.type("seventeen purple bicycles under the bridge\n")
            }
            try terminal.wait(for: "Make a recovery code")
            terminal.type("n\n")
            if let answer {
                try terminal.wait(for: "Leave the vault unlocked")
                terminal.type(answer)
            }
            #expect(terminal.end() == 0)
            return terminal.screen
        }
        #expect(try make("first", "y\n").contains("'vault lock' locks it"))
        #expect(try shell.run("echo s3cret | vault add s --vault first; vault get s --vault first").output == "s3cret")
        // The agent serves the first vault.
        #expect(try !make("second", nil).contains("Leave the vault unlocked"))
    }

    @Test func `several lines are typed or pasted unseen, and end with Ctrl-D`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["add", "key", "--multiline", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "on a line of its own:")
        #expect(!terminal.isEchoing)
        terminal.type("-----BEGIN KEY-----\nsesame\n\n")
        terminal.type("-----END KEY-----\n")
        terminal.type("\u{4}")
        try terminal.wait(for: "read 4 lines")
        #expect(terminal.end() == 0)
        #expect(!terminal.screen.contains("sesame") && !terminal.screen.contains("END KEY"))
        let read = try shell.run("vault get key --passphrase-file pass")
        #expect(read.output == "-----BEGIN KEY-----\nsesame\n\n-----END KEY-----")
    }

    @Test func `what is in clear leaves its file after a yes, and stays after a no`() throws {
        let shell = try Self.shellWithVault()
        try shell.home.write(Array("machine a.example login ada password pw\n".utf8), to: ".netrc")
        for (answer, isThere) in [("n\n", true), ("y\n", false)] {
            let terminal = try PseudoTerminal(["import", "netrc", "--passphrase-file", "pass"], in: shell)
            try terminal.wait(for: "Take one login out of")
            terminal.type(answer)
            #expect(terminal.end() == 0)
            #expect((try shell.run("test -e .netrc").status == 0) == isThere)
        }
        #expect(try shell.run("vault get a.example ada --passphrase-file pass").output == "pw")
    }

    @Test func `the passphrase of a file has three tries`() throws {
        let shell = try Self.shellWithVault()
        let file = Vectors.directory + "/import/bitwarden-pbkdf2.json"
        let terminal = try PseudoTerminal(["import", "bitwarden", file, "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "bitwarden-pbkdf2.json: ")
        #expect(!terminal.isEchoing)
        terminal.type("wrong\n")
        try terminal.wait(for: "bitwarden-pbkdf2.json: ", times: 2)
        #expect(terminal.screen.contains("That is not the passphrase."))
        terminal.type("correct horse\n")
        try terminal.wait(for: "added 1")
        #expect(terminal.end() == 0)
    }

    @Test func `a question stays on the screen while its answer takes longer than work that shows its progress`() throws
    {
        let shell = try Self.shellWithVault()
        let file = Vectors.directory + "/import/bitwarden-pbkdf2.json"
        let terminal = try PseudoTerminal(["import", "bitwarden", file, "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "bitwarden-pbkdf2.json: ")
        // The progress indicator appears after the first second.
        #expect(throws: PseudoTerminal.TimedOut.self) { try terminal.wait(for: "reading", within: .milliseconds(1500)) }
        #expect(terminal.screen.hasSuffix("bitwarden-pbkdf2.json: "))
        terminal.type("correct horse\n")
        #expect(terminal.end() == 0)
    }

    @Test func `a passphrase that is mistyped is asked for again, and makes no vault after the third time`() throws {
        let shell = try Shell()
        let terminal = try PseudoTerminal(["init", "--kdf", "interactive"], in: shell)
        for attempt in 1...3 {
            try terminal.wait(for: "New passphrase: ", times: attempt)
            #expect(!terminal.isEchoing)
            terminal.type("one\n")
            try terminal.wait(for: "Once more: ", times: attempt)
            terminal.type("two \(attempt)\n")
        }
        #expect(terminal.end() == 3)
        #expect(terminal.screen.ranges(of: "The two differ: try again.").count == 2)
        #expect(terminal.screen.contains("error: the two differ"))
        #expect(!terminal.screen.contains("two 1"))
        #expect(try shell.run("vault status").status == 16)
    }

    @Test func `each new secret that is typed wrong is asked for again`() throws {
        let shell = try Self.shellWithVault()
        let old = ["--passphrase-file", "pass"]
        for (arguments, prompt) in [
            (["slot", "add", "passphrase"], "New passphrase: "), (["add", "typed"], "Secret: "),
            (["backup", "copy", "--own-passphrase"], "Passphrase of the copy: "),
            (["export", "kdbx", "out.kdbx", "--yes"], "Passphrase of the database: "), (["passwd"], "New passphrase: "),
        ] {
            let terminal = try PseudoTerminal(arguments + old, in: shell)
            try terminal.wait(for: prompt)
            terminal.type("new\n")
            try terminal.wait(for: "Once more: ")
            terminal.type("mew\n")
            try terminal.wait(for: prompt, times: 2)
            terminal.type("new\n")
            try terminal.wait(for: "Once more: ", times: 2)
            terminal.type("new\n")
            #expect(terminal.end() == 0, "\(arguments): \(terminal.screen)")
        }
        #expect(try shell.run("printf new | vault get typed --passphrase-fd 0").output == "new")
    }

    @Test func `no passphrase at all is a mistake like another, and the end of input is none`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["passwd", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "New passphrase: ")
        terminal.type("\n")
        try terminal.wait(for: "New passphrase: ", times: 2)
        terminal.type("new\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("\u{4}")
        #expect(terminal.end() == 3)
        #expect(try shell.run("vault get s --passphrase-file pass").output == "s3cret")
    }

    @Test func `an empty answer to an offer of init takes it`() throws {
        let shell = try Shell()
        let terminal = try PseudoTerminal(["init", "--kdf", "interactive"], in: shell)
        for question in ["New passphrase: ", "Once more: "] {
            try terminal.wait(for: question)
            terminal.type("seventeen purple bicycles under the bridge\n")
        }
        for offer in ["forgotten? [Y/n] ", "ask for the passphrase? [Y/n] "] {
            try terminal.wait(for: offer)
            terminal.type("\n")
        }
        #expect(terminal.end() == 0)
        #expect(terminal.screen.contains("this recovery code opens the vault"))
        #expect(try shell.run("vault slot list | grep -c '^recovery code'; vault add s --generate").output == "1\n")
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, 128 + SIGTERM), (SIGHUP, 128 + SIGHUP), (SIGQUIT, 128 + SIGQUIT)])
    func `a signal at a prompt turns the echo on again and takes effect`(signal: Int32, status: Int32) throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "default.vault: ")
        #expect(!terminal.isEchoing)
        terminal.signal(signal)
        #expect(terminal.end() == status)
        #expect(terminal.isEchoing)
    }

    @Test func `control-C at a prompt ends with 130`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "default.vault: ")
        terminal.type("\u{3}")
        #expect(terminal.end() == 130)
        #expect(terminal.isEchoing)
    }

    @Test func `the end of input at a prompt is a no`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "default.vault: ")
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
        #expect(terminal.screen.hasSuffix("s3cret\r\n"))
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
        try terminal.wait(for: "Delete s, account ada? [y/N] ")
        terminal.type(answer)
        #expect(terminal.end() == status)
        #expect(try shell.run("vault find --passphrase-file pass").output.split(separator: "\n").count == left)
    }

    @Test func `a terminal gets a table`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["find", "--passphrase-file", "pass"], in: shell)
        #expect(terminal.end() == 0)
        // Behind a line of progress, if the derivation takes a second.
        #expect(terminal.screen.hasSuffix("NAME     USER  PLACE  CLASS\r\ns (ada)  ada   s      generic\r\n"))
    }

    @Test func `passwd asks for the old passphrase once and for the new one twice`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["passwd"], in: shell)
        try terminal.wait(for: "default.vault: ")
        terminal.type("correct horse battery staple\n")
        try terminal.wait(for: "New passphrase: ")
        terminal.type("new\n")
        try terminal.wait(for: "Once more: ")
        terminal.type("new\n")
        #expect(terminal.end() == 0)
        #expect(try shell.run("printf new | vault get s --passphrase-fd 0").output == "s3cret")
    }

    @Test func `a passphrase may be typed three times, and then the other ways in are named`() throws {
        let shell = try Self.shellWithVault()
        _ = try shell.run("vault slot add recovery-code --passphrase-file pass")
        for right in [3, 4] {
            let terminal = try PseudoTerminal(["get", "s"], in: shell)
            for attempt in 1...3 {
                try terminal.wait(for: "default.vault: ", times: attempt)
                terminal.type(attempt == right ? "correct horse battery staple\n" : "wrong \(attempt)\n")
            }
            #expect(terminal.end() == (right == 3 ? 0 : 5))
            #expect(
                terminal.screen.contains("Passphrase of \(shell.home.path.string)/.local/share/vault/default.vault: "))
            #expect(
                terminal.screen.contains(
                    right == 3 ? "s3cret" : "other ways in: a recovery code (--recovery-code-file -)"))
            #expect(!terminal.screen.contains("wrong 1"))
        }
    }

    @Test func `a vault that no passphrase opens asks for none`() throws {
        let shell = try Self.shellWithVault()
        let made = try shell.run(
            """
            vault slot add recovery-code --passphrase-file pass > code 2>/dev/null
            vault slot add key-file --new-key-file k --passphrase-file pass 2>/dev/null
            vault slot remove passphrase --yes --recovery-code-file code && chmod 600 code k
            """)
        #expect(made.status == 0, "\(made.error)")
        let terminal = try PseudoTerminal(["get", "s"], in: shell)
        #expect(terminal.end() == 4)
        #expect(!terminal.screen.contains("Passphrase of"))
        #expect(terminal.screen.contains("a recovery code (--recovery-code-file -), a key file (--key-file FILE)"))
        #expect(try shell.run("vault get s --key-file k").output == "s3cret")
    }

    @Test func `questions name what goes`() throws {
        let shell = try Self.shellWithVault()
        _ = try shell.run(
            "for n in $(seq 1234); do mkdir -p f; echo $n > f/$n; done; vault import --files f --passphrase-file pass")
        let all = try PseudoTerminal(["delete", "files", "--all", "--passphrase-file", "pass"], in: shell)
        try all.wait(for: "Delete 1,234 items? [y/N] ")
        all.type("n\n")
        #expect(all.end() == 3)
        let group = try PseudoTerminal(["forget", "--group", "default", "--passphrase-file", "pass"], in: shell)
        try group.wait(for: "Forget the 1,235 items of the group 'default'")
        group.type("n\n")
        #expect(group.end() == 3)
    }

    @Test func `an item that exists is refused before anybody types a secret`() throws {
        let shell = try Self.shellWithVault()
        let terminal = try PseudoTerminal(["add", "s", "ada", "--passphrase-file", "pass"], in: shell)
        #expect(terminal.end() == 11)
        #expect(!terminal.screen.contains("Secret: "))
    }

    /// C1 controls act like escape sequences; direction marks make a terminal show a different text.
    @Test(arguments: ["\u{9b}2J", "\u{9d}0;t\u{9c}", "a\u{202e}b", "\u{7f}"])
    func `what a terminal would obey is not shown to it, and JSON has it escaped`(text: String) throws {
        let shell = try Self.shellWithVault()
        try shell.home.write(Array(text.utf8), to: "secret")
        _ = try shell.run("vault add odd --file secret --label \"$(cat secret)\" --passphrase-file pass")
        for command in [["get", "odd"], ["read", "vault://odd/"]] {
            let refusing = try PseudoTerminal(command + ["--passphrase-file", "pass"], in: shell)
            #expect(refusing.end() == 64)
        }
        for command in [
            "vault get odd --json --reveal", "vault find odd --json --reveal", "vault find odd",
            "vault get odd --attr label",
        ] {
            let terminal = try PseudoTerminal(
                command.split(separator: " ").dropFirst().map(String.init) + ["--passphrase-file", "pass"], in: shell)
            #expect(terminal.end() == 0)
            #expect(
                terminal.screen.unicodeScalars.allSatisfy { !(0x7f...0x9f).contains($0.value) && $0.value != 0x202e },
                "\(command)")
        }
        // The escaped text equals the stored text.
        let json = try shell.run("vault get odd --json --reveal --passphrase-file pass").output
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        #expect(object?["secret"] as? String == text && object?["label"] as? String == text)
    }

    @Test func `a table that is longer than the screen goes through the pager, and a short one does not`() throws {
        let shell = try Self.shellWithVault()
        _ = try shell.run(
            """
            mkdir f; for n in $(seq 30); do echo x > f/$n; done; vault import --files f --passphrase-file pass
            printf '#!/bin/sh\nvault find "$@" --passphrase-file pass\n' > find; chmod +x find
            """)
        for (pager, marks) in [("sed s/^/paged:/", true), ("no-such-pager", false), ("head -1", false)] {
            let terminal = try PseudoTerminal(
                ["PAGER=\(pager)", "./find"], in: shell, program: "/usr/bin/env", columns: 80)
            #expect(terminal.end() == 0)
            #expect(terminal.screen.contains("paged:NAME") == marks, "\(terminal.screen)")
            #expect(terminal.screen.contains("files") != pager.hasPrefix("head"))
        }
        let short = try PseudoTerminal(
            ["PAGER=sed s/^/paged:/", "./find", "ada"], in: shell, program: "/usr/bin/env", columns: 80)
        #expect(short.end() == 0 && short.screen.hasPrefix("NAME"))
    }

    @Test func `a table fits the terminal`() throws {
        let shell = try Self.shellWithVault()
        _ = try shell.run(
            """
            echo x | vault add a-service-with-a-long-name an-account-with-a-long-name --passphrase-file pass \\
                --label 'a label that is long'
            """
        )
        let terminal = try PseudoTerminal(["find", "--passphrase-file", "pass"], in: shell, columns: 40)
        #expect(terminal.end() == 0)
        let lines = terminal.screen.split(separator: "\r\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.count <= 40 }, "\(terminal.screen)")
        #expect(lines[1].hasPrefix("a label"))
    }
}
