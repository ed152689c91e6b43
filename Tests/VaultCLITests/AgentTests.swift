// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The agent in a process of its own.
struct AgentTests {
    /// A shell with a vault of two items and an unlocked agent.
    private static func shell(_ start: String = "vault unlock --passphrase-file pass") throws -> Shell {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            echo s3cret | vault add mail ada --passphrase-file pass && echo booted |
                vault add boot --accessible after-first-unlock --passphrase-file pass
            \(start)
            """)
        #expect(result.status == 0, "\(result.error)")
        return shell
    }

    private static func state(_ shell: Shell) throws -> String { try shell.run("vault status | grep agent").output }

    private static func processIdentifier(_ shell: Shell) throws -> Int32 {
        struct Status: Decodable {
            struct Agent: Decodable { var pid: Int32 }
            var agent: Agent
        }
        return try JSONDecoder().decode(Status.self, from: Data(shell.run("vault status --json").output.utf8)).agent.pid
    }

    // MARK: Prompts

    @Test func `unlock asks at a terminal, and every other command is let in`() throws {
        let shell = try Self.shell("true")
        let terminal = try PseudoTerminal(["unlock"], in: shell)
        try terminal.wait(for: "default.vault: ")
        terminal.type("correct horse battery staple\n")
        #expect(terminal.end() == 0)
        #expect(try shell.run("vault get mail").output == "s3cret")
        let again = try PseudoTerminal(["unlock"], in: shell)
        #expect(again.end() == 0)
        #expect(!again.screen.contains("Passphrase"))
    }

    @Test func `however many wait for the passphrase, one of them asks`() throws {
        let shell = try Self.shell("vault agent")
        let first = try PseudoTerminal(["get", "mail"], in: shell)
        try first.wait(for: "default.vault: ")
        let others = try (0..<3).map { _ in try PseudoTerminal(["get", "mail"], in: shell) }
        // A command that waits behind another prompt says so after a second.
        for other in others { try other.wait(for: "waiting for another prompt") }
        first.type("correct horse battery staple\n")
        for terminal in [first] + others {
            #expect(terminal.end() == 0)
            #expect(terminal.screen.contains("s3cret"))
        }
        for other in others { #expect(!other.screen.contains("Passphrase")) }
    }

    @Test func `who gives up at the prompt passes the turn on, and a wrong passphrase is 5`() throws {
        let shell = try Self.shell("vault agent")
        let first = try PseudoTerminal(["unlock"], in: shell)
        try first.wait(for: "default.vault: ")
        let second = try PseudoTerminal(["unlock"], in: shell)
        try second.wait(for: "waiting for another prompt")
        first.type("\u{3}")
        #expect(first.end() == 130)
        for attempt in 1...3 {
            try second.wait(for: "default.vault: ", times: attempt)
            second.type("wrong\n")
        }
        #expect(second.end() == 5)
        #expect(try Self.state(shell).contains("not unlocked yet"))
    }

    // MARK: Signals

    @Test func `SIGHUP locks and SIGTERM ends, with the socket gone and the vault in order`() throws {
        let shell = try Self.shell()
        let result = try shell.run(
            """
            pid=$(vault status --json | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
            kill -HUP $pid; until vault status | grep -q 'agent *locked' || [ $SECONDS -gt 60 ]; do :; done
            vault status | grep -o 'agent *[a-z]*'
            kill -TERM $pid; timeout 60 tail --pid=$pid -f /dev/null; ls -d /proc/$pid 2>/dev/null
            ls -A "$XDG_RUNTIME_DIR/vault"; vault verify --passphrase-file pass
            """)
        #expect(
            result.output == "agent       locked\n.agent.sock.lock\n2 items in 3 commits, 2 secrets\n",
            "\(result.error)")
    }

    @Test(.enabled(if: access("/usr/bin/dbus-daemon", X_OK) == 0))
    func `it locks before the machine sleeps and with the session, which waits for it`() throws {
        let shell = try Shell()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "logind.py").path()
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$HOME/bus
            coproc LOGIND { exec /usr/bin/python3 \(script) $HOME/bus; }
            ask() { echo "$*" >&${LOGIND[1]}; read -r -t 20 answer <&${LOGIND[0]}; }
            held() { ask held $1; echo "held $answer"; }
            locked() { until vault status | grep -q 'agent *locked' || [ $SECONDS -gt 60 ]; do :; done; vault status |
                grep -o 'agent *[a-z]*'; }
            held 0
            vault unlock --passphrase-file pass
            held 1
            ask sleep; locked; held 0
            ask wake; held 1
            vault unlock --passphrase-file pass; ask lock 4242; held 1; vault status | grep -o 'agent *[a-z]*'
            ask lock $(id -u); locked
            vault agent --stop
            """)
        #expect(
            result.output
                == """
                held 0\nheld 1\nagent       locked\nheld 0\nheld 1\nheld 1\nagent       unlocked\nagent       locked\n
                """,
            "\(result.output)\(result.error)")
    }

    // MARK: Memory

    /// The test needs to read another process's memory, which only root may do.
    @Test(.enabled(if: getuid() == 0))
    func `a locked agent has neither the secret nor the passphrase in its memory, nor the keys where a debugger looks`()
        throws
    {
        let marker = "Zq9-" + SystemRandomText.letters(20)
        let phrase = "Yx7-" + SystemRandomText.letters(20)
        let attribute = "Wv5-" + SystemRandomText.letters(20)
        let shell = try Shell()
        try shell.home.write(Array("\(phrase)\n".utf8), to: "phrase")
        try shell.home.write(Array(marker.utf8), to: "marker")
        let start = try shell.run(
            """
            chmod 600 phrase marker; vault init --kdf interactive --passphrase-file phrase 2>/dev/null
            vault unlock --passphrase-file phrase
            vault add \(attribute) --file marker && vault get \(attribute) && vault find --json --reveal >/dev/null &&
                vault read vault://\(attribute)/
            vault run --env X=vault://\(attribute)/ -- true; echo other | vault set \(attribute)
            vault set \(attribute) --file marker
            """)
        #expect(start.output == marker + marker, "\(start.error)")
        let pid = try Self.processIdentifier(shell)
        let memory = ProcessMemory(pid)
        let keys = try Self.keys(of: shell.home.path.appending(".local/share/vault/default.vault"), phrase)
        // The control: attributes stay in memory, as SECURITY.md documents.
        #expect(try memory.contains(Array(attribute.utf8)))
        let again =
            """
            vault lock; vault unlock --passphrase-file phrase; vault get \(attribute)
            vault set \(attribute) --file marker; vault lock
            """
        #expect(try shell.run(again).output == marker)
        #expect(try memory.contains(Array(attribute.utf8)))
        // Half of each is searched for, which also finds a partial key that a library function left on its stack.
        let secrets = [Array(marker.utf8), Array(phrase.utf8), keys.slot, keys.master, keys.vault, keys.ofClass]
        for (number, secret) in secrets.enumerated() {
            #expect(try !memory.contains(Array(secret.prefix(16))), "the first half of number \(number)")
            #expect(try !memory.contains(Array(secret.suffix(16))), "the second half of number \(number)")
        }
        var status = stat()
        #expect(stat("/proc/\(pid)/environ", &status) == 0 && status.st_uid == 0)
        let facts = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        #expect(facts.contains("VmSwap:\t       0 kB"))
        let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
        #expect(limits.contains("Max core file size        0 "))
        #expect(try shell.run("vault agent --stop").status == 0)
    }

    /// The keys between the passphrase and the items of a vault.
    private static func keys(
        of path: FilePath, _ phrase: String
    ) throws -> (slot: [UInt8], master: [UInt8], vault: [UInt8], ofClass: [UInt8]) {
        let header = try LockedStore(path, environment: .system).header
        let slot = try #require(header.slots.first)
        let typed = try SecretBytes(copying: Array(phrase.utf8).span)
        guard case .argon2id(let passes, let memoryBytes) = slot.stretching,
            let vaultKey = try slot.open(typed, vaultID: header.vaultID)
        else { throw StorageError.wrongPassphrase }
        let stretched = try KeyDerivation.argon2id(
            typed, salt: slot.salt.span, passes: UInt64(passes), memoryBytes: Int(memoryBytes))
        let keys = try SlotKeys(slot, secret: typed, vaultID: header.vaultID)
        let ofClass = try KeyDerivation.subkey(1, of: vaultKey, context: "VLT1cls_")
        return (stretched.exposed, keys.masterKey.exposed, vaultKey.exposed, ofClass.exposed)
    }

    @Test(.enabled(if: Shell.mayMount))
    func `without XDG_RUNTIME_DIR, the agent of the user's directory in run is found, and none is started elsewhere`()
        throws
    {
        let result = try Self.shell("true").run(
            """
            cat > script <<'END'
            mount -t tmpfs none /run; mkdir /run/user; unset XDG_RUNTIME_DIR
            vault agent; echo $?
            mkdir -m 700 /run/user/0
            XDG_RUNTIME_DIR=/run/user/0 vault unlock --passphrase-file pass
            vault get mail; vault status --json | grep -o '"state":"[a-z]*"'; vault agent --stop
            END
            unshare -Urm bash script
            """)
        #expect(result.output == "30\ns3cret\"state\":\"unlocked\"\n", "\(result)")
        #expect(result.error.contains("there is no place for the agent's socket"), "\(result)")
    }

    // MARK: Policy

    @Test func `a process tree that may only inject finds a secret where it puts it, not in output`() throws {
        let shell = try Self.shell(
            """
            mkdir -p .config/vault && cp $(readlink -f /bin/sh) robot
            echo '{ "rules": [ { "executable": "'$HOME/robot'", "access": "inject-only" } ] }' > policy.json
            mv policy.json .config/vault
            vault unlock --passphrase-file pass
            """)
        #expect(try shell.run("vault get mail").output == "s3cret")
        let refused =
            """
            vault: error: refused: the agent's policy does not let this program do that
            vault: hint: 'vault run' and 'vault inject' may be

            """
        for command in [
            "get mail", "get mail --json --reveal", "find --json --reveal", "read vault://mail/ada",
            "export --files out --service mail",
            "delete mail --yes",
            "set mail --generate", "update mail --label x", "compact", "agent --stop",
        ] {
            let result = try shell.run("./robot -c 'vault \(command); exit $?'")
            #expect(result.status == 1 && result.output.isEmpty && result.error == refused, "\(command): \(result)")
        }
        #expect(try shell.run("ls out").status != 0)
        #expect(try shell.run("./robot -c 'vault find; exit $?'").output == "mail\tada\t\tgeneric\nboot\t\t\tgeneric\n")
        let run = try shell.run("./robot -c 'vault run --env S=vault://mail/ada -- printenv S; exit $?'")
        #expect(run.status == 0 && !run.output.contains("s3cret"), "\(run)")
        // A secret too short to be masked in the output is not handed out, even with a trailing newline, which a shell
        // strips.
        for short in ["pin", "pin\\n"] {
            #expect(try shell.run("printf '\(short)' | vault set short --exact").status == 0)
            let run = try shell.run("./robot -c 'vault run --env S=vault://short/ -- printenv S; exit $?'")
            #expect(run.status == 1 && run.output.isEmpty && run.error.contains("fewer than 4 bytes"), "\(run)")
        }
        #expect(try shell.run("vault delete short --yes").status == 0)
        let inject = try shell.run(
            "echo 'x={{ vault://mail/ada }}' > t; ./robot -c 'vault inject -i t -o filled; exit $?'; cat filled")
        #expect(inject.output == "x=s3cret\n", "\(inject)")
        let shown = try shell.run("./robot -c 'vault inject -i t; exit $?'")
        #expect(shown.status == 1 && shown.output.isEmpty && shown.error.contains("refused"))
        // The rule prevents accidents: the program reads the file that it names, and names the command that prints.
        let read = "./robot -c 'vault inject -i t -o filled --yes; cat filled'"
        #expect(try shell.run(read).output == "x=s3cret\n")
        let encoded = "./robot -c 'vault run --env S=vault://mail/ada -- sh -c \"printenv S | base64\"'"
        #expect(try shell.run(encoded).output == "czNjcmV0Cg==\n")
        #expect(try shell.run("./robot -c 'vault status; exit $?' | grep -o inject-only").output == "inject-only\n")
    }

    @Test func `a policy that is not understood keeps the agent from starting`() throws {
        let shell = try Self.shell("true")
        let result = try shell.run(
            """
            mkdir -p .config/vault
            echo '{ \"rules\": [ { \"unit\": \"x\", \"acces\": \"none\" } ] }' > .config/vault/policy.json
            vault unlock --passphrase-file pass
            """
        )
        #expect(result.status == 64)
        #expect(result.error == "vault: error: the policy is not understood: 'acces' means nothing here\n")
    }

    // MARK: Starting

    @Test(.enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0))
    func `systemd's socket starts the agent, and stays when the agent ends`()
        throws
    {
        let shell = try Self.shell("true")
        let result = try shell.run(
            """
            mkdir -m 700 -p $XDG_RUNTIME_DIR/vault
            systemd-socket-activate -E HOME -E XDG_RUNTIME_DIR -l $XDG_RUNTIME_DIR/vault/agent.sock \\
                $(command -v vault) agent --foreground 2>/dev/null &
            until [ -S $XDG_RUNTIME_DIR/vault/agent.sock ] || [ $SECONDS -gt 60 ]; do vault --version >/dev/null; done
            vault unlock --passphrase-file pass && vault get mail && vault agent --stop; wait; ls $XDG_RUNTIME_DIR/vault
            """)
        #expect(result.output == "s3cretagent.sock\n", "\(result.error)")
    }

    @Test func `the shell completes services and accounts that the agent knows, and asks nobody`() throws {
        let shell = try Self.shell()
        let complete = """
            source <(vault completion bash)
            complete() { COMP_LINE="$1"; COMP_POINT=${#1}; read -ra COMP_WORDS <<< "$1"; [[ "$1" != *" " ]] ||
                COMP_WORDS+=("")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _vault; echo "${COMPREPLY[@]}"; }
            complete "vault get m"; complete "vault get mail "; complete "vault read vault://b"
            """
        #expect(try shell.run(complete).output == "mail\nada\nvault://boot/\n")
        #expect(try shell.run("vault lock; \(complete)").output == "\n\nvault://boot/\n")
        #expect(try shell.run("vault agent --stop; \(complete)").output == "\n\n\n")
    }
}

private enum SystemRandomText {
    static func letters(_ count: Int) -> String {
        String((0..<count).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement() ?? "a" })
    }
}

/// The readable memory of a process.
private struct ProcessMemory {
    private let id: Int32

    init(_ id: Int32) { self.id = id }

    func contains(_ wanted: [UInt8]) throws -> Bool {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(id)/maps")).readToEnd() ?? Data()
        let memory = open("/proc/\(id)/mem", O_RDONLY)
        guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
        defer { close(memory) }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 2, fields[1].hasPrefix("rw"), !line.contains("[v") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { Int(String($0), radix: 16) }
            guard bounds.count == 2 else { continue }
            var bytes = [UInt8](repeating: 0, count: bounds[1] - bounds[0])
            let count = pread(memory, &bytes, bytes.count, bounds[0])
            // Memory that the kernel cannot read here is unreadable for every other process.
            guard count > 0 else { continue }
            let found = Data(bytes[..<count]).range(of: Data(wanted)) != nil
            if found { return true }
        }
        return false
    }
}
