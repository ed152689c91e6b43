// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

/// Root with the variables of another user, as by `sudo -E`.
@Suite(.enabled(if: geteuid() == 0)) struct OtherHomeTests {
    @Test func `root makes nothing in another user's home, unless the vault is named`() throws {
        let result = try Shell().run(
            """
            chmod 600 pass; vault init --kdf interactive --vault own/v --passphrase-file pass 2>/dev/null
            mkdir ada; chown 1234:1234 ada; mine=$HOME; export HOME=$PWD/ada
            for command in 'init --kdf interactive' 'restore own/v' unlock 'add s --generate' doctor; do
                vault $command --passphrase-file pass; echo $?
            done 2>&1 | sort | uniq -c | sed 's/^ *//'
            vault unlock --passphrase-file pass; vault agent --foreground
            XDG_DATA_HOME=$HOME/data XDG_STATE_HOME=$HOME/state vault init --kdf interactive --passphrase-file pass
            vault doors enable secret-service; find ada
            vault init --kdf interactive --vault named/v --passphrase-file pass 2>/dev/null; echo named $?
            echo s3cret | vault add s --vault named/v --passphrase-file pass
            vault get s --vault named/v --passphrase-file pass; echo; find ada
            XDG_DATA_HOME=$mine/data XDG_STATE_HOME=$mine/state vault init --kdf interactive --passphrase-file pass \\
                2>/dev/null; echo $?; find ada
            """)
        let refusal = "the home directory is another user's, who could not use files of root in it"
        let hint = "vault: hint: run it as that user, or name a vault: --vault FILE"
        #expect(
            result.output == "5 30\n5 vault: error: \(refusal)\n5 \(hint)\nada\nnamed 0\ns3cret\nada\n0\nada\n",
            "\(result)")
        #expect(result.error.split(separator: "\n").count { $0 == "vault: error: \(refusal)" } == 3, "\(result.error)")
        #expect(result.error.contains("vault: error: the home directory is another user's\n"))
    }
}
