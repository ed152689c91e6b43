// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// The arguments of the command where Swift's runtime finds none. A command that loses them does nothing: a vault stays
/// open after `lock`, and git believes that its password was stored.
struct ArgumentsTests {
    private static let verbs = """
        vault init --kdf interactive 2>/dev/null; echo -n x | vault add mail ada && vault get mail ada; echo " $?"
        vault delete mail ada --yes; vault get mail ada 2>/dev/null; echo $?
        printf 'protocol=https\\nhost=h.example\\nusername=u\\npassword=p\\n\\n' | vault git-credential store
        vault get h.example --class internet; echo " $?"; vault frobnicate 2>/dev/null; echo $?
        """
    private static let outcome = "x 0\n10\np 0\n64\n"

    @Test(.enabled(if: Shell.mayMount)) func `without /proc, every verb does what its arguments say`() throws {
        let shell = try Shell()
        try shell.home.write(
            Array("mount -t tmpfs none /proc; [ ! -e /proc/self ] || echo there\n\(Self.verbs)".utf8), to: "script")
        let result = try shell.run(
            "chmod 600 pass; export VAULT_PASSPHRASE_FILE=$PWD/pass; unshare -Urm bash script")
        #expect(result.output == Self.outcome, "\(result.error)")
    }

    @Test func `a preloaded library that moves the environment hides no argument`() throws {
        let shell = try Shell()
        let source = """
            #include <stdio.h>
            #include <stdlib.h>
            __attribute__((constructor)) static void grow(void) {
                char name[] = "MOVED_A";
                for (; name[6] <= 'Z'; name[6]++) setenv(name, "1", 1);
            }
            """
        try shell.home.write(Array(source.utf8), to: "grow.c")
        let result = try shell.run(
            """
            chmod 600 pass; export VAULT_PASSPHRASE_FILE=$PWD/pass
            cc -shared -fPIC -o grow.so grow.c && export LD_PRELOAD=$PWD/grow.so
            \(Self.verbs)
            """)
        #expect(result.output == Self.outcome, "\(result.error)")
    }

    @Test func `an argument that is not UTF-8 is refused by itself`() throws {
        let result = try Shell().run("vault find $'\\xff'")
        #expect(result.status == 64)
        #expect(result.error == "vault: error: an argument is not UTF-8\n")
    }
}
