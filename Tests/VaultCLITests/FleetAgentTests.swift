// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

/// `vault sync` beside an agent that cannot sync itself.
struct FleetAgentTests {
    private static let start = """
        chmod 600 pass; mkdir share; vault init --kdf interactive --passphrase-file pass 2>/dev/null
        vault remote add file://$PWD/share --name laptop --passphrase-file pass >/dev/null 2>&1

        """

    @Test func `beside an agent that is older a sync takes the passphrase, as ever`() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "older.py").path()
        let result = try Shell().run(
            Self.start + """
                vault unlock --passphrase-file pass 2>/dev/null
                coproc OLDER { exec python3 \(script) $HOME/sock $XDG_RUNTIME_DIR/vault/agent.sock; }
                read -r line <&"${OLDER[0]}"
                export VAULT_AGENT_SOCK=$HOME/sock
                vault sync; echo $?
                vault find mail >/dev/null 2>&1; echo $?
                VAULT_PASSPHRASE_FILE=pass vault sync >/dev/null; echo $?
                kill -9 $OLDER_PID
                """)
        #expect(result.output == "4\n10\n0\n", "\(result.error)")
        #expect(result.error.contains("the agent has the vault open, but this needs the vault's keys"))
    }

    @Test func `while a remote hangs, nothing that a person types waits for it, and the agent ends`() throws {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; mkdir bin records; mkfifo hangs; exec 9<>hangs; export PATH=$PWD/bin:$PATH
            cat > bin/ssh <<END
            #!/bin/sh
            [ ! -e $PWD/hang ] || { echo >$PWD/hangs; exec sleep 100; }
            exec vault remote serve -- $PWD/records
            END
            chmod +x bin/ssh; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault remote add ssh://host$PWD/records --name laptop --passphrase-file pass 2>/dev/null >code
            chmod 600 code; touch hang; vault unlock --passphrase-file pass 2>/dev/null; read -r _ <hangs
            for turn in 0 1 2 3 4 5 6 7 8 9; do
                (vault device approve --code-file code --yes 2>said-$turn; echo $? >end-$turn) &
            done
            echo x | vault add mail; vault get mail; echo; vault status | grep -c '^background.*under way'; ls end-*
            vault doctor | grep remote; vault remote remove ssh://host$PWD/records; vault remote list
            vault lock; vault status | grep '^agent' | cut -c1-18; vault unlock --passphrase-file pass 2>/dev/null
            vault find; vault agent --stop; wait; grep -h 'the agent has ended' said-* | sort -u
            """)
        let url = "ssh://host\(shell.home.path.string)/records"
        #expect(
            result.output == """
                x
                1
                warn  the remote '\(url)' cannot be used now: the remote cannot be reached: \(url): no answer in 5 s
                agent       locked
                mail\t\t\tgeneric
                vault: error: the agent has ended

                """, "\(result)")
    }

    @Test(arguments: [true, false])
    func `at a terminal get says that an item has a conflict, be it an agent that answers or not`(
        isOpen: Bool
    ) throws {
        let shell = try Shell()
        let made = try shell.run(
            Self.start + """
                mkdir there; export VAULT_PASSPHRASE_FILE=$PWD/pass
                there() { HOME=$PWD/there vault "$@"; }
                there init --kdf interactive 2>/dev/null
                vault remote recovery-code --new >code 2>/dev/null; chmod 600 code
                there remote add file://$PWD/share --recovery-code-file code --name phone 2>/dev/null
                echo one | vault add mail; echo two | there add mail; echo three | vault add alone
                vault sync; there sync; vault sync | tail -1
                \(isOpen ? "vault unlock 2>/dev/null" : "")
                """)
        #expect(made.output.hasSuffix("1 conflict: see 'vault conflicts'\n"), "\(made)")
        for (item, hasConflict) in [("mail", true), ("alone", false)] {
            let terminal = try PseudoTerminal(
                ["get", item] + (isOpen ? [] : ["--passphrase-file", "pass"]), in: shell)
            #expect(terminal.end() == 0)
            #expect(terminal.screen.contains("vault: note: this item has a conflict") == hasConflict)
        }
    }

    @Test(.enabled(if: Shell.mayMount)) func `the command writes to a folder that the agent's service sees read-only`()
        throws
    {
        let shell = try Shell()
        let mount = "mount --bind share share && mount -o remount,ro,bind share && vault agent --passphrase-file pass"
        let result = try shell.run(
            Self.start + """
                unshare -Urm sh -c '\(mount)'; echo x | vault add mail
                vault sync; echo $?
                VAULT_PASSPHRASE_FILE=pass vault sync; echo $?
                vault sync; echo $?
                """)
        let remote = "file://\(shell.home.path.string)/share"
        #expect(result.output == "30\n\(remote): sent 0, received 0\n0\n\(remote): sent 0, received 0\n0\n")
        #expect(result.error.contains("vault: error: cannot use the remote: read-only file system"))
        #expect(result.error.contains("vault: note: the agent's service may not write there: 'systemctl --user edit"))
    }
}
