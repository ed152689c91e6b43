// SPDX-License-Identifier: Apache-2.0
import Testing

/// The helpers for other programs, beside an application that stores items under the keys that they look for.
struct HelperTests {
    private let shell: Shell

    init() throws {
        shell = try Shell()
        let made = try shell.run(
            "chmod 600 pass; vault init --kdf interactive --passphrase-file pass; vault unlock --passphrase-file pass")
        #expect(made.status == 0, "\(made.error)")
    }

    /// The query of each helper, and the item that an application stores to answer it.
    private static let questions = [
        (
            ask: "echo https://r.example | vault docker-credential get | grep -o '\"Secret\":.*'",
            plant: """
            vault add https://r.example eve --attr docker_cli=1 --attr server=https://r.example --attr username=eve
            """,
            own: "{\"ServerURL\":\"https://r.example\",\"Username\":\"ada\",\"Secret\":\"own\"}",
            keep: "vault docker-credential store"
        ),
        (
            ask: """
            echo '{"v":1,"registry":{"index-url":"sparse+https://i/"},"kind":"get"}' | vault cargo-credential \
            --cargo-plugin | grep -o '"token":"[a-z]*"'
            """,
            plant: "vault add cargo:sparse+https://i/", own: "own", keep: "vault add cargo:sparse+https://i/"
        ),
        (
            ask: "printf 'protocol=https\\nhost=h.example\\n\\n' | vault git-credential get | grep password",
            plant: "vault add h.example eve --class internet --protocol https", own: "own",
            keep: "vault add h.example ada --class internet --protocol https"
        ),
        (
            ask: "vault credential aws p | grep -o '\"SecretAccessKey\":\"[a-z]*\"'",
            plant: "vault add aws p --attr aws_access_key_id=EVE", own: "own",
            keep: "vault add aws p --attr aws_access_key_id=ADA"
        ),
    ]

    @Test(arguments: questions.indices)
    func `a helper takes nothing that an application has stored, be it newer`(index: Int) throws {
        let question = Self.questions[index]
        #expect(try shell.run("echo planted | \(question.plant) --group org.example.App").status == 0)
        #expect(try !shell.run(question.ask).output.contains("planted"))
        #expect(try shell.run("printf '%s' '\(question.own)' | \(question.keep)").status == 0)
        #expect(try shell.run("echo planted | \(question.plant) --group org.example.Other").status == 0)
        let output = try shell.run(question.ask).output
        #expect(output.contains("own") && !output.contains("planted"))
        // From groups that the user named, the helper takes the item.
        #expect(try shell.run("export VAULT_ACCESS_GROUPS=org.example.App; \(question.ask)").output.contains("planted"))
    }

    @Test func `a helper has the groups that a rule has for it`() throws {
        let rule = #"{"rules": [{"executable": "\#(Shell.commands)/vault", "groups": ["work"]}]}"#
        let set = try shell.run(
            """
            echo planted | vault add cargo:sparse+https://i/ --group org.example.App
            echo own | vault add cargo:sparse+https://i/ --group work
            vault agent --stop
            mkdir -p .config/vault; printf '%s' '\(rule)' > .config/vault/policy.json
            vault unlock --passphrase-file pass
            """)
        #expect(set.status == 0, "\(set.error)")
        let output = try shell.run(Self.questions[1].ask).output
        #expect(output.contains("own"), "\(output)")
    }
}
