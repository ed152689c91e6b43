// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path()

/// A release is packaged with the date of a commit.
private let hasRelease =
    ProcessInfo.processInfo.environment["VAULT_RELEASE"] != nil
    && (try? Shell().run("git -C '\(root)' log -1").status) == 0

/// Runs Scripts/package on an existing command, without a build.
@Suite(.enabled(if: hasRelease)) struct PackageTests {
    /// Runs a script: the packages are in `one`, and those for Debian are unpacked in `keychain`, `pam` and `system`.
    private func run(_ script: String, in shell: Shell) throws -> Shell.Result {
        // The compiler's directory, whose tools the script uses.
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try shell.run(
            """
            PATH="$PATH:"'\(path)'
            scripts='\(root)Scripts' command='\(Shell.commands)/vault'; export VAULT_PACKAGE_LEVEL=0
            unpack() { mkdir "$2"; dpkg-deb -x one/$1_*.deb "$2"; dpkg-deb -e one/$1_*.deb "$2/control"; }
            if [ ! -e one ]; then
                "$scripts/package" --binary "$command" --output one >log 2>&1 || { cat log; exit 1; }
                unpack vault-keychain keychain; unpack libpam-vault pam; unpack vault-keychain-system system
            fi
            version=$("$command" --version) machine=$(uname -m)
            \(script)
            """)
    }

    @Test func `the same sources and the same command make the same bytes`() throws {
        let shell = try Shell()
        let result = try run(
            """
            (umask 077; TZ=Asia/Tokyo LANG=C "$scripts/package" --binary "$command" --output two >log 2>&1) || cat log
            diff -r one two && ls one | sed "s/$version/VERSION/; s/$machine/MACHINE/; s/_[a-z0-9]*.deb/_ARCH.deb/"
            cd one && sha256sum --check --quiet SHA256SUMS && wc -l <SHA256SUMS
            """, in: shell)
        #expect(
            result.output == """
                SHA256SUMS
                libpam-vault_VERSION_ARCH.deb
                vault-VERSION-linux-MACHINE.tar.xz
                vault-VERSION.spdx.json
                vault-keychain-system_VERSION_ARCH.deb
                vault-keychain_VERSION_ARCH.deb
                5

                """, "\(result.output)\(result.error)")
    }

    @Test func `the packages are complete and work, and their bill of materials is true`() throws {
        let shell = try Shell()
        try checkContents(in: shell)
        try checkLoginAndMachine(in: shell)
        try checkBill(in: shell)
    }

    private func checkContents(in shell: Shell) throws {
        let result = try run(
            """
            dpkg-deb -c one/vault-keychain_*.deb | grep -vc ' root/root '
            (cd keychain && find . ! -type d ! -path './control/*' | LC_ALL=C sort)
            keychain/usr/bin/vault --version | grep -cx "$version"
            # The command contains no names of functions or sources.
            nm keychain/usr/bin/vault 2>&1 | grep -c 'no symbols'
            grep -h ^ExecStart keychain/usr/lib/systemd/user/*.service
            head -c2 keychain/usr/share/bash-completion/completions/vault | grep -c '#!'
            zcat keychain/usr/share/man/man1/vault.1.gz | head -1 | grep -c "vault $version"
            grep -E '^(Conflicts|Recommends)' keychain/control/control
            grep -oE '(libc6|libsodium23) \\(>= ' keychain/control/control
            (cd keychain && md5sum --quiet -c control/md5sums && echo sums)
            tar -tvf one/vault-$version-linux-$machine.tar.xz | sed "s/.* vault-$version/vault-VERSION/" | grep -v '/$'
            """, in: shell)
        #expect(
            result.output == """
                0
                ./usr/bin/cargo-credential-vault
                ./usr/bin/docker-credential-vault
                ./usr/bin/git-credential-vault
                ./usr/bin/vault
                ./usr/bin/vault-browser-host
                ./usr/lib/systemd/user/vault-agent.service
                ./usr/lib/systemd/user/vault-agent.socket
                ./usr/lib/systemd/user/vault-credentials.service
                ./usr/lib/systemd/user/vault-credentials.socket
                ./usr/lib/systemd/user/vault-doors.service
                ./usr/share/bash-completion/completions/vault
                ./usr/share/doc/vault-keychain/README.md
                ./usr/share/doc/vault-keychain/SECURITY.md
                ./usr/share/doc/vault-keychain/changelog.gz
                ./usr/share/doc/vault-keychain/copyright
                ./usr/share/fish/vendor_completions.d/vault.fish
                ./usr/share/man/man1/cargo-credential-vault.1.gz
                ./usr/share/man/man1/docker-credential-vault.1.gz
                ./usr/share/man/man1/git-credential-vault.1.gz
                ./usr/share/man/man1/vault-browser-host.1.gz
                ./usr/share/man/man1/vault.1.gz
                ./usr/share/man/man7/vault.7.gz
                ./usr/share/xdg-desktop-portal/portals/vault.portal
                ./usr/share/zsh/vendor-completions/_vault
                1
                1
                ExecStart=/usr/bin/vault agent --foreground $VAULT_AGENT_OPTIONS
                ExecStart=/usr/bin/vault doors --credentials %t/vault/credentials.sock
                ExecStart=/usr/bin/vault doors --secret-service --portal
                0
                1
                Recommends: libcurl4, libexpat1, libncursesw6, libpq5, libssl3, libsystemd0, pinentry-gnome3 | pinentry
                Conflicts: vault
                libc6 (>= 
                libsodium23 (>= 
                sums
                vault-VERSION/LICENSE
                vault-VERSION/README.md
                vault-VERSION/SECURITY.md
                vault-VERSION/bin/cargo-credential-vault -> vault
                vault-VERSION/bin/docker-credential-vault -> vault
                vault-VERSION/bin/git-credential-vault -> vault
                vault-VERSION/bin/vault
                vault-VERSION/bin/vault-browser-host -> vault
                vault-VERSION/share/bash-completion/completions/vault
                vault-VERSION/share/fish/vendor_completions.d/vault.fish
                vault-VERSION/share/man/man1/cargo-credential-vault.1.gz -> vault.1.gz
                vault-VERSION/share/man/man1/docker-credential-vault.1.gz -> vault.1.gz
                vault-VERSION/share/man/man1/git-credential-vault.1.gz -> vault.1.gz
                vault-VERSION/share/man/man1/vault-browser-host.1.gz -> vault.1.gz
                vault-VERSION/share/man/man1/vault.1.gz
                vault-VERSION/share/man/man7/vault.7.gz
                vault-VERSION/share/systemd/user/vault-agent.service
                vault-VERSION/share/systemd/user/vault-agent.socket
                vault-VERSION/share/systemd/user/vault-credentials.service
                vault-VERSION/share/systemd/user/vault-credentials.socket
                vault-VERSION/share/systemd/user/vault-doors.service
                vault-VERSION/share/xdg-desktop-portal/portals/vault.portal
                vault-VERSION/share/zsh/site-functions/_vault

                """, "\(result.output)\(result.error)")
    }

    /// At login, the module runs after the module that makes the directory of the agent's socket.
    private func checkLoginAndMachine(in shell: Shell) throws {
        let result = try run(
            """
            (cd pam && find . -name '*.so' -o -path '*pam-configs/*' | sed 's|/[a-z0-9_]*-linux-gnu/|/ARCH/|' | sort)
            # pam-auth-update sorts by the priority; systemd's module has 0.
            grep ^Priority pam/usr/share/pam-configs/vault; grep -c pam_vault.so pam/usr/share/pam-configs/vault
            grep -h pam-auth-update pam/control/p*
            (cd system && find . -type f ! -path './control/*' ! -path '*/doc/*' | LC_ALL=C sort)
            for unit in keychain/usr/lib/systemd/user/*.service system/usr/lib/systemd/system/*.service; do
                sed -i "s|/usr/bin/vault|$PWD/keychain&|" "$unit"
                systemd-analyze verify --man=no $(case "$unit" in */user/*) echo --user; esac) "$unit" 2>&1
            done
            for script in pam/control/p* system/control/p* system/usr/sbin/*; do sh -n "$script"; done
            """, in: shell)
        #expect(
            result.output == """
                ./usr/lib/ARCH/security/pam_vault.so
                ./usr/share/pam-configs/vault
                Priority: -1
                3
                if [ "$1" = configure ] || [ "$1" = abort-remove ] || [ "$1" = abort-upgrade ]; then \
                pam-auth-update --package; fi
                if [ "$1" = remove ]; then pam-auth-update --package --remove vault; fi
                ./usr/lib/systemd/system/vault-system-credentials.service
                ./usr/lib/systemd/system/vault-system-credentials.socket
                ./usr/lib/systemd/system/vault-system.service
                ./usr/lib/sysusers.d/vault-keychain-system.conf
                ./usr/lib/tmpfiles.d/vault-keychain-system.conf
                ./usr/sbin/vault-system
                ./usr/share/man/man8/vault-system.8.gz

                """, "\(result.output)\(result.error)")
    }

    /// The bill matches the package, and a changed package is detected.
    private func checkBill(in shell: Shell) throws {
        let result = try run(
            """
            bill=$(echo one/*.spdx.json); "$scripts/bill-of-materials" --check "$bill" one; echo $?
            python3 - "$bill" '\(root)Package.resolved' <<'END'
            import json, sys
            bill, resolved = (json.load(open(name)) for name in sys.argv[1:])
            packages = {one['name']: one for one in bill['packages']}
            print(*sorted(packages), sep='\\n')
            pins = {pin['identity']: pin['state']['version'] for pin in resolved['pins']}
            assert all(packages[name]['versionInfo'] == pins[name] for name in packages if name in pins)
            assert len({one['fileName'] for one in bill['files']}) == 6
            END
            echo >>one/libpam-vault_*.deb; "$scripts/bill-of-materials" --check "$bill" one 2>&1 | sed 's/_.*deb/.deb/'
            sed -i 's/"spdxElementId": "SPDXRef-File/&x/' "$bill"
            "$scripts/bill-of-materials" --check "$bill" one >/dev/null 2>&1; echo $?
            """, in: shell)
        #expect(
            result.output == """
                0
                Argon2
                Expat
                Linux-PAM
                OpenSSL
                curl
                curl-gnutls
                gcc
                libfido2
                libpq
                libsodium
                libsystemd
                ncurses
                swift
                swift-argument-parser
                swift-log
                swift-system
                vault
                bill-of-materials: ./libpam-vault.deb is another file
                1

                """, "\(result.output)\(result.error)")
    }
}

/// The scripts by which dpkg installs and removes the packages.
struct PackageScriptTests {
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemctl")))
    func `the machine's units are disabled with their package's removal, and not with an upgrade`() throws {
        let result = try Shell().run(
            """
            units=root/usr/lib/systemd/system
            mkdir -p bin $units; cp '\(root)'Scripts/systemd/vault-system* $units
            # Enables and disables in another system, in which nothing runs.
            printf '#!/bin/sh\\n[ "$1" != stop ] || exit 1\\nexec /usr/bin/systemctl --root="%s" "$@"\\n' "$PWD/root" \\
                > bin/systemctl
            chmod 755 bin/systemctl; export PATH=$PWD/bin:$PATH
            script='\(root)'Scripts/debian/vault-keychain-system.prerm
            systemctl --quiet enable vault-system.service vault-system-credentials.socket
            for why in 'upgrade 1.0' 'failed-upgrade 1.0' remove; do
                sh "$script" $why && find root/etc -name 'vault-system*' | wc -l
            done
            """)
        #expect(result.output == "2\n2\n0\n", "\(result.error)")
    }
}
