// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// A person at a terminal or a window, with a security key in software that has a PIN.
struct SecurityKeyPromptTests {
    /// The key `one` has the PIN 2468, `plain` has none.
    private static func shell(_ setup: String = "") throws -> Shell {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            echo s3cret | vault add s ada --passphrase-file pass; $KEY --set-pin one 2468; \(setup)
            """)
        #expect(result.status == 0, "\(result)")
        return shell
    }

    private func terminal(_ keys: String, _ arguments: String..., in shell: Shell) throws -> PseudoTerminal {
        try PseudoTerminal(
            [Shell.securityKey, keys, Shell.commands + "/vault"] + arguments, in: shell, program: "/usr/bin/python3")
    }

    private func add(_ keys: String, in shell: Shell) throws {
        let terminal = try terminal(keys, "slot", "add", "fido2", "--passphrase-file", "pass", in: shell)
        try terminal.wait(for: "PIN of the security key (Soft Key): ")
        terminal.type("2468\n")
        #expect(terminal.end() == 0, "\(terminal.screen)")
    }

    @Test func `a wrong PIN says how many tries are left, and nothing that is typed appears`() throws {
        let shell = try Self.shell()
        let terminal = try terminal("one", "slot", "add", "fido2", "--passphrase-file", "pass", in: shell)
        try terminal.wait(for: "PIN of the security key (Soft Key): ")
        #expect(!terminal.isEchoing)
        terminal.type("1357\n")
        try terminal.wait(for: "PIN of the security key (Soft Key): ", times: 2)
        #expect(terminal.screen.contains("Wrong PIN: 7 tries are left."))
        terminal.type("1\n")
        try terminal.wait(for: "PIN of the security key (Soft Key): ", times: 3)
        #expect(terminal.screen.contains("A PIN has 4 to 63 bytes."))
        terminal.type("2468\n")
        try terminal.wait(for: "Touch it once more.")
        #expect(terminal.end() == 0)
        #expect(!terminal.screen.contains("2468") && !terminal.screen.contains("1357"))
        #expect(try shell.run("vault slot list | grep -c FIDO2; grep -c touch one/log").output == "1\n2\n")
    }

    @Test func `three wrong PINs end the command with nothing written, and the last try is announced`() throws {
        let shell = try Self.shell("cp .local/share/vault/default.vault before")
        for (round, status) in [(0, 5), (1, 5), (2, 4)] as [(Int, Int32)] {
            let terminal = try terminal("one", "slot", "add", "fido2", "--passphrase-file", "pass", in: shell)
            for attempt in 1...(round == 2 ? 2 : 3) {
                try terminal.wait(for: "PIN of the security key (Soft Key): ", times: attempt)
                terminal.type("1357\n")
            }
            #expect(terminal.end() == status, "\(terminal.screen)")
            #expect(terminal.screen.contains("This is the last try") == (round == 2))
            #expect(terminal.screen.contains(round == 2 ? "has blocked its PIN" : "takes no more PINs for now"))
        }
        #expect(try shell.run("cmp .local/share/vault/default.vault before").status == 0)
    }

    @Test func `the slot of a key with a PIN wants it each time, on whatever machine`() throws {
        let shell = try Self.shell()
        try add("one", in: shell)
        let elsewhere = try shell.run(
            "$KEY one vault get s --fido2; vault backup copy --passphrase-file pass 2>/dev/null; echo $?")
        #expect(elsewhere.output == "0\n")
        #expect(elsewhere.error.contains("the security key needs its PIN, and there is no terminal to ask for it"))
        let terminal = try terminal("plain:one", "get", "s", "--vault", "copy", "--fido2", in: shell)
        try terminal.wait(for: "There are 2 security keys: touch the one for this vault.")
        // Both are touched at once; the first has no PIN, and no slot.
        #expect(terminal.end() == 4, "\(terminal.screen)")
        let second = try self.terminal(
            "plain=aside:one", "get", "s", "--vault", "copy", "--fido2", in: shell)
        try second.wait(for: "PIN of the security key (Soft Key): ")
        second.type("2468\n")
        try second.wait(for: "s3cret")
        #expect(second.end() == 0)
    }

    @Test(arguments: ["numb", "wrong-finger", "strict"])
    func `a PIN opens its slot where a finger does not, and where the key answers nothing unverified`(manner: String)
        throws
    {
        let shell = try Self.shell("$KEY plain vault slot add fido2 --name plain --passphrase-file pass 2>/dev/null")
        try add("one", in: shell)
        let terminal = try terminal("one=\(manner)", "get", "s", "--fido2", in: shell)
        try terminal.wait(for: "PIN of the security key (Soft Key): ")
        #expect(terminal.screen.contains("did not recognize its holder") == (manner == "wrong-finger"))
        terminal.type("2468\n")
        try terminal.wait(for: "s3cret")
        #expect(terminal.end() == 0)
    }

    @Test func `an empty passphrase takes the security key, and only where a slot has one`() throws {
        let shell = try Self.shell()
        let without = try terminal("one", "get", "s", in: shell)
        try without.wait(for: "default.vault: ")
        without.type("\n")
        #expect(without.end() == 64, "\(without.screen)")
        try add("one", in: shell)
        let with = try terminal("one", "get", "s", in: shell)
        try with.wait(for: "(empty for the security key): ")
        with.type("\n")
        try with.wait(for: "PIN of the security key (Soft Key): ")
        with.type("2468\n")
        try with.wait(for: "s3cret")
        #expect(with.end() == 0)
    }

    @Test func `a vault without a passphrase asks the person at the terminal for the key at once`() throws {
        let shell = try Self.shell(
            """
            vault slot add recovery-code --passphrase-file pass > code 2>/dev/null; chmod 600 code
            $KEY plain vault slot add fido2 --passphrase-file pass 2>/dev/null
            vault slot remove passphrase --yes --recovery-code-file code
            """)
        let terminal = try terminal("plain", "get", "s", in: shell)
        try terminal.wait(for: "Touch the security key (Soft Key).")
        try terminal.wait(for: "s3cret")
        #expect(terminal.end() == 0)
        // No script waits for a touch.
        let script = try shell.run("rm plain/log; $KEY plain vault get s; ls plain/log")
        #expect(script.error.contains("a security key (--fido2)") && script.error.contains("No such file"))
    }

    @Test func `a window asks for the PIN where there is no terminal`() throws {
        let shell = try Self.shell()
        try add("one", in: shell)
        try shell.home.write(
            Array(
                #"""
                #!/bin/bash
                cd "$(dirname "$0")"; echo OK
                while IFS= read -r line; do
                    case "$line" in
                    GETPIN) sed -n 's/^/D /p' answer; echo OK ;;
                    GETINFO*) echo D gtk2; echo OK ;;
                    *) echo "$line" >> heard; echo OK ;;
                    esac
                done
                """#.utf8), to: "ask")
        let result = try shell.run(
            """
            chmod 700 ask; export DISPLAY=:7 VAULT_PINENTRY=$PWD/ask; echo 2468 > answer
            $KEY one vault unlock --fido2 && vault get s; vault lock
            sed -i "s/sed -n.*answer;/head -1 queue | sed 's,^,D ,'; sed -i 1d queue;/" ask
            printf '\\n2468\\n' > queue; $KEY one vault unlock && vault get s; vault agent --stop; cat heard
            """)
        #expect(result.output.hasPrefix("s3crets3cret"), "\(result)")
        let heard = result.output.split(separator: "\n")
        #expect(heard.contains { $0.contains("The PIN of the security key 'Soft Key', for the vault ") }, "\(result)")
        #expect(heard.contains { $0.contains("An empty passphrase takes the security key instead.") })
        #expect(heard.contains("SETPROMPT PIN:"))
    }
}
