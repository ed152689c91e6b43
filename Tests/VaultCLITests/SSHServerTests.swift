// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

/// A fleet over a real sshd, which ssh starts for each connection and uses over its standard streams.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: sshd), "sshd is not installed: openssh-server"))
struct SSHServerTests {
    private let shell: Shell

    /// Makes three hosts: `server` with known keys, `unknown` with unknown keys, and `bare`, whose shell finds no
    /// vault.
    init() throws {
        shell = try Shell()
        let made = try shell.run(
            """
            set -e; chmod 600 pass; mkdir ssh bin there records
            [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
            for key in host key other; do ssh-keygen -q -t ed25519 -N '' -f ssh/$key; done
            for kind in server bare; do
                cat > ssh/$kind.conf <<END
            HostKey $PWD/ssh/host
            AuthorizedKeysFile $PWD/ssh/authorized
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password
            KexAlgorithms curve25519-sha256
            END
            done
            echo "SetEnv PATH=$PATH" >> ssh/server.conf
            cat > ssh/config <<END
            Host bare
              ProxyCommand \(sshd) -i -f $PWD/ssh/bare.conf
            Host *
              # The default one takes 0.1 s of the processor.
              KexAlgorithms curve25519-sha256
              ProxyCommand \(sshd) -i -f $PWD/ssh/server.conf
              UserKnownHostsFile $PWD/ssh/known
              GlobalKnownHostsFile /dev/null
              IdentityFile $PWD/ssh/key
              IdentitiesOnly yes
              IdentityAgent none
            END
            for host in server bare; do echo "$host $(cut -d' ' -f1,2 ssh/host.pub)"; done > ssh/known
            cp ssh/key.pub ssh/authorized
            printf '#!/bin/sh\\nexec /usr/bin/ssh -F %s "$@"\\n' "$PWD/ssh/config" > bin/ssh; chmod 755 bin/ssh
            """)
        #expect(made.status == 0, "\(made.error)")
    }

    /// Runs commands of a device whose `ssh` uses the test's configuration.
    private func run(_ commands: String) throws -> Shell.Result {
        try shell.run("export PATH=$PWD/bin:$PATH VAULT_PASSPHRASE_FILE=$PWD/pass\n" + commands)
    }

