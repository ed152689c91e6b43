// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// An agent that was started before an upgrade, or after one that was undone: nobody is locked out, and everybody can
/// lock it.
struct AgentVersionTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "older.py").path()

    private static func start(_ arguments: String = "") -> String {
        """
        chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
        vault unlock --passphrase-file pass 2>/dev/null; echo -n x | vault add mail
        coproc OTHER { exec python3 \(script) $HOME/sock $XDG_RUNTIME_DIR/vault/agent.sock \(arguments); }
        read -r line <&"${OTHER[0]}"; own=$XDG_RUNTIME_DIR/vault/agent.sock
        export VAULT_AGENT_SOCK=$HOME/sock

        """
    }

    @Test(arguments: [3, 5, 200])
    func `an agent of another version is shown, locked and ended, and the others name the way out`(version: Int) throws
    {
        let age = version < 4 ? "older" : "newer"
        let result = try Shell().run(
            Self.start("\(version)") + """
                for verb in "get mail" find "set mail" "unlock --passphrase-file pass"; do
                    echo y | vault $verb 2>&1 | sort -u; echo "${PIPESTATUS[1]}"
                done
                vault status | grep ^agent | sed 's/[0-9]* min/N min/; s/pid .*/pid)/'
                vault status --json | python3 -c '
                import json, sys
                agent = json.load(sys.stdin)["agent"]
                print(agent["state"], agent["protocol"])'
                vault doctor | grep 'of another release' | cut -d, -f1
                vault get mail --passphrase-file pass; echo " $?"
                vault lock; echo $?
                VAULT_AGENT_SOCK=$own vault status | grep ^agent | cut -c1-18
                vault agent --stop; echo $?; test -e $own || echo ended
                VAULT_AGENT_SOCK=$own vault status | grep ^agent
                kill -9 $OTHER_PID
                """)
        let refused = """
            vault: error: the agent is \(age) than this program
            vault: hint: end it with 'vault agent --stop', and unlock again
            1

            """
        #expect(
            result.output == String(repeating: refused, count: 4) + """
                agent       unlocked, locks in N min, of another release: 'vault agent --stop' ends it (pid)
                unlocked \(version)
                warn  the agent is of another release
                x 0
                0
                agent       locked
                0
                ended
                agent       none

                """, "\(result.error)")
    }

    @Test(arguments: [
        "b''", "b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n'", "b'\\xff' * 64", "bytes(8) + bytes([9]) + bytes(7)",
        "bytes(8) + bytes([3, 130]) + bytes(6)",
        "struct.pack('<IIBBHI', 3, 0, random.choice([2, 3, 5, 6]), 129, 0, 0) + bytes([13, 0, 5])",
    ]) func `a listener that is no agent is neither believed nor waited for`(reply: String) throws {
        let shell = try Shell()
        try shell.home.write(
            Array(
                """
                import random, socket, struct
                listener = socket.socket(socket.AF_UNIX)
                listener.bind("sock")
                listener.listen()
                print("listening", flush=True)
                while True:
                    link = listener.accept()[0]
                    link.recv(16)
                    link.sendall(\(reply))
                    link.close()
                """.utf8), to: "listener.py")
        let result = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            coproc OTHER { exec python3 listener.py; }
            read -r line <&"${OTHER[0]}"; export VAULT_AGENT_SOCK=$PWD/sock
            for verb in lock "agent --stop" "get mail"; do
                timeout 20 vault $verb >/dev/null 2>said; [ $? -lt 64 ] || echo "$verb: $?"
                grep -q '^vault: \\(error\\|warning\\)' said || echo "$verb says nothing"
            done
            vault status | grep '^agent  ' | grep -c 'locked'
            vault get mail --passphrase-file pass 2>/dev/null; echo $?
            kill -9 $OTHER_PID
            """)
        #expect(result.output == "0\n10\n", "\(result.error)")
    }
}
