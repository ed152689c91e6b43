// SPDX-License-Identifier: Apache-2.0
import Testing

private let root = DoorScript.root

/// `vault doors` as a command, beside a private bus.
@Suite(.enabled(if: DoorScript.hasBus)) struct DoorsCommandTests {
    private func run(_ script: String) throws -> Shell.Result { try Shell().run(DoorScript.start + script) }

    @Test func `a bus that hangs or has gone hangs nothing, and status ends with 0`() throws {
        let result = try run(
            """
            export DBUS_SESSION_BUS_ADDRESS=unix:path=$HOME/hung
            look() { vault doors status | grep ^bus; vault doctor | grep bus; }
            look
            mkfifo ready; python3 -c 'if True:
                import socket, time
                s = socket.socket(socket.AF_UNIX); s.bind("hung"); s.listen(); print(flush=True); time.sleep(600)
            ' >ready & hung=$!
            until read -r _ <ready; do :; done; look; kill -9 $hung
            vault doors enable secret-service | tail -1 | grep -o '^wrote'; vault status | grep doors
            vault doors disable secret-service >/dev/null; echo $?
            export DBUS_SESSION_BUS_ADDRESS='unixexec:path=/usr/bin/touch,argv1=started'
            vault doors status | grep ^bus; ls started
            """)
        let unreachable = "bus             the session bus cannot be reached\nok    the session bus cannot be reached\n"
        #expect(
            result.output == unreachable + unreachable
                + "wrote\ndoors       secret-service: enabled\n0\nbus             there is no session bus\n",
            "\(result)")
    }

    @Test func `nothing is started to say who serves, and what would be is said`() throws {
        let result = try run(
            """
            mkdir -p .local/share/dbus-1/services
            printf '[D-BUS Service]\\nName=org.freedesktop.secrets\\nExec=/usr/bin/touch %s/started\\n' "$HOME" \\
                >.local/share/dbus-1/services/another.service
            export XDG_DATA_HOME=$HOME/.local/share; bus
            vault doors status | head -3; vault doctor >/dev/null; vault status >/dev/null; ls started
            dbus-send --session --print-reply --dest=org.freedesktop.secrets / a.b.c 2>/dev/null; ls started
            """)
        #expect(
            result.output.replacing(#/\/[^ ]*\/vault-test-[0-9a-f]*/#, with: "HOME") == """
                secret-service  not enabled, not served
                                started by HOME/.local/share/dbus-1/services/another.service
                                as /usr/bin/touch HOME/started
                started

                """, "\(result)")
    }

    @Test func `another program that has the name is told of, and the vault's own is known`() throws {
        let foreign = try run(
            """
            owner; vault doors status | head -1 | sed "s/$pid/PID/"; doctor
            vault doors enable secret-service 2>&1 >/dev/null | sed "s/$pid/PID/"
            doctor; vault status | grep doors | sed "s/$pid/PID/"
            vault doors status --json | grep -o '"isVault":[a-z]*'
            """)
        let python = foreign.output.split(separator: " ").first { $0.contains("python") } ?? ""
        #expect(
            foreign.output == """
                secret-service  not enabled, served by \(python) (pid PID)
                ok    no doors are enabled: see 'vault doors enable'
                ok    \(python) (pid PID) serves org.freedesktop.secrets
                vault: note: \(python) (pid PID) serves org.freedesktop.secrets until it ends: log out and in again
                ok    doors are enabled: secret-service
                warn  \(python) (pid PID) serves org.freedesktop.secrets in the place of the vault: log out and in again
                doors       secret-service: enabled, served by \(python) (pid PID)
                "isVault":false

                """, "\(foreign)")
        let own = try run(
            """
            vault doors enable secret-service portal >/dev/null; ln -s \(root)Tests/VaultImportTests/secrets.py doors
            mkdir own; cp "$(readlink -f /usr/bin/python3)" own/vault
            world own/vault doors world provider plain; echo pid >&3; read -r pid <&4
            doctor; vault status | grep ^doors | sed "s/$pid/PID/"; vault doors status | head -1 | sed "s/$pid/PID/"
            vault status --json | grep -o '"doors":[^]]*]' | sed "s/$pid/PID/"
            vault doors disable secret-service 2>&1 >/dev/null | grep -o 'serves until it ends'
            """)
        #expect(
            own.output == """
                ok    doors are enabled: secret-service, portal
                ok    this vault's doors serve org.freedesktop.secrets (pid PID)
                doors       secret-service: enabled, served by the vault's doors (pid PID)
                doors       portal: enabled, not served
                secret-service  enabled, served by the vault's doors (pid PID)
                "doors":[{"enabled":true,"name":"secret-service","pid":PID},{"enabled":true,"name":"portal"}]
                serves until it ends

                """, "\(own)")
    }

    /// The bus parses the command line in the service file.
    @Test func `the bus starts this very command, wherever it is, also when its directory is new`() throws {
        let result = try run(
            """
            export XDG_DATA_HOME=$HOME/.local/share; bus; hostile="it's \\\\ \\"\\$HOME\\" ü"; mkdir "$hostile"
            cp "$(command -v vault)" "$hostile/vault"; "$hostile/vault" doors enable secret-service >/dev/null
            printf '#!/bin/sh\\nprintf "%%s\\\\n" "$@" >"$HOME/started"\\n' >"$hostile/vault"
            dbus-send --session --print-reply --reply-timeout=1000 --dest=org.freedesktop.DBus / \\
                org.freedesktop.DBus.StartServiceByName string:org.freedesktop.secrets uint32:0 2>/dev/null
            until [ -s started ] || [ $SECONDS -gt 60 ]; do :; done; cat started
            """)
        #expect(result.output == "doors\n--secret-service\n", "\(result)")
    }

    @Test func `without the command the bus starts another package's keyring, whose units are masked`() throws {
        let result = try run(
            """
            export XDG_DATA_HOME=$HOME/.local/share; bus; mkdir own; cp "$(command -v vault)" own/vault
            own/vault doors enable secret-service | cut -d' ' -f1 | uniq; rm own/vault
            call() { dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus."$@"; }
            call StartServiceByName string:org.freedesktop.secrets uint32:0 2>/dev/null | tail -1
            keyring=$(call GetConnectionUnixProcessID string:org.freedesktop.secrets | tail -1 | grep -o '[0-9]*$')
            cat /proc/$keyring/comm; secret-tool lookup service none; echo $?; kill $keyring
            """)
        #expect(result.output == "masked\nset\nwrote\n   uint32 1\ngnome-keyring-d\n1\n", "\(result)")
    }

    @Test func `a full disk in the middle is an error, and a second run does the rest`() throws {
        let result = try run(
            """
            fail() { strace -f -qq -o /dev/null -e inject=rename:error=ENOSPC:when=4+ vault doors "$@" secret-service; }
            fail enable | cut -d' ' -f1; echo ${PIPESTATUS[0]}; vault doors enable secret-service | cut -d' ' -f1
            find . -name '.*tmp-*'; vault doors disable secret-service >/dev/null; find .config .local/share/dbus-1
            """)
        #expect(result.output == "masked\nmasked\n30\nset\nset\nwrote\n", "\(result)")
        #expect(result.error.contains("vault: hint: the changes printed above were made; run it again once that works"))
    }
}
