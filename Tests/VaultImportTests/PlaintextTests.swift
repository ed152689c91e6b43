// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault

@testable import VaultImport

/// Plaintext credential files of other programs, and their rest after an import removes the secrets.
struct PlaintextTests {
    private static let files: [(Plaintext, String, [String], String?)] = [
        (
            .gitCredentials, "https://ada:p%40ss@github.com\nhttps://bob:x@git.example:8443/repo.git\n",
            ["ada p@ss", "bob x"], nil
        ),
        (
            .netrc,
            "# c\nmachine example.com login ada password \"a b\"\n  account acc\nmacdef m\n put\n\nde"
                + "fault login anonymous password x\n",
            ["ada a b", "anonymous x"], "# c\nmacdef m\n put\n\n"
        ),
        (
            .docker,
            #"{"auths": {"https://index.docker.io/v1/": {"auth": "YWRhOnB3OjE="}, "r.example": {}, "t."#
                + #"example": {"identitytoken": "tok"}}, "x": 1}"#,
            ["ada pw:1", "<token> tok"],
            #"{"auths": {"https://index.docker.io/v1/": {"auth": ""}, "r.example": {}, "t.example": {""#
                + #"identitytoken": ""}}, "x": 1}"#
        ),
        (
            .gh,
            "github.com:\n    users:\n        ada:\n            oauth_token: gho_1\n    git_protocol:"
                + " https\n    oauth_token: gho_1\n    user: ada\n",
            ["ada gho_1"], "github.com:\n    users:\n        ada:\n    git_protocol: https\n    user: ada\n"
        ),
        (
            .cargo, "[registry]\ntoken = \"cio1\"\n[registries.mine]\ntoken = 'm2'\n", [" cio1", " m2"],
            "[registry]\n[registries.mine]\n"
        ),
        (
            .aws, "[default]\naws_access_key_id = AK\naws_secret_access_key = SK=\nregion = x\n[p]\nrole_arn = y\n",
            ["default SK="],
            "[default]\nregion = x\n[p]\nrole_arn = y\n"
        ),
        (.pgpass, "# c\nlocalhost:5432:db\\:1:ada:p\\:w\\\\\n*:*:*:bob:x:y\n", ["ada p:w\\", "bob x:y"], nil),
    ]

    @Test(arguments: files.indices)
    func `what a program keeps is found, and taken out without a trace`(_ index: Int) throws {
        let (format, text, expected, rest) = Self.files[index]
        let document = try Document(text: text)
        let found = try format.logins(document)
        #expect(found.imported.logins.map { "\($0.user) \($0.password?.text ?? "")" } == expected)
        #expect(found.ranges.count == found.imported.logins.count)
        let left = try Plaintext.removing(found.ranges.flatMap { $0 }, from: document)
        #expect(left?.text == rest)
        // The rest contains no further logins.
        if let left { #expect(try format.logins(Document(left)).imported.logins.isEmpty) }
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try found.imported.stored(in: vault, of: format.rawValue).count(.added) == expected.count)
        #expect(try found.imported.stored(in: vault, of: format.rawValue).count(.unchanged) == expected.count)
    }

    @Test func `two tokens of a host both come, and of docker's the one that counts`() throws {
        let hosts = "h:\n  users:\n    ada:\n      oauth_token: A\n  oauth_token: B\n  user: ada\n"
        let found = try Plaintext.gh.logins(Document(text: hosts))
        #expect(found.imported.logins.map { $0.password?.text } == ["A", "B"] && found.ranges.map(\.count) == [1, 1])
        let both = #"{"auths": {"r": {"auth": "MDAwMDo=", "identitytoken": "tok"}, "e": {"auth": "YWRhOg=="}}}"#
        let docker = try Plaintext.docker.logins(Document(text: both))
        #expect(docker.imported.logins.map { $0.password?.text } == ["tok"] && docker.ranges[0].count == 2)
        #expect(docker.imported.skipped.count == 1)
    }

    @Test func `nothing is taken out of docker's file that the item has not`() throws {
        let text =
            #"{"auths": {"r": {"auth": "YWRhOnB3", "identitytoken": "tok"}, "#
            + #""s": {"auth": "!!!", "identitytoken": "tok"}}}"#
        let document = try Document(text: text)
        let found = try Plaintext.docker.logins(document)
        #expect(found.imported.logins.map(\.texts) == [["auth": "ada:pw"], [:]] && found.imported.skipped.count == 1)
        #expect(
            try Plaintext.removing(found.ranges.flatMap { $0 }, from: document)?.text
                == #"{"auths": {"r": {"auth": "", "identitytoken": ""}, "s": {"auth": "!!!", "identitytoken": ""}}}"#)
    }

