// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import TestSupport
import Testing
import Vault
import VaultFormat
import VaultStorage

@testable import VaultCLI

struct ExitStatusTests {
    @Test(arguments: [
        (StorageError.rolledBack, VaultCLI.ExitStatus.rolledBack), (.busy, .busy), (.rekeyed, .locked),
        (.locked, .locked),
        (.poisoned, .inputOutput),
        (.forked, .failure), (.noMatchingSlot, .locked), (.damaged(.marks), .damaged),
        (.unsupported(.major), .unsupported),
    ]) func `each failure of the storage has its exit code`(error: StorageError, status: VaultCLI.ExitStatus) {
        #expect(CommandError(error).status == status)
        #expect(CommandError(VaultError.storage(error)).status == status || error == .locked)
    }

    @Test func `messages are lower case and have no full stop`() {
        for error in [
            VaultError.duplicateItem, .itemNotFound, .accessGroupDenied, .locked, .unimplemented, .versionMismatch,
            .itemChanged,
        ] {
            let message = CommandError(error).message
            #expect(message.first?.isLowercase == true)
            #expect(message.last != ".")
        }
    }
}

/// Concurrent commands, and commands that are killed.
struct ProcessTests {
    @Test(arguments: [("agent --foreground", "agent"), ("doors --ssh \"$socket\"", "ssh")])
    func `SIGTERM ends a server that has just bound its socket`(command: String, name: String) throws {
        let result = try Shell().run(
            """
            socket="$XDG_RUNTIME_DIR/vault/\(name).sock"
            for trial in {1..40}; do
                rm -f "$socket"; $(command -v vault) \(command) 2>/dev/null & pid=$!
                until [ -S "$socket" ] || [ $SECONDS -gt 60 ]; do :; done
                kill -TERM $pid
                timeout 20 tail -s 0.01 --pid=$pid -f /dev/null || { echo lost; kill -KILL $pid; break; }
            done; echo done; [ $SECONDS -le 60 ] && [ -e "${socket%/*}" ]
            """)
        #expect(result.output == "done\n", "\(result.error)")
        #expect(result.status == 0, "the server never bound its socket")
    }

    @Test func `twenty-four commands at once all store what they were given`() throws {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            for i in $(seq 24); do (echo "secret $i" | vault add service "$i" --passphrase-file pass ||
                echo "lost $i") & done; wait
            vault find --passphrase-file pass | wc -l; vault verify --deep --passphrase-file pass
            for i in $(seq 24); do vault get service "$i" --passphrase-file pass; echo; done | sort -n -k2
            """)
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "24", "\(result.output)\(result.error)")
        #expect(Array(lines.dropFirst(2)) == (1...24).map { "secret \($0)" })
        #expect(result.error.isEmpty)
    }

    @Test func `a writer that is killed loses nothing that was acknowledged`() throws {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            for i in $(seq 12); do
                # Each command is killed at a different system call.
                call=$(echo pwrite64 fdatasync pwrite64 fdatasync renameat fsync linkat fallocate | tr ' ' '\\n' |
                    sed -n "$((i % 8 + 1))p")
                if echo "secret $i" | strace -f -qq -o /dev/null -e inject=$call:signal=KILL:when=$((i % 3 + 1)) \\
                    vault set service "$((i % 4))" --passphrase-file pass 2>/dev/null
                then eval "kept$((i % 4))='secret $i'"; eval "maybe$((i % 4))="
                else eval "maybe$((i % 4))=\\"\\$maybe$((i % 4))|secret $i\\""
                fi
            done 2>/dev/null
            vault verify --deep --passphrase-file pass >/dev/null || echo "not whole"
            for i in 0 1 2 3; do
                value=$(vault get service $i --passphrase-file pass 2>/dev/null)
                eval "kept=\\$kept$i; maybe=\\$maybe$i"
                case "|$kept$maybe|" in *"|$value|"*) ;; *) [ -z "$kept$value" ] ||
                    echo "service $i is '$value', not '$kept' or one of '$maybe'";; esac
            done
            echo x | vault set after --passphrase-file pass && vault get after --passphrase-file pass
            ls -A .local/share/vault | grep -c tmp
            """)
        #expect(result.output == "x0\n", "\(result.output)\(result.error)")
    }

    @Test func `no other process of the user looks into the command`() throws {
        let shell = try Shell()
        let terminal: PseudoTerminal
        _ = try shell.run("chmod 600 pass; vault init --kdf interactive --passphrase-file pass")
        terminal = try PseudoTerminal(["get", "s"], in: shell)
        try terminal.wait(for: "default.vault: ")
        let pid = terminal.processIdentifier
        let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
        // The soft limit: a command started by `run` gets its former limit back.
        #expect(limits.contains("Max core file size        0     "))
        var status = stat()
        // A non-dumpable process belongs to root below /proc, regardless of its user.
        #expect(stat("/proc/\(pid)/environ", &status) == 0)
        #expect(status.st_uid == 0)
        terminal.signal(SIGKILL)
        _ = terminal.end()
    }
}
