// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// Hostile item names in the completions of common shells: each is offered, names its item when the line runs, and is
/// never executed by the shell.
struct CompletionTests {
    private static let names = [
        "q0$(touch${IFS}pwned)end", "q1`touch pwned`end", "q2;touch pwned;end", "q3'\"\\$HOME*?[a]{b,c}~#end",
        "q4 two|words &end",
        "q5 a!b!end",
        "q6>pwned end", "q7-ünï-end", "q8:a:b end",
    ]

    private static let shells: [(start: String, source: String)] = [
        ("bash --norc --noprofile -i", "source <(vault completion bash)"),
        (
            "zsh --no-rcs -i",
            "autoload -U compinit; compinit -u -D; vault completion zsh >_vault; source ./_vault; compdef _vault vault"
        ),
        ("fish --no-config --interactive", "vault completion fish | source"),
    ]

    private static func terminal(_ number: Int, in shell: Shell) throws -> PseudoTerminal {
        let (start, source) = shells[number]
        let words = ["TERM=xterm"] + start.split(separator: " ").map(String.init)
        let terminal = try PseudoTerminal(words, in: shell, program: "/usr/bin/env", columns: 200)
        terminal.type(source + "; printf 're%s\\n' ady\n")
        try terminal.wait(for: "ready")
        return terminal
    }

    @Test func `fish completes a line that a script gives it, without a word on standard error`() throws {
        let result = try Shell().run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault unlock --passphrase-file pass 2>/dev/null; echo x | vault add mail.example ada
            for line in 'vault get --fie' 'vault get mai' 'vault get mail.example ' 'vault read vault://mail'; do
                fish --no-config -c 'vault completion fish | source; complete -C $argv[1]' "$line"
            done
            vault agent --stop
            """)
        #expect(result.error == "", "\(result)")
        let offered = result.output.split(separator: "\n").map { $0.split(separator: "\t")[0] }
        #expect(offered == ["--field", "mail.example", "ada", "vault://mail.example/ada"], "\(result)")
    }

    @Test(arguments: shells.indices)
    func `references, services with ports, fields and doors are completed beyond a colon`(number: Int) throws {
        let shell = try Shell()
        let made = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault unlock --passphrase-file pass 2>/dev/null
            printf of-the-port | vault add db.example:5432 ada
            printf 123 | vault set db.example:5432 ada --field pincode
            printf planted | vault add db.example:5555 eve --group org.example.App
            """)
        #expect(made.status == 0, "\(made)")
        let terminal = try Self.terminal(number, in: shell)
        for (typed, shown) in [
            ("vault get db.exa\t", "of-the-port"), ("vault get db.example:5\t", "of-the-port"),
            ("vault read vault://db.exa\t", "of-the-port"), ("vault read vault://db.example%3A5432/ada/\t", "123"),
            ("vault get db.example:5432 ada --field pi\t", "123"),
            ("vault run --env S=vault://db.example%3A5432/ada/p\t -- printenv S", "123"),
            ("vault doors enable po\t --system --help | head -1", "OVERVIEW: Make programs"),
        ] {
            terminal.clear()
            terminal.type(typed + "\n")
            try terminal.wait(for: shown)
        }
        terminal.type("\u{3}exit\n")
        _ = terminal.end()
        _ = try shell.run("vault agent --stop")
    }

    @Test(arguments: shells.indices) func `names are offered as names`(number: Int) throws {
        let shell = try Shell()
        var script =
            "chmod 600 pass; vault init --kdf interactive --passphrase-file pass; vault unlock --passphrase-file pass;"
        for (number, name) in Self.names.enumerated() {
            let quoted = "'" + name.replacing("'", with: #"'\''"#) + "'"
            script += "echo secret-\(number)-of-it | vault add \(quoted) \(quoted);"
        }
        #expect(try shell.run(script).status == 0)
        let terminal = try Self.terminal(number, in: shell)
        for number in Self.names.indices {
            terminal.type("vault get q\(number)\t")
            try terminal.wait(for: "end", times: 1)
            terminal.type("\n")
            try terminal.wait(for: "secret-\(number)-of-it")
            terminal.clear()
            // The account is completed as well.
            terminal.type("vault get q\(number)\t")
            try terminal.wait(for: "end")
            terminal.type("q\(number)\t")
            try terminal.wait(for: "end", times: 2)
            terminal.type("\n")
            try terminal.wait(for: "secret-\(number)-of-it")
            terminal.clear()
        }
        terminal.type("exit\n")
        #expect(terminal.end() == 0)
        #expect(try shell.run("ls pwned; true").output == "")
        _ = try shell.run("vault agent --stop")
    }
}
