// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// git itself, with the command as its helper, and a server that requires authentication.
struct GitTests {
    /// Runs a script with a repository at `$url`, which accepts only the user ada with the password s3cret.
    private func run(_ script: String) throws -> Shell.Result {
        let server = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "gitserver.py").path()
        return try Shell().run(
            """
            export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 VAULT_PASSPHRASE_FILE=~/pass
            chmod 600 pass; vault init --kdf interactive 2>/dev/null
            git config --global credential.helper '!vault git-credential'
            git config --global user.name ada; git config --global user.email ada@example.com
            git init -q --bare repo.git; git -C repo.git config http.receivepack true
            # A process left behind would keep the test from ending, and other signals may be blocked.
            mkfifo port; /usr/bin/python3 '\(server)' "$PWD" ada:s3cret >port & server=$!
            trap 'kill -KILL $server' EXIT
            read -r port <port
            url=http://127.0.0.1:$port/repo.git
            approve() {
                printf 'protocol=http\\nhost=%s\\nusername=ada\\npassword=%s\\n' "$1" "$2" | git credential approve
            }
            \(script)
            """)
    }

    @Test func `a server that asks gets nothing that is another's`() throws {
        let result = try run(
            """
            approve localhost:$port s3cret; approve 127.0.0.1:1 s3cret; approve 127.0.0.1 s3cret
            git clone -q $url one 2>/dev/null || echo refused
            sort -u requests
            """)
        #expect(result.output == "refused\n/repo.git/info/refs no\n", "\(result)")
    }

    @Test func `git clones and pushes with what the vault has`() throws {
        let result = try run(
            """
            approve 127.0.0.1:$port s3cret
            git clone -q $url one 2>/dev/null
            git -C one commit -q --allow-empty -m first; git -C one push -q origin HEAD
            git clone -q $url two; git -C two log --format=%s
            vault history 127.0.0.1 --class internet | grep -c ^version; vault find --class internet | cut -f2
            """)
        #expect(result.output == "first\n1\nada\n", "\(result)")
    }

    @Test func `what the server refuses is forgotten`() throws {
        let result = try run(
            """
            approve 127.0.0.1:$port wrong
            git clone -q $url one 2>/dev/null || echo refused
            vault find --class internet; echo "$?"
            """)
        #expect(result.output.hasPrefix("refused\n") && !result.output.contains("127.0.0.1"), "\(result)")
    }

    /// A web password for the repository's host, as a browser's export brings it, and the person whom git asks.
    private static let imported = """
        printf 'name,url,username,password\\nsite,%s,ada,web\\n' "http://127.0.0.1:$port/login" >passwords.csv
        vault import csv passwords.csv >/dev/null && vault unlock
        mkdir bin; ln -s "$(command -v vault)" bin/git-credential-vault; export PATH=$PWD/bin:$PATH
        git config --global credential.helper vault
        printf '#!/bin/sh\\ncase $1 in Username*) echo ada ;; *) echo s3cret ;; esac\\n' >ask; chmod +x ask
        export GIT_ASKPASS=$PWD/ask
        """

    @Test func `after the import of a browser's passwords git asks, and then has a login of its own`() throws {
        let result = try run(
            Self.imported + """

                git clone -q $url one 2>errors || echo "failed $?"
                unset GIT_ASKPASS; git -C one fetch || echo "failed $?"
                vault find --class internet | cut -f2,3
                """)
        #expect(result.output.contains("ada\tsite\n") && result.output.contains("ada\tGit: http"), "\(result)")
        #expect(!result.output.contains("failed"), "\(result)")
    }

    @Test func `an imported password that the server refuses stands in git's way once`() throws {
        let result = try run(
            Self.imported + """

                git config --global credential.helper 'vault --imported'
                git clone -q $url one 2>/dev/null || echo "failed $?"
                git clone -q $url one 2>/dev/null && git -C one fetch && echo cloned
                """)
        #expect(result.output.hasPrefix("failed 128\ncloned\n"), "\(result)")
    }

    @Test func `thirty processes that store a token of one login at once all succeed`() throws {
        let result = try run(
            """
            vault unlock
            place='protocol=https\\nhost=h.example\\n'
            for number in $(seq 30); do
                printf "$place"'username=ada\\npassword=%s\\n' $number |
                    vault git-credential store || echo "failed $?" &
                printf "$place\\n" | vault git-credential get >/dev/null || echo "failed $?" &
            done
            for job in $(jobs -p); do [ $job = $server ] || wait $job; done
            vault find --class internet h.example | cut -f1,2
            """)
        #expect(result.output == "h.example\tada\n", "\(result)")
    }

    @Test func `a vault that is locked lets git go on to its next helper`() throws {
        let result = try run(
            """
            unset VAULT_PASSPHRASE_FILE
            git config --global --add credential.helper '!f() { printf "username=ada\\npassword=s3cret\\n"; }; f'
            git clone -q $url one 2>errors && grep -c 'the vault is locked' errors
            """)
        #expect(result.status == 0 && Int(result.output.filter(\.isNumber)) ?? 0 >= 1, "\(result)")
    }
}
