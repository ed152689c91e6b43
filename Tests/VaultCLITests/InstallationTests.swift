// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// Scripts/install, which puts the command into a directory.
struct InstallationTests {
    @Test func `the installation is complete, and systemd accepts its units`() throws {
        let shell = try Shell()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Scripts/install")
            .standardized.path()
        let result = try shell.run(
            """
            \(script) --prefix "$HOME/prefix" --binary "$(command -v vault)" >/dev/null && cd prefix &&
                find . ! -type d | sort && bin/vault --version
            for page in 1 7; do grep -c '^\\.SH NAME' share/man/man$page/vault.$page; done
            bash -n share/bash-completion/completions/vault
            if command -v man >/dev/null; then man --warnings -l share/man/man1/vault.1 2>&1 >/dev/null
            man --warnings -l share/man/man7/vault.7 2>&1 >/dev/null; fi
            if command -v systemd-analyze >/dev/null; then cd share/systemd/user
                systemd-analyze verify --user --man=no ./vault-agent.socket ./vault-agent.service \
                    ./vault-doors.service ./vault-credentials.socket ./vault-credentials.service 2>&1
                for unit in vault-agent vault-credentials; do
                    systemd-analyze security --offline=yes ./$unit.service 2>/dev/null |
                        grep -q 'exposure level.*: [01]\\.' || echo exposed
                done
                systemd-analyze security --offline=yes ./vault-doors.service 2>/dev/null |
                    grep -q 'exposure level.*: [0-6]\\.' || echo exposed
            fi
            cd; mkdir -p .config; echo '[Wallet]' >.config/kwalletrc
            prefix/bin/vault doors enable secret-service browser >/dev/null
            \(script) --prefix "$HOME/prefix" --uninstall >/dev/null; find "$HOME/prefix" ! -type d
            find . -type f ! -path './.std*' ! -name '*pass' ! -name other; cat .config/kwalletrc
            """)
        #expect(
            result.output == """
                ./bin/cargo-credential-vault
                ./bin/docker-credential-vault
                ./bin/git-credential-vault
                ./bin/vault
                ./bin/vault-browser-host
                ./share/bash-completion/completions/vault
                ./share/fish/vendor_completions.d/vault.fish
                ./share/man/man1/vault.1
                ./share/man/man7/vault.7
                ./share/systemd/user/vault-agent.service
                ./share/systemd/user/vault-agent.socket
                ./share/systemd/user/vault-credentials.service
                ./share/systemd/user/vault-credentials.socket
                ./share/systemd/user/vault-doors.service
                ./share/zsh/site-functions/_vault
                0.1.0
                1
                1
                ./.config/kwalletrc
                [Wallet]

                """, "\(result.output)\(result.error)")
    }

    @Test
    func `an installation that cannot build says what the compiler said, and one that can says what the shell wants`()
        throws
    {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Scripts/install")
            .standardized.path()
        let shell = try Shell()
        let failed = try shell.run(
            """
            mkdir fake; printf '#!/bin/sh\\necho main.swift:1:1: error: no such thing; exit 1\\n' > fake/swift
            chmod +x fake/swift
            PATH=$PWD/fake:$PATH \(script) --prefix "$HOME/prefix"
            """)
        #expect(
            failed.status == 1 && failed.error.contains("error: no such thing")
                && failed.error.contains("the build failed"))
        let done = try shell.run("\(script) --prefix \"$HOME/prefix\" --binary $(command -v vault)")
        #expect(done.status == 0 && done.output.contains("export PATH=") && done.output.contains("fpath=("), "\(done)")
    }
}
