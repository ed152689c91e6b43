// SPDX-License-Identifier: Apache-2.0
import Testing

/// The question before an item that other devices have becomes an item of this device only.
struct BindingTests {
    @Test func `a person is told that the other devices lose the item, and a no changes nothing`() throws {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; mkdir share; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault remote add file://$PWD/share --passphrase-file pass >/dev/null 2>&1
            echo -n x | vault add mail ada --passphrase-file pass
            """)
        for (answer, accessible) in [("n\r", "when-unlocked"), ("y\r", "when-unlocked,this-device")] {
            let terminal = try PseudoTerminal(
                ["update", "mail", "--accessible", "when-unlocked,this-device", "--passphrase-file", "pass"], in: shell)
            try terminal.wait(
                for: "Bind mail, account ada to this device, and delete it on all other devices of the fleet? [y/N] ")
            terminal.type(answer)
            #expect(terminal.end() == (answer == "y\r" ? 0 : 3))
            let result = try shell.run(
                "export VAULT_PASSPHRASE_FILE=pass; vault get mail --attr accessible; vault get mail")
            #expect(result.output == "\(accessible)\nx")
        }
    }
}
