// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// The PAM module in real stacks, which libpam-wrapper runs without root, with a stand-in for the command that records
/// its input.
@Suite(.serialized) struct PAMTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path()

    /// Records the state that the stand-in inherits from its parent process, then reports its end.
    private static let recorder = #"""
        #!/bin/bash
        directory=${BASH_SOURCE[0]%/*} record=${BASH_SOURCE[0]%/*}/record.$1
        # First, by a process of its own: a redirection moves the descriptors of the shell.
        find /proc/$$/fd -type l ! -lname "${BASH_SOURCE[0]}" -printf 'descriptor %f: %l\n' >"$record.descriptors"
        {
            echo "arguments: $*"
            tr '\0' '\n' </proc/$$/environ | sort | sed 's/^/variable: /'
            sort "$record.descriptors" | sed 's/pipe:.*/pipe/'
            grep -E '^(Uid|Gid|Groups|Sig(Blk|Ign))' /proc/self/status | tr -s '\t ' ' ' | sed 's/ $//' |
                # libc uses two signals itself, so programs cannot set their actions.
                sed '/^SigIgn/s/0000000180000000/0000000000000000/'
            [ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ] && echo "session: own"
            for number in 0 3 4; do
                [ ! -p /proc/$$/fd/$number ] || echo "read from $number: $(cat <&$number)"
            done
        } >"$record" 2>&1
        echo "$1 ended" >>"$directory/order"
        echo >"$directory/done"
        """#

    /// A stack whose first modules accept the token `secret` or `changed` of a user and leave the token as pam_unix
    /// does. pam_matrix alone leaves the old token empty, so another module of the wrapper restores it.
    private static let stack = #"""
        mkdir services; mkfifo done; printf '#!/bin/sh\nexec grep -qx "$(tr -d "\\0")" "%s/tokens"\n' "$PWD" >check
        echo secret >tokens; chmod 755 check vault; wrapper=$(echo /usr/lib/*/pam_wrapper)
        user=$(id -un); echo "$user:secret:login" >passwords
        cat >services/login <<END
        auth requisite pam_exec.so quiet expose_authtok $PWD/check
        auth optional $wrapper/pam_set_items.so
        auth optional $PWD/pam_vault.so
        account required pam_permit.so
        password requisite $wrapper/pam_matrix.so passdb=$PWD/passwords
        password optional $wrapper/pam_set_items.so
        password optional $PWD/pam_vault.so
        session required pam_permit.so
        session optional $PWD/pam_vault.so
        END
        # The timeout only ends a test that would wait forever. The thread that starts processes may have blocked the
        # signals that the timeout needs.
        limited() {
            perl -MPOSIX -e 'sigprocmask(SIG_SETMASK, POSIX::SigSet->new); exec @ARGV' timeout 120 "$@"
        }
        wrapped() {
            limited env LD_PRELOAD=libpam_wrapper.so PAM_WRAPPER=1 PAM_WRAPPER_SERVICE_DIR="$PWD/services" "$@" \
                2>>messages
        }
        login() { wrapped pamtester login "$@"; }
        ended() { limited cat done >/dev/null && cat "record.${1:-unlock}" && rm "record.${1:-unlock}"; }
        """#

    /// - Parameters:
    ///   - command: The program started in place of the command.
    private func run(_ script: String, command: String = recorder) throws -> (Shell.Result, Shell) {
        let shell = try Shell()
        try shell.home.write(Array((command + "\n").utf8), to: "vault")
        let module = """
            (cd '\(Self.root)' && . Scripts/dependencies &&
                build_pam "$HOME/pam_vault.so" -Werror "-DVAULT_COMMAND=\\"$HOME/vault\\"") || exit
            """
        return (try shell.run([module, Self.stack, script].joined(separator: "\n")), shell)
    }

    @Test func `the module has what PAM calls, and needs its library and libc alone`() throws {
        let (result, _) = try run(
            """
            nm -D --defined-only pam_vault.so | cut -d' ' -f3 | grep -v '^pam_sm_'
            nm -D --defined-only pam_vault.so | wc -l
            readelf -d pam_vault.so | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p' | sort
            readelf -d pam_vault.so | grep -c BIND_NOW; readelf -l pam_vault.so | grep -c GNU_RELRO
            [ $(stat -c %s pam_vault.so) -le 16384 ] && echo small
            """)
        #expect(result.output == "5\nlibc.so.6\nlibpam.so.0\n1\n1\nsmall\n", "\(result.output)\(result.error)")
    }

    @Test func `the right password reaches the command, by its standard input alone`() throws {
        let (result, _) = try run(
            """
            exec 9</etc/passwd
            export SECRET=of-the-program LD_LIBRARY_PATH=/nowhere
            echo secret | login "$user" authenticate open_session close_session >/dev/null || echo "no login"
            ended | sed "s|$(getent passwd "$user" | cut -d: -f6)\\$|~|; s|/$(id -u)\\$|/UID|" | grep -v '^[UG]'
            """)
        #expect(
            result.output == """
                arguments: unlock --from-login --passphrase-fd 0
                variable: HOME=~
                variable: PATH=/usr/bin:/bin
                variable: XDG_RUNTIME_DIR=/run/user/UID
                descriptor 0: pipe
                descriptor 1: /dev/null
                descriptor 2: /dev/null
                SigBlk: 0000000000000000
                SigIgn: 0000000000000000
                session: own
                read from 0: secret

                """, "\(result.output)\(result.error)")
    }

    @Test func `PAM's variable says where the agent is, but not for root`() throws {
        let (result, _) = try run(
            """
            echo secret | wrapped pamtester -E XDG_RUNTIME_DIR=/somewhere login "$user" authenticate open_session \\
                >/dev/null
            ended | grep RUNTIME
            """)
        let expected = getuid() == 0 ? "/run/user/0" : "/somewhere"
        #expect(result.output == "variable: XDG_RUNTIME_DIR=\(expected)\n", "\(result.error)")
    }

    /// A login without a token, such as a login by key through sshd, also counts.
    @Test(arguments: [
        ("a wrong password", "echo wrong | login $user authenticate open_session", 1),
        ("no password", "login $user open_session close_session", 0),
        ("an empty one", "echo >tokens; echo | login $user authenticate open_session", 0),
        (
            "one that no vault has",
            "export PAM_AUTHTOK=$(printf %1025s | tr ' ' x); echo secret | login $user authenticate open_session", 0
        ), ("another account", "echo secret | login no-such-user authenticate open_session", 0),
    ])
    func `without a token of the user's nothing is started`(_ what: String, _ login: String, _ status: Int32) throws {
        let (result, _) = try run(
            """
            \(login) >/dev/null; echo $?; unset PAM_AUTHTOK
            # Only the command of this later login leaves a line.
            echo secret >tokens; echo secret | login "$user" authenticate open_session >/dev/null
            ended >/dev/null; cat order
            """)
        #expect(result.output == "\(status)\nunlock ended\n", "\(what): \(result.output)\(result.error)")
    }

    @Test func `a login ends while the command hangs`() throws {
        let (result, _) = try run(
            """
            mkfifo release
            echo secret | login "$user" authenticate open_session close_session >/dev/null; echo "login ended" >>order
            echo >release; ended >/dev/null; cat order
            """, command: Self.recorder.replacing("# First", with: "read -r <\"$directory/release\"\n# First"))
        #expect(result.output == "login ended\nunlock ended\n", "\(result.error)")
    }

    @Test func `a login does not mind a command that is not there`() throws {
        let (result, _) = try run("rm vault; echo secret | login $user authenticate open_session")
        #expect(result.status == 0 && result.output.contains("opened a session"), "\(result.output)\(result.error)")
    }

    @Test func `a program with handlers, and without standard descriptors, notices nothing`() throws {
        let program = Self.root + "Tests/VaultCLITests/login.c"
        let (result, _) = try run(
            """
            cc -o program '\(program)' -lpam
            wrapped ./program "$user" secret; grep -v SYSLOG messages
            ended | grep -E '^(descriptor|read|Sig)'
            # A process that ignores its children, which the kernel then reaps.
            (trap '' CHLD; echo secret | login "$user" authenticate open_session >/dev/null; echo $?)
            ended | grep read
            """)
        #expect(
            result.output == """
                kept after authentication: 1
                kept after the session has begun: 0
                children of the module that the program hears of: 0
                children that are left: 0
                kept again: 1
                kept at the end: 0
                descriptor 0: pipe
                descriptor 1: /dev/null
                descriptor 2: /dev/null
                SigBlk: 0000000000000000
                SigIgn: 0000000000000000
                read from 0: secret
                0
                read from 0: secret

                """, "\(result.output)\(result.error)")
    }

    @Test func `a changed password is for the vault as well, both by descriptor`() throws {
        let (result, _) = try run(
            """
            ended passwd >told & printf 'secret\\nchanged\\nchanged\\n' | PAM_OLDAUTHTOK=secret login "$user" chauthtok
            wait; grep -E '^(arg|var|desc|read)' told | grep -v 'variable: [HX]'; cat order
            """)
        #expect(
            result.output == """
                pamtester: authentication token altered successfully.
                arguments: passwd --passphrase-fd 3 --new-passphrase-fd 4
                variable: PATH=/usr/bin:/bin
                descriptor 0: /dev/null
                descriptor 1: /dev/null
                descriptor 2: /dev/null
                descriptor 3: pipe
                descriptor 4: pipe
                read from 3: secret
                read from 4: changed
                passwd ended

                """, "\(result.output)\(result.error)")
    }

    @Test func `a password that is wrong, or set by root, changes no vault`() throws {
        let (result, _) = try run(
            """
            printf 'wrong\\nchanged\\nchanged\\n' | PAM_OLDAUTHTOK=wrong login "$user" chauthtok; echo $?
            printf 'secret\\nchanged\\nchanged\\n' | login "$user" chauthtok; echo $?
            cat order 2>/dev/null
            """)
        #expect(
            result.output == "1\npamtester: authentication token altered successfully.\n0\n",
            "\(result.output)\(result.error)")
    }

    @Test func `a command that does not end is killed, and the password is changed all the same`() throws {
        let (result, _) = try run(
            """
            mkfifo alive never
            # The process has ended once no process has the pipe open.
            cat alive >/dev/null &
            printf 'secret\\nchanged\\nchanged\\n' | PAM_OLDAUTHTOK=secret login "$user" chauthtok
            wait; cat passwords order 2>/dev/null | cut -d: -f2
            """,
            command: #"""
                #!/bin/bash
                directory=${BASH_SOURCE[0]%/*}
                exec >"$directory/alive"
                # Its child is killed with it.
                (read -r <"$directory/never")
                echo "passwd ended" >>"$directory/order"
                """#)
        #expect(
            result.output == "pamtester: authentication token altered successfully.\nchanged\n",
            "\(result.output)\(result.error)")
    }

    @Test func `after a password that had expired the session has the new one`() throws {
        let (result, _) = try run(
            """
            (ended passwd; ended) >told &
            printf 'secret\\nsecret\\nchanged\\nchanged\\n' |
                PAM_OLDAUTHTOK=secret login "$user" authenticate chauthtok open_session >/dev/null
            wait; grep read told
            """)
        #expect(
            result.output == "read from 3: secret\nread from 4: changed\nread from 0: changed\n",
            "\(result.output)\(result.error)")
    }

    @Test(.enabled(if: getuid() == 0)) func `what root's program starts is the user's own`() throws {
        let (result, _) = try run(
            """
            chmod 777 .; chmod 666 done
            echo secret | login nobody authenticate open_session >/dev/null
            ended | grep -E '^(Uid|Gid|Groups)|RUNTIME|read'
            id -u nobody; id -g nobody
            """)
        let ids = result.output.split(separator: "\n").suffix(2).map(String.init)
        try #require(ids.count == 2)
        let (user, group) = (ids[0], ids[1])
        #expect(
            result.output.hasPrefix(
                """
                variable: XDG_RUNTIME_DIR=/run/user/\(user)
                Uid: \(user) \(user) \(user) \(user)
                Gid: \(group) \(group) \(group) \(group)
                Groups: \(group)
                read from 0: secret
                """), "\(result.output)\(result.error)")
    }

    @Test(.enabled(if: getuid() == 0)) func `a program of another user runs nothing`() throws {
        let (result, _) = try run(
            """
            chmod 777 .; chmod 666 done
            echo secret | setpriv --reuid=nobody --clear-groups \\
                env LD_PRELOAD=libpam_wrapper.so PAM_WRAPPER=1 PAM_WRAPPER_SERVICE_DIR="$PWD/services" \\
                pamtester login root authenticate open_session >/dev/null 2>&1; echo $?
            echo secret | login root authenticate open_session >/dev/null; ended >/dev/null; cat order
            """)
        #expect(result.output == "0\nunlock ended\n", "\(result.output)\(result.error)")
    }

    @Test func `the command itself changes the passphrase of the vault, if it is the old password`() throws {
        let (result, _) = try run(
            """
            chmod 600 pass; printf secret >old; printf changed >new; printf third >third; chmod 600 old new third
            vault init --kdf interactive --passphrase-file old 2>/dev/null
            echo value | vault add s a --passphrase-file old
            # The test must not use the account's own home.
            printf '#!/bin/sh\\nHOME=%s exec %s "$@"\\n' "$PWD" "$(type -P vault)" >vault
            printf 'secret\\nchanged\\nchanged\\n' | PAM_OLDAUTHTOK=secret login "$user" chauthtok >/dev/null; echo $?
            vault get s a --passphrase-file old 2>/dev/null; echo " $?"
            vault get s a --passphrase-file new; echo " $?"
            # A passphrase other than the login's stays unchanged.
            vault passwd --passphrase-file new --new-passphrase-file pass --kdf interactive
            printf 'changed\\nthird\\nthird\\n' | PAM_OLDAUTHTOK=changed login "$user" chauthtok >/dev/null; echo $?
            vault get s a --passphrase-file third 2>/dev/null; echo " $?"
            vault get s a --passphrase-file pass; echo " $?"
            """)
        #expect(result.output == "0\n 5\nvalue 0\n0\n 5\nvalue 0\n", "\(result.output)\(result.error)")
    }
}
