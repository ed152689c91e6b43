// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// A command whose output is masked, at a terminal.
struct MaskedRunTests {
    private static func shell() throws -> Shell {
        let shell = try Shell()
        let result = try shell.run(
            "chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null; "
                + "printf s3cret | vault add db --passphrase-file pass --exact")
        #expect(result.status == 0)
        return shell
    }

    // A thread of the tests starts the shell, with its signals blocked.
    private static let run = "env --default-signal vault run --passphrase-file pass --mask --env S=vault://db --"

    private func terminal(_ script: String, in shell: Shell, columns: UInt16 = 77) throws -> PseudoTerminal {
        try shell.home.write(Array(script.utf8), to: "script")
        return try PseudoTerminal(
            ["-c", "\(Self.run) sh script; echo \"ended: $?\""], in: shell, program: "/bin/bash", columns: columns)
    }

    @Test func `the command has the terminal, its size and its input, and its secrets are not shown`() throws {
        let terminal = try terminal(
            """
            test -t 0 && test -t 1 && test -t 2 && echo all; stty size <&1; echo "1:$S" ; echo "2:$S" >&2
            read -r line; echo "read:$line:$S"; cat; exit 7
            """, in: Self.shell())
        try terminal.wait(for: "2:<concealed by vault>\r\n")
        #expect(
            terminal.screen.contains("all\r\n24 77\r\n1:<concealed by vault>\r\n2:<concealed"), "\(terminal.screen)")
        terminal.type("typed\n")
        try terminal.wait(for: "read:typed:<concealed by vault>\r\n")
        terminal.type("more\n")
        try terminal.wait(for: "more\r\n", times: 2)
        terminal.type("\u{4}")
        try terminal.wait(for: "ended: 7")
        #expect(terminal.end() == 0 && !terminal.screen.contains("s3cret"), "\(terminal.screen)")
    }

    @Test func `a stream that is no terminal stays one that is none`() throws {
        let shell = try Self.shell()
        let redirected = try PseudoTerminal(
            [
                "-c",
                "\(Self.run) sh -c 'test -t 1 && ! test -t 2 && echo one; echo \"2:$S\" >&2' 2>errors; cat errors",
            ], in: shell, program: "/bin/bash")
        #expect(redirected.end() == 0)
        #expect(redirected.screen.contains("one\r\n2:<concealed by vault>\r\n"), "\(redirected.screen)")
    }

    @Test func `the command learns of a new size, and of keys without a newline once it wants them`() throws {
        let shell = try Self.shell()
        try shell.home.write(
            Array(
                """
                import os, shutil, signal, sys, tty
                # A print would fail within another one, which the signal may interrupt.
                def resized(*_): os.write(1, b"size %d\\n" % os.get_terminal_size(1).columns)
                signal.signal(signal.SIGWINCH, resized)
                print("ready", flush=True)
                sys.stdin.readline()
                tty.setcbreak(1)
                print("keys", flush=True)
                print("key", os.read(0, 1), flush=True)
                """.utf8), to: "program.py")
        let terminal = try PseudoTerminal(
            ["-c", "\(Self.run) python3 program.py; stty sane; echo \"ended: $?\""], in: shell, program: "/bin/bash",
            columns: 77)
        try terminal.wait(for: "ready")
        terminal.resize(columns: 99)
        try terminal.wait(for: "size 99")
        terminal.type("\n")
        try terminal.wait(for: "keys")
        terminal.type("x")
        try terminal.wait(for: "key b'x'")
        try terminal.wait(for: "ended: 0")
        #expect(terminal.end() == 0)
    }

    @Test func `the shell stops the command and goes on with it, and an interrupt ends it`() throws {
        let shell = try Self.shell()
        let terminal = try PseudoTerminal(
            ["--default-signal", "TERM=dumb", "PS1=ready> ", "bash", "--norc", "-i"], in: shell,
            program: "/usr/bin/env", columns: 200)
        try terminal.wait(for: "ready> ")
        terminal.type("\(Self.run) sh -c 'echo $S-$S; cat'\n")
        try terminal.wait(for: "<concealed by vault>-<concealed by vault>")
        terminal.type("\u{1A}")
        try terminal.wait(for: "Stopped")
        // The shell discards what was typed before its prompt.
        try terminal.wait(for: "ready> ", times: 2)
        terminal.clear()
        terminal.type("fg\n")
        try terminal.wait(for: "cat'\r\n")
        terminal.clear()
        terminal.type("again\n")
        try terminal.wait(for: "again\r\n", times: 2)
        terminal.clear()
        terminal.type("\u{3}")
        try terminal.wait(for: "ready> ")
        terminal.type("echo ended:$?\n")
        try terminal.wait(for: "ended:130")
        terminal.type("exit\n")
        #expect(terminal.end() == 0 && !terminal.screen.contains("s3cret"), "\(terminal.screen)")
    }

    @Test func `a program that stops itself stops the whole`() throws {
        let shell = try Self.shell()
        let terminal = try PseudoTerminal(
            ["--default-signal", "TERM=dumb", "PS1=ready> ", "bash", "--norc", "-i"], in: shell,
            program: "/usr/bin/env", columns: 200)
        try terminal.wait(for: "ready> ")
        terminal.type("\(Self.run) sh -c 'printf before-that; kill -STOP $$; echo back'\n")
        try terminal.wait(for: "before-that\r\n")
        try terminal.wait(for: "ready> ", times: 2)
        terminal.type("fg\n")
        try terminal.wait(for: "back\r\n")
        terminal.type("exit\n")
        #expect(terminal.end() == 0)
    }
}