    @Test(arguments: [
        ("\"gho_1\"", "gho_1"), ("'gho_1'", "gho_1"), ("gho_1 # of ada's", "gho_1"), ("\"gho_1\"  # c", "gho_1"),
        ("gho_1", "gho_1"),
    ])
    func `quotes and comments are no part of gh's token`(_ written: String, _ token: String) throws {
        let text = "\"github.com\":\n    user: 'ada'\n    oauth_token: \(written)\n"
        let found = try Plaintext.gh.logins(Document(text: text)).imported
        #expect(found.logins.map { $0.password?.text } == [token] && found.logins.map(\.user) == ["ada"])
        #expect(found.logins[0].named["service"] == "gh:github.com")
    }

    @Test(arguments: ["\"a\\x41\"", "'a''b'", "|", "\"open", "&x a", "a b"])
    func `a token that is written in another way stays in the file`(_ written: String) throws {
        let text = "h:\n    oauth_token: \(written)\n"
        #expect(
            flaw { _ = try Plaintext.gh.logins(Document(text: text)) }
                == "line 2: this is no token, plain or between quotes")
    }

    @Test func `an empty token is none`() throws {
        let found = try Plaintext.gh.logins(Document(text: "h:\n    oauth_token: \"\"\n    user: ada\n"))
        #expect(found.imported.logins.isEmpty && found.imported.skipped.count == 1)
    }

    @Test func `blank lines, comments, macros and escapes are as their programs have them`() throws {
        let netrc = "machine a\nmacdef x\n y\n\nlogin ada password \"p\\\\q\\\"r\"\n"
        let document = try Document(text: netrc)
        let found = try Plaintext.netrc.logins(document)
        #expect(found.imported.logins.map { "\($0.user) \($0.password?.text ?? "")" } == ["ada p\\q\"r"])
        #expect(try Plaintext.removing(found.ranges.flatMap { $0 }, from: document)?.text == "macdef x\n y\n\n")
        #expect(try Plaintext.pgpass.logins(Document(text: "  \n# c\n")).imported.logins.isEmpty)
        #expect(try Plaintext.gitCredentials.logins(Document(text: "# c\n \n")).imported.logins.isEmpty)
        let git = try Plaintext.gitCredentials.logins(Document(text: "https://a:b@h/o%20rg/x.git\n")).imported
        let vault = try Vault.inMemory(accessGroups: .standard)
        try git.stored(in: vault)
        #expect(try vault.all().first?[.path]?.text == "o rg/x.git")
        let cargo = try Plaintext.cargo.logins(Document(text: "[registries]\nfoo = { token = \"x\" }\n")).imported
        #expect(cargo.logins.isEmpty && cargo.skipped.count == 1)
    }

    @Test func `addresses are those that git, docker and cargo will ask for`() throws {
        let git = try Plaintext.gitCredentials.logins(Document(text: Self.files[0].1)).imported
        let vault = try Vault.inMemory(accessGroups: .standard)
        try git.stored(in: vault)
        #expect(try vault.contains(.internetPassword(server: "github.com", account: "ada", protocol: "htps")))
        #expect(
            try vault.contains(
                .internetPassword(
                    server: "git.example", account: "bob", protocol: "htps", port: 8443, path: "repo.git")))
        try Plaintext.docker.logins(Document(text: Self.files[2].1)).imported.stored(in: vault)
        let docker = try #require(
            try vault.first(.genericPassword(service: "https://index.docker.io/v1/", account: "ada")))
        #expect(docker.userAttributes["label"] == "Docker Credentials" && docker.userAttributes["docker_cli"] == "1")
        try Plaintext.cargo.logins(Document(text: Self.files[4].1)).imported.stored(in: vault)
        #expect(try vault.contains(.genericPassword(service: "cargo:sparse+https://index.crates.io/")))
    }

    @Test(arguments: [
        (Plaintext.gitCredentials, "nonsense\n", "line 1: this is no URL with a user"),
        (.netrc, "machine\n", "line 1: a value is missing"),
        (.netrc, "machine a login b frob c\n", "line 1: this is no word of a netrc file"),
        (.docker, "[]", "this is no configuration of docker's"),
        (.docker, #"{"auths": {"a": {"auth": "!!!"}}}"#, "entry 1: this is no user and password in base64"),
        (.docker, #"{"auths": {"a": {"auth": "YWRh"}}}"#, "entry 1: this is no user and password in base64"),
        (.gh, "x\n", "line 1: this is not NAME: VALUE"),
        (.cargo, "[registry]\ntoken = \"a\n", "line 2: this is no token between quotes"),
        (.aws, "[a\n", "line 1: a section does not end"),
        (.pgpass, "a:b\n", "line 1: this is not host:port:database:user:password"),
    ])
    func `what no program writes is refused with its line`(_ format: Plaintext, _ text: String, _ expected: String) {
        #expect(flaw { _ = try format.logins(Document(text: text)) } == expected)
    }
}