    @Test func `two devices have one vault by way of a server`() throws {
        let result = try run(
            """
            set -e; url=ssh://server$PWD/records
            vault init --kdf interactive; HOME=$PWD/there vault init --kdf interactive
            vault remote add $url --name laptop > code; chmod 600 code
            echo here | vault add radio; vault sync
            HOME=$PWD/there vault remote add $url --recovery-code-file code --name phone
            HOME=$PWD/there vault sync; HOME=$PWD/there vault get radio; echo
            echo there | HOME=$PWD/there vault set radio; HOME=$PWD/there vault sync
            vault sync; vault get radio; echo
            ls records
            """)
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains("here") && lines.contains("there") && lines.last == "vlt1")
    }

    @Test func `a device joins by a code, and a key may be kept to the fleet and to appending`() throws {
        let url = "ssh://server\(shell.home.path.string)/records"
        let founded = try run(
            """
            set -e; vault init --kdf interactive; HOME=$PWD/there vault init --kdf interactive
            vault remote add \(url) --name laptop; vault sync
            realm=$(ls records/vlt1)
            echo "command=\\"vault remote serve --realm $realm --append-only -- $PWD/records\\",restrict" \\
                "$(cat ssh/key.pub)" > ssh/authorized
            """)
        #expect(founded.status == 0, "\(founded.error)")
        // The line in authorized_keys determines the folder, regardless of the URL.
        let elsewhere = "ssh://server/nowhere/at/all"
        let code = try shell.firstLine(
            ofAside: """
                env PATH=$PWD/bin:$PATH HOME=$PWD/there vault remote add \(elsewhere) --join --timeout 600 \
                --name phone --passphrase-file pass
                """)
        let approved = try run(
            "printf %s '\(code)' > joining; chmod 600 joining; vault device approve --code-file joining --yes")
        #expect(approved.status == 0, "\(approved.error)")
        #expect(try shell.endOfAside() == 0)
        let synced = try run("vault sync && HOME=$PWD/there vault sync && vault device list | wc -l")
        #expect(synced.status == 0 && synced.output.hasSuffix("2\n"), "\(synced.error)")
    }

    @Test func `a server behind another one is reached as the user's configuration says`() throws {
        let result = try run(
            """
            set -e; trap '[ -z "$server" ] || kill $server' EXIT
            # A port that was free a moment ago may be taken by now.
            for try in 1 2 3 4 5; do
                free='import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
                port=$(python3 -c "$free")
                \(sshd) -D -e -f ssh/server.conf -o ListenAddress=127.0.0.1 -o Port=$port 2>ssh/log & server=$!
                until grep -q listening ssh/log; do kill -0 $server || continue 2; done
                break
            done
            cat > ssh/jump <<END
            Host inner
              HostName 127.0.0.1
              Port $port
              HostKeyAlias server
              ProxyJump outer
            Host outer
              HostKeyAlias server
            END
            cat ssh/jump ssh/config > ssh/both; mv ssh/both ssh/config
            vault init --kdf interactive; vault remote add ssh://inner$PWD/records --name laptop
            echo here | vault add radio; vault sync; ls records
            """)
        #expect(result.status == 0 && result.output.hasSuffix("vlt1\n"), "\(result.error)")
    }

    @Test func `a key that is kept to the service does nothing else, and a port of it neither`() throws {
        let result = try run(
            """
            echo "command=\\"vault remote serve --append-only -- $PWD/records\\",restrict $(cat ssh/key.pub)" \\
                > ssh/authorized
            for command in 'cat pass' '' 'vault list' "vault remote serve -- $PWD"; do
                ssh server $command </dev/null | tr -d '\\000\\001'; echo
            done
            ssh -W 127.0.0.1:1 server </dev/null; echo $?
            """)
        #expect(result.output == "VLTSRV\nVLTSRV\nVLTSRV\nVLTSRV\n255\n", "\(result.error)")
    }

    @Test(arguments: ["device", "server"], 0..<2)
    func `whichever process is killed at whichever frame, nothing is lost`(side: String, first: Int) throws {
        let result = try run(
            """
            set -e; export SSH_CONFIG=$PWD/ssh/config
            printf '#!/bin/sh\\necho $$ > %s/serve.pid\\nexec %s "$@"\\n' $PWD $(command -v vault) > bin/vault
            cp $(command -v ssh) bin/whole; chmod 755 bin/*
            # The server's shell finds this command.
            sed -i "s|^SetEnv PATH=|&$PWD/bin:|" ssh/server.conf
            url=ssh://server$PWD/records
            for home in $PWD $PWD/there; do
                export HOME=$home; vault init --kdf interactive
                vault slot add key-file --new-key-file $PWD/key
            done
            # A key file opens a vault without the work of Argon2.
            unset VAULT_PASSPHRASE_FILE; export HOME=$PWD VAULT_KEY_FILE=$PWD/key
            vault remote add $url --name laptop > code; chmod 600 code
            echo first | vault add radio; vault sync > /dev/null
            HOME=$PWD/there vault remote add $url --recovery-code-file code --name phone
            { HOME=$PWD/there vault sync; vault sync; } > /dev/null
            frame=0 victims=(ssh sshd serve)
            while :; do
                victim=${victims[(frame + \(first)) % 3]}
                echo "$victim $frame" | vault set radio
                rm -f cut; printf '#!/bin/sh\\nexec python3 %s "$@"\\n' \(Self.cut) > bin/ssh
                status=0; CUT="\(side) $frame $victim" vault sync >said 2>&1 || status=$?
                cp bin/whole bin/ssh
                [ $status -eq 0 ] || [ $status -eq 30 ] || { echo "$victim $frame: $status"; cat said; }
                { vault sync; HOME=$PWD/there vault sync; } > /dev/null
                got=$(HOME=$PWD/there vault get radio)
                [ "$got" = "$victim $frame" ] || echo "$victim $frame: $got"
                [ -e cut ] || break
                frame=$((frame + 1))
            done
            [ $frame -gt 3 ] || echo "$frame frames"
            """)
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)\(result.error)")
    }

    private static let cut = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "cut.py").path()

    @Test func `the folder of a server and the server's log name no item, no secret and no device`() throws {
        let result = try run(
            """
            set -e; printf 'LogLevel DEBUG3\\n' >> ssh/server.conf
            sed -i "s|ProxyCommand .* $PWD/ssh/server.conf|& -E $PWD/ssh/log|" ssh/config
            url=ssh://server$PWD/records
            vault init --kdf interactive
            vault remote add $url --name 'laptop of Ada' > code; chmod 600 code
            echo 'the secret of it' | vault add --label labelled somewhere radio; vault sync > /dev/null
            HOME=$PWD/there vault init --kdf interactive
            HOME=$PWD/there vault remote add $url --recovery-code-file code --name 'phone of Bob'
            HOME=$PWD/there vault sync > /dev/null
            grep -q 'Starting session' ssh/log
            grep -rlaiE 'laptop|phone|radio|secret of|somewhere|labelled' ssh/log records || echo nothing
            grep -rlaF -f code ssh/log records || echo nothing
            """)
        #expect(result.status == 0 && result.output == "nothing\nnothing\n", "\(result.output)\(result.error)")
    }

    @Test(arguments: [
        ("unknown", "run 'ssh unknown' once"), ("bare", "finds no 'vault'"), ("server", "'nowhere' on the server"),
    ]) func `a server that cannot be used is unreachable, and the reason is told`(host: String, reason: String) throws {
        let result = try run(
            "vault init --kdf interactive 2>/dev/null; vault remote add ssh://\(host)/nowhere --name laptop")
        #expect(result.status == 30)
        #expect(result.error.contains(reason), "\(result.error)")
    }

    @Test func `a key that the server does not take is told of`() throws {
        let refused = try run(
            """
            cat ssh/other.pub > ssh/authorized
            vault init --kdf interactive 2>/dev/null; vault remote add ssh://server$PWD/records --name laptop
            """)
        #expect(refused.status == 30 && refused.error.contains("none of this device's keys"), "\(refused.error)")
    }

    @Test func `what is not a device gets nothing of the service`() throws {
        let result = try shell.run(
            """
            echo 'GET / HTTP/1.1' | vault remote serve -- $PWD/records | head -c 6; echo
            vault remote serve -- records </dev/null; echo $?
            vault remote serve --realm x -- $PWD/records </dev/null; echo $?
            vault remote serve -- $PWD/records </dev/null | wc -c
            # The command does not change the flags of a shared descriptor.
            python3 - <<'END'
            import fcntl, os, subprocess
            (there, end), (back, answer) = os.pipe(), os.pipe()
            os.close(end)
            subprocess.run(['vault', 'remote', 'serve', '--', os.getcwd()], stdin=there, stdout=answer)
            print([fcntl.fcntl(one, fcntl.F_GETFL) & os.O_NONBLOCK for one in (there, answer)])
            END
            """)
        #expect(result.output == "VLTSRV\n64\n64\n8\n[0, 0]\n")
        #expect(result.error.contains("the client does not keep to the protocol"))
    }
}

private let sshd = "/usr/sbin/sshd"
