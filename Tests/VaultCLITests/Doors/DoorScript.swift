// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// Shell functions for scripts that test doors on a private bus.
enum DoorScript {
    static let root =
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized.path()

    static let hasBus = has("dbus-daemon", "dbus-send", "python3")
    static let hasClient = hasBus && has("secret-tool", "ps")
    static let hasViewers = hasClient && has("busctl", "keepassxc-cli")

    private static func has(_ programs: String...) -> Bool {
        programs.allSatisfy { access("/usr/bin/" + $0, X_OK) == 0 }
    }

    /// `bus` starts a bus that activates programs like a session bus; `owner` starts a bus on which another program,
    /// with process id `$pid`, owns org.freedesktop.secrets. Both end with the script, by a signal that a test cannot
    /// have blocked.
    static let start = """
        chmod 600 pass; export VAULT_PASSPHRASE_FILE=pass
        vault init --kdf interactive 2>/dev/null
        world() {
            mkdir -p world; mkfifo in out
            "$@" <in >out & exec 3>in 4<out; read -r ready <&4
            export DBUS_SESSION_BUS_ADDRESS=unix:path=$HOME/world/bus
        }
        bus() {
            mkfifo address; python3 -c 'if True:
                import os, signal, sys
                signal.pthread_sigmask(signal.SIG_SETMASK, [])
                os.execvp(sys.argv[1], sys.argv[1:])
            ' dbus-daemon --session --nofork --nopidfile --address=unix:path=$HOME/bus --print-address=1 \\
                >address 2>/dev/null & daemon=$!; trap 'kill -9 $daemon' EXIT
            export DBUS_SESSION_BUS_ADDRESS; read -r DBUS_SESSION_BUS_ADDRESS <address
        }
        owner() {
            world "${@:-python3}" \(root)Tests/VaultImportTests/secrets.py world provider plain
            echo pid >&3; read -r pid <&4
        }
        doctor() { vault doctor | grep -E "bus|org.freedesktop.secrets|doors" | sed "s/$pid/PID/"; }

        """

    /// `serve` runs a command in the background until the vault owns the name, and kills the command at the end of the
    /// script. `$served` is the command's process id, `$pid` that of the name's owner. `wait` reports how the command
    /// ended.
    ///
    /// `people` makes a program that answers questions: it types the passphrase, declines or stays silent, as the file
    /// `mode` says, and records its input.
    static let serving =
        start + """
            unset VAULT_PASSPHRASE_FILE; mkdir empty
            ask_bus() {
                dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / "org.freedesktop.DBus.$1" \\
                    string:org.freedesktop.secrets 2>/dev/null
            }
            taken() { ask_bus NameHasOwner | grep -q true; }
            # The bus notices the end of a process a moment later.
            free() { until ! taken || [ $SECONDS -gt 120 ]; do :; done; taken && echo taken || echo free; }
            # The installed file for the name would start gnome-keyring.
            quiet_bus() { export XDG_DATA_DIRS=$HOME/empty; bus; }
            serve() {
                "$@" & served=$!; trap 'kill -9 $served $daemon 2>/dev/null' EXIT
                until taken || ! kill -0 $served 2>/dev/null || [ $SECONDS -gt 60 ]; do :; done
                pid=$(ask_bus GetConnectionUnixProcessID | grep -o '[0-9]*$')
            }
            gone() { until ! [ -e /proc/$1/exe ] || [ $SECONDS -gt 60 ]; do :; done; [ -e /proc/$1/exe ] || echo gone; }
            lookup() { timeout -s KILL 60 secret-tool lookup service example user ada 2>/dev/null; echo " $?"; }
            store() { printf s3cret | timeout -s KILL 60 secret-tool store --label=Example service example user ada; }
            ended() { wait $served 2>/dev/null; echo "ended $?"; }
            property() {
                dbus-send --session --print-reply=literal --dest=org.freedesktop.secrets /org/freedesktop/secrets \\
                    org.freedesktop.DBus.Properties.Get string:org.freedesktop.Secret.Service string:$1 | xargs
            }
            people() {
                mkfifo never; echo types >mode; export VAULT_PINENTRY=$HOME/ask; cat >ask <<'END'
            #!/bin/bash
            cd "$(dirname "$0")"
            echo OK
            while IFS= read -r line; do
                printf '%s\\n' "$line" >>heard
                case "$line,$(cat mode)" in
                GETPIN,types) echo "DISPLAY $DISPLAY" >>heard; echo "D $(cat pass)" ;;
                GETPIN,mistypes) echo types >mode; echo 'D wrong horse' ;;
                GETPIN,dismisses) echo 'ERR 83886179 Operation cancelled'; continue ;;
                GETPIN,waits) echo $$ >asked; read -r _ <>never ;;
                'GETINFO flavor',*) echo 'D gtk2' ;;
                esac
                echo OK
            done
            END
                chmod 700 ask
            }

            """
}
