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
            "# c\nmachine example.com login ada password \"a b\"\n# d\n  account acc\nmacdef m\n put\n\nde"
                + "fault login anonymous password x\n",
            ["ada a b", "anonymous x"], "# c\n# d\nmacdef m\n put\n\n"
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
        (.pgpass, "# c\nlocalhost:5432:db\\:1:ada:p\\:w\\\\\n*:*:*:bob:x:y\n", ["ada p:w\\", "bob x:y"], "# c\n"),
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
        #expect(try found.imported.stored(in: vault, of: format.name).count(.added) == expected.count)
        #expect(try found.imported.stored(in: vault, of: format.name).count(.unchanged) == expected.count)
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
        let found = try Plaintext.gh.logins(Document(text: text))
        #expect(found.imported.logins.isEmpty && found.imported.skipped.map(\.place) == ["line 2"])
        #expect(found.imported.skipped[0].reason.hasPrefix("a token that is neither plain nor between quotes"))
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

    /// Lines that git and browsers read differently, or that git's own helper does not write.
    @Test(arguments: [
        "https://evil.com\\@bank.example.com", "https://a:b@evil.com\\.bank.example.com",
        "https://a:b@evil.com@bank.example.com",
        "https://a:b@evil.com%2F.bank.example.com", "https://a:b@evil.com%40bank.example.com",
        "https://bank.example.com/@evil.com",
        "https://a:b@", "https://a:b@h:x", "https:a:b@bank.example.com", "a:b@bank.example.com",
    ])
    func `a line whose server is not certain stays in git's file`(line: String) throws {
        let found = try Plaintext.gitCredentials.logins(Document(text: line + "\n")).imported
        #expect(found.logins.isEmpty && found.skipped.count == 1)
    }

    @Test(
        arguments: [
            ("https://a:b@B%C3%BCcher.example:8443", "b\u{fc}cher.example", 8443),
            ("https://a:b@B\u{dc}CHER.example", "b\u{dc}cher.example", nil),
            ("https://a:b@ban\u{212a}.example", "ban\u{212a}.example", nil), ("https://a:b@[::1]:80", "[::1]", 80),
        ] as [(String, String, Int?)])
    func `git's hosts are percent-encoded bytes`(line: String, host: String, port: Int?) throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Plaintext.gitCredentials.logins(Document(text: line + "\n")).imported.stored(in: vault)
        #expect(
            try vault.contains(.internetPassword(server: host, account: "a", protocol: "htps", port: port)))
    }

    @Test func `a machine of netrc is a host in bytes, of which only ASCII has a lower case`() throws {
        let netrc = try Plaintext.netrc.logins(Document(text: "machine ban\u{212a}.Example login ada password pw\n"))
        let vault = try Vault.inMemory(accessGroups: .standard)
        try netrc.imported.stored(in: vault)
        #expect(try vault.contains(.internetPassword(server: "ban\u{212a}.example", account: "ada")))
        #expect(try !vault.contains(.internetPassword(server: "bank.example", account: "ada")))
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
        (Plaintext.docker, "[]", "this is no configuration of docker's"),
        (.aws, "[a\n", "line 1: a section does not end"),
    ])
    func `what no program writes is refused with its line`(_ format: Plaintext, _ text: String, _ expected: String) {
        #expect(flaw { _ = try format.logins(Document(text: text)) } == expected)
    }

    /// Files of one login that is imported and removed, and of other secrets, each of which stays and is named.
    private static let others: [(Plaintext, String, rest: String, [String])] = [
        (
            .docker,
            #"{"auths": {"r": {"username": "ada", "password": "pw"}, "s": {"username": "bob"}, "#
                + #""t": {"auth": "!!!"}, "u": {"auth": "YWRhOg==", "registrytoken": "RT"}}, "#
                + #""HttpHeaders": {"Authorization": "Basic X"}, "#
                + #""proxies": {"default": {"httpProxy": "http://a:b@proxy"}}}"#,
            #"{"auths": {"r": {"username": "ada", "password": ""}, "s": {"username": "bob"}, "#
                + #""t": {"auth": "!!!"}, "u": {"auth": "YWRhOg==", "registrytoken": "RT"}}, "#
                + #""HttpHeaders": {"Authorization": "Basic X"}, "#
                + #""proxies": {"default": {"httpProxy": "http://a:b@proxy"}}}"#,
            [
                "entry 2: it has no password",
                "entry 3: 'auth', which is no user and password in base64, is not imported, and stays in the file",
                "entry 4: 'registrytoken', which docker's helpers do not keep, is not imported, and stays in the file",
                "HttpHeaders: 'Authorization' is not imported, and stays in the file",
                "proxies: the user of 'httpProxy' is not imported, and stays in the file",
            ]
        ),
        (
            .netrc,
            "login early\nmachine r login ada password pw\nmachine s login b password x password y\n"
                + "machine t login c frob d password z\nmachine u password\n",
            "login early\nmachine s login b password x password y\nmachine t login c frob d password z\n"
                + "machine u password\n",
            [
                "line 1: 'login', which belongs to no machine, is not imported, and stays in the file",
                "line 3: it has more than one password", "line 4: it has a word that no netrc file has, in line 4",
                "line 5: a value is missing",
            ]
        ),
        (
            .gitCredentials, "https://ada:pw@r\nnonsense\nhttps://ada:pw@h/x?token=abc\n",
            "nonsense\nhttps://ada:pw@h/x?token=abc\n",
            [
                "line 2: what is no URL with a user is not imported, and stays in the file",
                "line 3: a URL with a query, which git does not look for, is not imported, and stays in the file",
            ]
        ),
        (
            .gh, "r:\n    oauth_token: pw\n    user: ada\n    proxy_password: x\nnonsense\n",
            "r:\n    user: ada\n    proxy_password: x\nnonsense\n",
            [
                "line 4: 'proxy_password' is not imported, and stays in the file",
                "line 5: what is not NAME: VALUE is not imported, and stays in the file",
            ]
        ),
        (
            .cargo,
            "[registry]\ntoken = 'pw'\nsecret-key = 'k3.secret.x'\n[other]\ntoken = 'y'\n"
                + "[registries.a]\ntoken = z\n?\n",
            "[registry]\nsecret-key = 'k3.secret.x'\n[other]\ntoken = 'y'\n[registries.a]\ntoken = z\n?\n",
            [
                "line 8: what is not NAME = VALUE is not imported, and stays in the file",
                "line 3: 'secret-key' is not imported, and stays in the file",
                "line 5: a token of '[other]' is not imported, and stays in the file",
                "line 7: a token that is not between quotes is not imported, and stays in the file",
            ]
        ),
        (
            .aws,
            "[ada]\naws_secret_access_key = pw\naws_security_token = t\naws_secret_access_key = old\nregion = x\n",
            "[ada]\naws_security_token = t\naws_secret_access_key = old\nregion = x\n",
            [
                "line 3: 'aws_security_token' is not imported, and stays in the file",
                "line 4: 'aws_secret_access_key' is not imported, and stays in the file",
            ]
        ),
        (
            .pgpass, "a:1:d:ada:pw\na:b\n", "a:b\n",
            ["line 2: what is not host:port:database:user:password is not imported, and stays in the file"]
        ),
    ]

    @Test(arguments: others.indices)
    func `a secret that is not taken stays in the file, and is named`(_ index: Int) throws {
        let (format, text, rest, skipped) = Self.others[index]
        let document = try Document(text: text)
        let found = try format.logins(document)
        #expect(found.imported.logins.map { $0.password?.text } == ["pw"])
        #expect(found.imported.skipped.map { "\($0.place): \($0.reason)" } == skipped)
        #expect(try Plaintext.removing(found.ranges.flatMap { $0 }, from: document)?.text == rest)
    }

    @Test func `every secret of docker's login goes into its item, and a second copy in the file is found`() throws {
        let text =
            #"{"auths": {"r": {"auth": "YWRhOnBhc3N3b3Jk", "username": "ada", "password": "password"}, "#
            + #""s": {"identitytoken": "tok", "auth": "YWRhOnB3", "username": "ada", "password": "other1"}}}"#
        let document = try Document(text: text)
        let found = try Plaintext.docker.logins(document)
        #expect(found.imported.logins.map { $0.password?.text } == ["password", "tok"])
        #expect(found.imported.logins.map(\.texts) == [[:], ["auth": "ada:pw", "password": "other1"]])
        let rest = try #require(try Plaintext.removing(found.ranges.flatMap { $0 }, from: document))
        #expect(
            rest.text == #"{"auths": {"r": {"auth": "", "username": "ada", "password": ""}, "#
                + #""s": {"identitytoken": "", "auth": "", "username": "ada", "password": ""}}}"#)
        // The name of a member is no secret, but the text is the same.
        let left = try Plaintext.left(of: found.imported.logins, in: rest)
        #expect(left.map(\.login) == [0] && left.map(\.line) == [1])
        let other = try Secret(text: "# c\n# it was other1 before\n")
        #expect(try Plaintext.left(of: found.imported.logins, in: other).map(\.line) == [2])
        #expect(try Plaintext.left(of: found.imported.logins, in: Secret(text: "x")).isEmpty)
    }

    @Test func `the further password of a netrc file is a field`() throws {
        let found = try Plaintext.netrc.logins(Document(text: Self.files[1].1))
        #expect(found.imported.logins[0].texts == ["account": "acc"] && found.imported.logins[0].attributes.isEmpty)
    }
}
