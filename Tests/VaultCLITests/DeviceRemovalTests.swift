// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// The removal of a device at a terminal.
struct DeviceRemovalTests {
    /// Returns a shell whose vault has more items than a screen has lines, and belongs to a fleet with a phone.
    private static func shellWithFleet() throws -> Shell {
        let shell = try Shell()
        let made = try shell.run(
            """
            chmod 600 pass; mkdir share phone
            for h in . phone; do HOME=$PWD/$h vault init --kdf interactive --passphrase-file pass; done
            { echo name,url,username,password,note; seq -f 'Site,https://site-%g.example/,ada,pw,' 60; } > sites.csv
            vault import csv sites.csv --passphrase-file pass
            vault remote add file://$PWD/share --name laptop --passphrase-file pass > recovery; chmod 600 recovery
            HOME=$PWD/phone vault remote add file://$PWD/share --recovery-code-file recovery --name phone \\
                --passphrase-file pass
            vault sync --passphrase-file pass
            """)
        #expect(made.status == 0, "\\(made.error)")
        return shell
    }

    @Test(arguments: [false, true])
    func `a device is removed before its list is shown, whether the pager ends or not`(hasAgent: Bool) throws {
        let shell = try Self.shellWithFleet()
        let source = hasAgent ? [] : ["--passphrase-file", "pass"]
        if hasAgent { #expect(try shell.run("vault unlock --passphrase-file pass").status == 0) }
        let terminal = try PseudoTerminal(
            ["PAGER=echo SHOWN; exec sleep 600", Shell.commands + "/vault", "device", "remove", "phone"] + source,
            in: shell, program: "/usr/bin/env", columns: 80)
        try terminal.wait(for: "What it has read it keeps. [y/N] ")
        #expect(!terminal.screen.contains("SHOWN"))
        terminal.type("y\n")
        try terminal.wait(for: "SHOWN")
        // The pager is open, and its window may be closed now.
        #expect(terminal.screen.contains("'phone' is removed; it could read the secrets of 60 items"))
        #expect(try shell.run("HOME=$PWD/phone vault sync --passphrase-file pass").status == 24)
        terminal.signal(9)
        _ = terminal.end()
    }

    @Test func `a device stays after a no`() throws {
        let shell = try Self.shellWithFleet()
        let terminal = try PseudoTerminal(["device", "remove", "phone", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "What it has read it keeps. [y/N] ")
        terminal.type("n\n")
        #expect(terminal.end() == 3)
        #expect(try shell.run("HOME=$PWD/phone vault sync --passphrase-file pass").status == 0)
    }
}
