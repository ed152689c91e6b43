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
            END
            done
            echo "SetEnv PATH=$PATH" >> ssh/server.conf
            cat > ssh/config <<END
            Host bare
              ProxyCommand \(sshd) -i -f $PWD/ssh/bare.conf
            Host *
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

    @Test(arguments: [
        ("unknown", "run 'ssh unknown' once"), ("bare", "finds no 'vault'"), ("server", "'/nowhere' on the server"),
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
            """)
        #expect(result.output == "VLTSRV\n64\n64\n8\n")
        #expect(result.error.contains("the client does not keep to the protocol"))
    }
}

private let sshd = "/usr/sbin/sshd"
