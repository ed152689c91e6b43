// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// Secrets for programs that read them only from files, and the start of a login session.
struct ScratchTests {
    private static func shellWithVault() throws -> Shell {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass other; vault init --kdf interactive --passphrase-file pass
            echo s3cret | vault add s ada --passphrase-file pass
            """)
        return shell
    }

    @Test func `an edit that is killed leaves nothing in memory's files`() throws {
        let shell = try Self.shellWithVault()
        let result = try shell.run(
            """
            mkfifo started; printf '#!/bin/sh\\necho "$1" > started; exec sleep 300\\n' > editor; chmod +x editor
            EDITOR=./editor vault edit s ada --passphrase-file pass & file=$(cat started)
            grep -c s3cret "$file"; stat -c %a "$file" "${file%/*}"; kill -9 $!
            timeout 60 sh -c 'while test -e "$0"; do :; done' "${file%/*}"; test -e "${file%/*}" || echo gone
            pkill -xf "sleep 300"; vault get s ada --passphrase-file pass
            """)
        #expect(result.output == "1\n600\n700\ngone\ns3cret", "\(result.error)")
    }

    @Test func `what another process changed while a person edits is not overwritten`() throws {
        let shell = try Self.shellWithVault()
        let result = try shell.run(
            """
            printf '#!/bin/sh\\necho theirs | vault set s ada --passphrase-file pass; echo mine > "$1"\\n' > editor
            chmod +x editor; EDITOR=./editor vault edit s ada --passphrase-file pass; echo $?
            vault get s ada --passphrase-file pass
            """)
        #expect(result.output == "13\ntheirs", "\(result.error)")
    }

    @Test(arguments: [true, false])
    func `what a person typed into the editor outlasts an agent that ends meanwhile`(goesOn: Bool) throws {
        let shell = try Self.shellWithVault()
        let start = """
            printf '#!/bin/sh\\nvault agent --stop; printf mine > "$1"\\n' > editor; chmod +x editor
            vault unlock --passphrase-file pass
            """
        #expect(try shell.run(start).status == 0)
        let terminal = try PseudoTerminal(
            ["EDITOR=./editor", Shell.commands + "/vault", "edit", "s", "ada"], in: shell, program: "/usr/bin/env")
        try terminal.wait(for: "Try again? If not, your input is lost.")
        terminal.type(goesOn ? "y\n" : "n\n")
        if goesOn {
            try terminal.wait(for: "default.vault: ")
            terminal.type("correct horse battery staple\n")
        }
        #expect((terminal.end() == 0) == goesOn)
        #expect(try shell.run("vault get s ada --passphrase-file pass").output == (goesOn ? "mine" : "s3cret"))
    }

    @Test func `a login unlocks an agent that is there, without a word`() throws {
        let shell = try Self.shellWithVault()
        let result = try shell.run(
            """
            vault unlock --passphrase-file pass 2>/dev/null; vault lock; vault get s ada; echo $?
            tr -d '\\n' < other | vault unlock --from-login --passphrase-fd 0 >>said 2>&1; echo $?
            vault get s ada; echo $?
            tr -d '\\n' < pass | vault unlock --from-login --passphrase-fd 0 >>said 2>&1; echo $?
            vault get s ada
            """)
        #expect(result.output == "4\n5\n4\n0\ns3cret")
        #expect(try shell.run("cat said").output == "")
    }
}
