// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Testing

private enum OpenSSH {
    static let hasClient = access("/usr/bin/ssh-add", X_OK) == 0
    /// For root, sshd requires a directory that its package creates.
    static let hasServer =
        access("/usr/sbin/sshd", X_OK) == 0 && (geteuid() != 0 || access("/run/sshd", F_OK) == 0)
}

/// The released `vault doors --ssh`, with OpenSSH's programs.
@Suite(.enabled(if: OpenSSH.hasClient)) struct SSHServeTests {
    /// Shell functions: `serve` opens the door and waits until it is ready, `ended` prints how the door ended.
    private static let script = """
        unset DBUS_SESSION_BUS_ADDRESS; chmod 600 pass
        vault init --kdf interactive --passphrase-file pass 2>/dev/null
        export SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/vault/ssh.sock
        serve() {
            vault doors --ssh "$SSH_AUTH_SOCK" "$@" 2>said & served=$!
            trap 'kill -9 $served 2>/dev/null' EXIT
            # ssh-add ends with 1 for an agent without keys, and with 2 without an agent.
            until ssh-add -l >/dev/null 2>&1; [ $? -le 1 ] || ! kill -0 $served 2>/dev/null || [ $SECONDS -gt 60 ]; do
                :
            done
        }
        ended() { kill $served 2>/dev/null; wait $served; echo "ended $?"; }
        key() { ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$1"; }

        """

    private func run(_ script: String) throws -> Shell.Result { try Shell().run(Self.script + script) }

    // MARK: Reasons to keep a door closed

    @Test func `a socket needs a directory of the user's own, and no other's place`() throws {
        let result = try run(
            """
            mkdir -m 755 open; vault doors --ssh open/s; echo $?
            mkdir -m 700 own; echo x > own/s; vault doors --ssh own/s; echo $?; cat own/s
            vault doors --ssh-store; echo $?; vault doors --ssh; echo $?
            vault doors --ssh own/$(printf 'a%.0s' {1..200}); echo $?
            """)
        #expect(result.output == "30\n30\nx\n64\n64\n30\n", "\(result)")
        #expect(result.error.contains("vault: error: --ssh-store is for --ssh\n"), "\(result)")
    }

    @Test func `a second door leaves the socket to the first, and one that nobody listens at is replaced`() throws {
        let result = try run(
            """
            serve; vault doors --ssh $SSH_AUTH_SOCK; echo $?; ssh-add -l; kill -9 $served; wait $served 2>/dev/null
            [ -S $SSH_AUTH_SOCK ] && echo left; serve; ssh-add -l
            stat -c %a $SSH_AUTH_SOCK $XDG_RUNTIME_DIR/vault; ended; [ -e $SSH_AUTH_SOCK ] || echo gone
            """)
        #expect(
            result.output == """
                14
                The agent has no identities.
                left
                The agent has no identities.
                600
                700
                ended 0
                gone

                """, "\(result)")
    }

    // MARK: Serving

    @Test func `what vault ssh-add keeps the door serves, while the vault is unlocked`() throws {
        let result = try run(
            """
            key ada; vault unlock --passphrase-file pass 2>/dev/null; vault ssh-add ada 2>&1; rm ada
            serve; ssh-add -T ada.pub; echo "T $?"; ssh-add -l | cut -d' ' -f3; key bob; ssh-add -q bob
            ssh-add -l | cut -d' ' -f3; vault ssh-add -l | cut -d' ' -f3
            vault lock; ssh-add -l | cut -d' ' -f3; ended
            serve --ssh-store; vault unlock --passphrase-file pass 2>/dev/null; ssh-add -q bob; ssh-add -q -t 600 bob
            ssh-add -D 2>/dev/null; vault ssh-add -l | cut -d' ' -f3; ssh-add -d bob.pub 2>/dev/null
            vault ssh-add -l | cut -d' ' -f3; ended; vault status | grep ^doors
            """)
        #expect(
            result.output == """
                Identity added: ada (ada)
                T 0
                ada
                bob
                ada
                ada
                bob
                ended 0
                ada
                bob
                ada
                ended 0
                doors       none

                """, "\(result)")
    }

    @Test(arguments: ["83886194 Not confirmed", "83886142 Timeout"])
    func `a client whose question is refused or not answered has none asked again at once`(answer: String) throws {
        let result = try run(
            """
            cat >ask <<'END'
            #!/bin/bash
            echo OK
            while IFS= read -r line; do
                case "$line" in CONFIRM*) echo asked >>asked; echo 'ERR \(answer) <Pinentry>' ;; *) echo OK ;; esac
            done
            END
            chmod 700 ask; export DISPLAY=:7 VAULT_PINENTRY=$PWD/ask; key ada
            vault unlock --passphrase-file pass 2>/dev/null; serve; ssh-add -q -c ada 2>/dev/null
            ssh-add -T ada.pub ada.pub 2>/dev/null; echo $?; cat asked
            """)
        #expect(result.output == "1\nasked\n", "\(result)")
    }

    @Test func `status says where the door is open, and opens none for that`() throws {
        let result = try run(
            """
            vault doors status | grep ^ssh; serve; vault doors status | grep ^ssh | sed "s,$XDG_RUNTIME_DIR,RUN,"
            vault status | grep ^doors | sed "s,$XDG_RUNTIME_DIR,RUN,"; ended
            """)
        #expect(
            result.output == """
                ssh             not enabled
                ssh             not enabled, open at RUN/vault/ssh.sock
                doors       ssh: not enabled, open at RUN/vault/ssh.sock
                ended 0

                """, "\(result)")
    }

    @Test(.enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0))
    func `a socket that systemd hands over is served, and left to it`() throws {
        let result = try run(
            """
            mkdir -m 700 $XDG_RUNTIME_DIR/vault
            systemd-socket-activate -E XDG_RUNTIME_DIR -E HOME -E PATH -l $SSH_AUTH_SOCK \
                vault doors --ssh $SSH_AUTH_SOCK 2>/dev/null & served=$!
            until [ -S $SSH_AUTH_SOCK ]; do :; done
            ssh-add -l; key ada; ssh-add -q ada; ssh-add -l | cut -d' ' -f3; ended; [ -S $SSH_AUTH_SOCK ] && echo left
            """)
        #expect(result.output == "The agent has no identities.\nada\nended 0\nleft\n", "\(result)")
    }

    @Test(.enabled(if: OpenSSH.hasServer))
    func `ssh logs in with a key, and from there on with the agent, on the ways that the key may go`() throws {
        let result = try run(
            """
            key id; cp id.pub authorized; for n in 1 2; do
                key host$n; echo "h$n $(cut -d' ' -f1,2 host$n.pub)" >> known
                printf '%s\\n' "HostKey $HOME/host$n" "AuthorizedKeysFile $HOME/authorized" 'StrictModes no' \
                    'UsePAM no' 'PermitRootLogin yes' "SetEnv PATH=$PATH" > sshd$n
                printf '%s\\n' "Host h$n" "  ProxyCommand /usr/sbin/sshd -i -f $HOME/sshd$n" >> conf
            done
            printf '%s\\n' 'Host *' "  User $(id -un)" "  UserKnownHostsFile $HOME/known" '  BatchMode yes' \
                '  GlobalKnownHostsFile /dev/null' '  IdentityFile none' '  LogLevel QUIET' >> conf
            there="ssh -F $HOME/conf"; serve
            ssh-add -q id; $there -A h1 "$there h2 echo on the second"
            ssh-add -q -D; ssh-add -q -H known -h h1 -h 'h1>h2' id
            $there h1 echo on the first; $there h2 echo directly on the second; echo $?
            $there -A h1 "$there h2 echo by the first; $there -A h2 '$there h1 echo back'; ssh-add -l | cut -d' ' -f3"
            ssh-add -q -D; ssh-add -q -H known -h h1 id
            $there -A h1 "ssh-add -l; $there h2 echo on; $there h1 echo on"; ended
            """)
        #expect(
            result.output == """
                on the second
                on the first
                255
                by the first
                id
                The agent has no identities.
                ended 0

                """, "\(result)")
    }
}
