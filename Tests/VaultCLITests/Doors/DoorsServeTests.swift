// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

/// The released `vault doors` and `vault agent --secret-service`, with libsecret's client.
@Suite(.enabled(if: DoorScript.hasClient)) struct DoorsServeTests {
    private func run(_ script: String) throws -> Shell.Result { try Shell().run(DoorScript.serving + script) }

    // MARK: Reasons to keep a door closed

    @Test func `without a bus, or with one that does not answer, no door opens, and why is said`() throws {
        let result = try run(
            """
            unset DBUS_SESSION_BUS_ADDRESS; vault doors --secret-service; echo $?
            DBUS_SESSION_BUS_ADDRESS=unix:path=$HOME/nothing vault doors --portal; echo $?
            vault agent --secret-service --passphrase-file pass; echo $?; vault agent --stop
            """)
        let said =
            "vault: error: there is no session bus\n"
            + "vault: hint: set DBUS_SESSION_BUS_ADDRESS, or 'dbus-run-session'\n"
        #expect(result.output == "30\n30\n30\n", "\(result)")
        #expect(result.error == said + said + said + "vault: note: no agent is running\n", "\(result)")
    }

    @Test func `the name of another program is left to it, and the program is said`() throws {
        let result = try run(
            """
            owner; vault doors --secret-service 2>&1 | sed "s/$pid/PID/;s/'py[^']*'/'PYTHON'/"; echo ${PIPESTATUS[0]}
            vault agent --secret-service --passphrase-file pass 2>/dev/null; echo $?
            vault agent --stop 2>&1; [ "$(ask_bus GetConnectionUnixProcessID | grep -o '[0-9]*$')" = $pid ]; echo $?
            """)
        #expect(
            result.output == """
                vault: error: 'PYTHON' (process PID) has the name org.freedesktop.secrets
                vault: hint: see 'vault doors status'; 'vault doors enable' tells the session to start this one instead
                14
                14
                vault: note: no agent is running
                0

                """, "\(result)")
    }

    @Test func `to ask elsewhere takes a place, and doors that are open`() throws {
        let result = try run(
            """
            vault doors --here --portal; echo $?; vault doors --here; echo $?
            GPG_TTY=$HOME/pass vault doors --here; echo $?
            DISPLAY=:7 vault doors --here; echo $?
            """)
        #expect(result.output == "64\n64\n64\n30\n", "\(result)")
    }

    // MARK: Serving

    @Test func `a program stores and finds, the command finds it too, and status says who serves`() throws {
        let result = try run(
            """
            quiet_bus; vault unlock --passphrase-file pass; serve vault doors --secret-service
            store; lookup; vault get example ada | cat; echo; ps -o comm= -p $pid; [ $pid = $served ]; echo $?
            vault status | grep ^doors | sed "s/$pid/PID/"; vault doors status | head -1 | sed "s/$pid/PID/"
            vault status --json | grep -o '"doors":[^]]*]' | sed "s/$pid/PID/"; doctor
            kill $served; ended; free; vault status | grep ^doors; vault get example ada | cat
            """)
        #expect(
            result.output == """
                s3cret 0
                s3cret
                vault-doors
                0
                doors       secret-service: not enabled, served by the vault's doors (pid PID)
                secret-service  not enabled, served by the vault's doors (pid PID)
                "doors":[{"enabled":false,"name":"secret-service","pid":PID}]
                ok    no doors are enabled: see 'vault doors enable'
                ok    this vault's doors serve org.freedesktop.secrets (pid PID)
                ended 0
                free
                doors       none
                s3cret
                """, "\(result)")
    }

    @Test func `a bus that goes away ends the doors, so that a new bus gets new ones`() throws {
        let result = try run("quiet_bus; serve vault doors --secret-service; kill -9 $daemon; ended")
        #expect(result.output == "ended 30\n", "\(result)")
        #expect(result.error.contains("vault: error: the session bus has gone\n"), "\(result)")
    }

    @Test func `doors that serve one name are told of when another one is enabled`() throws {
        let result = try run(
            """
            quiet_bus; serve vault doors --secret-service
            for door in secret-service portal; do
                vault doors enable $door 2>&1 >/dev/null | sed "s/$pid/PID/; s/[^ ]*vault /VAULT /"
            done
            """)
        #expect(
            result.output
                == "vault: note: VAULT (pid PID) serves its present doors until it ends: log out and in again\n",
            "\(result)")
    }

    @Test(arguments: ["TERM", "INT", "HUP"])
    func `a signal ends the doors in order`(signal: String) throws {
        let result = try run(
            """
            quiet_bus; serve vault doors --secret-service --portal; [ -S $XDG_RUNTIME_DIR/vault/doors.sock ]; echo $?
            kill -\(signal) $served; ended; free; ls $XDG_RUNTIME_DIR/vault
            """)
        #expect(result.output == "0\nended 0\nfree\n", "\(result)")
    }

    /// Only root may read the memory of a process that keeps secrets. A control value shows that the search works.
    @Test(.enabled(if: getuid() == 0))
    func `of what programs stored, and of the passphrase, nothing stays in the doors' memory`() throws {
        let result = try run(
            """
            cat >seen.py <<'END'
            import re, sys, time
            def count(needle):
                found = 0
                for line in open(f"/proc/{sys.argv[1]}/maps"):
                    start, end, kind = re.match("([0-9a-f]+)-([0-9a-f]+) (.)", line).groups()
                    try:
                        with open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as memory:
                            memory.seek(int(start, 16))
                            found += memory.read(int(end, 16) - int(start, 16)).count(needle)
                    except (OSError, OverflowError, ValueError):
                        pass
                return found
            # The process frees a sent message a moment later.
            limit = time.monotonic() + 60
            while (found := count(sys.argv[2].encode() + sys.argv[3].encode())) and time.monotonic() < limit: pass
            print("seen" if found else "none")
            END
            sed '/^limit/d;s/ and time.*: pass/: break/' seen.py >once.py
            people; quiet_bus; DISPLAY=:9 serve vault doors --secret-service; store; lookup
            grep -c ^SETDESC heard; python3 seen.py $pid s3c ret; python3 seen.py $pid 'correct horse ' battery
            printf k3pt-here | secret-tool store --label=x --collection=session site kept
            python3 once.py $pid k3pt -here
            """)
        #expect(result.output == "s3cret 0\n1\nnone\nnone\nseen\n", "\(result)")
    }

    // MARK: Beside an agent

    @Test func `no program finds the doors of an agent open before the vault is`() throws {
        let result = try run(
            """
            quiet_bus; mkfifo slow; chmod 600 slow
            vault agent --foreground --secret-service --passphrase-file slow & served=$!
            exec 5>slow; taken || echo free; cat pass >&5; exec 5>&-
            until taken || [ $SECONDS -gt 60 ]; do :; done; vault status | grep -o '^agent *unlocked'; store; lookup
            kill $served; ended
            """)
        #expect(result.output == "free\nagent       unlocked\ns3cret 0\nended 0\n", "\(result)")
    }

    @Test func `an agent has its doors beside it, and they end with it`() throws {
        let result = try run(
            """
            quiet_bus; serve vault agent --foreground --secret-service --passphrase-file pass
            until vault status | grep -q 'agent *unlocked' || [ $SECONDS -gt 60 ]; do :; done
            ps -o comm= -p $pid; ps -o ppid= -p $pid | grep -qw $served; echo $?; store; lookup
            vault status | grep ^doors | sed "s/$pid/PID/"
            kill -9 $served; ended; gone $pid; free
            vault agent --secret-service --passphrase-file pass; lookup
            pid=$(ask_bus GetConnectionUnixProcessID | grep -o '[0-9]*$'); [ $pid -gt 1 ]; echo $?
            vault agent --stop; [ -e /proc/$pid/exe ] || echo gone; free
            """)
        #expect(
            result.output == """
                vault-doors
                0
                s3cret 0
                doors       secret-service: not enabled, served by the vault's doors (pid PID)
                ended 137
                gone
                free
                s3cret 0
                0
                gone
                free

                """, "\(result)")
    }

    // MARK: Locked, or not there yet

    @Test func `a passphrase that is given opens the vault before programs are served, and a wrong one is said`() throws
    {
        let result = try run(
            """
            quiet_bus; serve vault doors --secret-service --passphrase-file pass
            store; lookup; kill $served; wait $served; vault lock
            echo wrong >other; chmod 600 other; serve vault doors --secret-service --passphrase-file other
            vault status | grep -o 'agent *locked'
            """)
        #expect(result.output == "s3cret 0\nagent       locked\n", "\(result)")
        #expect(result.error.contains("passphrase"), "\(result)")
    }

    @Test func `without a vault and a person there is memory alone, and nothing is made`() throws {
        let result = try run(
            """
            rm -r .local; quiet_bus; serve vault doors --secret-service
            lookup; property Collections; store; echo $?; ls .local/share/vault
            printf kept | secret-tool store --label=x --collection=session service example user ada; lookup
            """)
        #expect(
            result.output
                == " 1\nvariant array [ /org/freedesktop/secrets/collection/session ]\n1\nkept 0\n",
            "\(result)")
    }

    @Test func `without a vault the first program to store has a person asked for a new passphrase`() throws {
        let result = try run(
            """
            rm -r .local; people; quiet_bus; DISPLAY=:9 serve vault doors --secret-service
            echo dismisses >mode; store 2>/dev/null; echo $?; ls .local/share/vault 2>/dev/null
            kill $served; wait $served; DISPLAY=:9 serve vault doors --secret-service
            echo types >mode; store; lookup; vault get example ada | cat; echo
            grep -c '^SETREPEAT' heard; grep -o "A new vault.*default.vault%0Afor 'secret-tool'" heard | wc -l
            vault agent --stop; vault get example ada --passphrase-file pass | cat
            """)
        #expect(result.output == "1\ns3cret 0\ns3cret\n2\n2\ns3cret", "\(result)")
    }

    @Test func `a search of a locked vault waits for the person, and finds`() throws {
        let result = try run(
            """
            people; quiet_bus; DISPLAY=:9 serve vault doors --secret-service
            echo mistypes >mode; store; lookup; grep '^SETERROR' heard
            vault lock; lookup; grep -c "^SETDESC Unlock the vault .*default.vault%0Afor 'secret-tool' (process" heard
            vault lock; echo dismisses >mode; lookup; vault status | grep -o 'agent *locked'
            """)
        #expect(
            result.output == "s3cret 0\nSETERROR Wrong passphrase, once more.\ns3cret 0\n3\n 1\nagent       locked\n",
            "\(result)")
    }

    @Test func `people are asked where the session says, and nobody where it has said nothing`() throws {
        let result = try run(
            """
            people; quiet_bus; serve vault doors --secret-service; lookup; ls heard 2>/dev/null
            DISPLAY=:7 vault doors --here; store; lookup; grep ^DISPLAY heard
            """)
        #expect(result.output == " 1\ns3cret 0\nDISPLAY :7\n", "\(result)")
        #expect(result.error.contains("vault: note: people are asked here from now on\n"), "\(result)")
    }

    @Test(arguments: ["TERM", "INT"])
    func `a question to a person ends with the doors, and the program hears that there is no answer`(
        signal: String
    ) throws {
        let result = try run(
            """
            people; echo waits >mode; quiet_bus; DISPLAY=:9 serve vault doors --secret-service
            lookup >found & program=$!
            until [ -s asked ] || [ $SECONDS -gt 60 ]; do :; done
            ps -o ppid= -p $(cat asked) | grep -qw $served; echo $?
            kill -\(signal) $served; ended; [ -e /proc/$(cat asked)/exe ] || echo gone; free
            wait $program; cat found
            """)
        #expect(result.output == "0\nended 0\ngone\nfree\n 1\n", "\(result)")
    }

    @Test func `a question ends with the agent that has the doors beside it, when that is killed`() throws {
        let result = try run(
            """
            people; echo waits >mode; quiet_bus; DISPLAY=:9 serve vault agent --foreground --secret-service
            until vault status | grep -q 'agent *running' || [ $SECONDS -gt 60 ]; do :; done
            lookup >/dev/null & until [ -s asked ] || [ $SECONDS -gt 60 ]; do :; done
            kill -9 $served; gone $pid; gone $(cat asked); free
            """)
        #expect(result.output == "gone\ngone\nfree\n", "\(result)")
    }
}
