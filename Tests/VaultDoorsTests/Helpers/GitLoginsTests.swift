// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultGit

struct GitLoginsTests {
    private static let https = "protocol=https"
    private static let host = "host=example.com"

    // MARK: Refusals

    @Test(arguments: [
        ["protocol=http", "host=example.com"], ["protocol=https", "host=example.com:8443"],
        ["protocol=https", "host=sub.example.com"], ["protocol=https", "host=example.co"],
        ["protocol=https", "host=com"], ["protocol=https", "host="], ["protocol=https"], ["host=example.com"],
        ["protocol=https", "host=example.com/evil"], ["protocol=https", "host=user@example.com"],
        ["protocol=https", "host=example.com\r"], ["protocol=https", "host=example.com:443:443"],
        ["protocol=https", "host=example.com:0"], ["protocol=https", "host=example.com:99999"],
        ["protocol=ht tps", "host=example.com"], ["protocol=https", "host=example.com", "username=eve"],
        ["protocol=https", "host=example.com", "path=other.git"],
    ])
    func `a password is for its host, port, protocol, user and path alone`(question: [String]) throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "path=own.git", "username=ada", "password=s3cret")
        let answers = [
            try world.get(Self.https, Self.host, "path=own.git"), try world.get(Self.https, "host=EXAMPLE.com:443"),
        ]
        #expect(answers == [["username=ada", "password=s3cret"], ["username=ada", "password=s3cret"]])
        let record = try GitRecord(try Secret(text: question.map { $0 + "\n" }.joined()))
        #expect(try GitLogins(world.vault, now: 0).answer(to: record) == nil)
        #expect(try GitLogins(world.vault, now: 0).erase(record) == 0)
    }

    @Test(arguments: [
        ["protocol=https", "host=example.com", "username=ada"], ["protocol=https", "host=example.com", "password=x"],
        ["protocol=https", "username=ada", "password=x"], ["host=example.com", "username=ada", "password=x"],
        ["protocol=https", "host=example.com", "authtype=Bearer", "credential=x", "ephemeral=1"],
        ["protocol=https", "host=example.com", "authtype=Bearer", "username=ada", "password=x"],
        ["protocol=https", "host=example.com", "username=ada", "password=x", "password_expiry_utc=999"],
    ])
    func `what is no whole credential, or good for this once, is not kept`(lines: [String]) throws {
        let world = try GitWorld()
        let record = try GitRecord(try Secret(text: lines.map { $0 + "\n" }.joined()))
        #expect(try !GitLogins(world.vault, now: world.now).keep(record))
        #expect(try world.vault.allMatching(Query(.internetPassword)).isEmpty)
    }

    @Test func `a secret that is more than a line is never answered`() throws {
        let world = try GitWorld()
        for (user, secret) in [("a", "two\nhost=evil.example"), ("b", "zero\0byte")] {
            try world.vault.add(
                Item(
                    .internetPassword(server: "example.com", account: user, protocol: "htps"),
                    secret: try Secret(text: secret)))
        }
        try world.vault.add(
            Item(
                .internetPassword(server: "example.com", account: "c\npassword=evil", protocol: "htps"),
                secret: "fine"))
        #expect(try world.get(Self.https, Self.host) == nil)
    }

    /// Unicode's lower case of the Kelvin sign is a k.
    @Test func `hosts are bytes, of which only ASCII has a lower case`() throws {
        let world = try GitWorld()
        try world.store(Self.https, "host=BANK.example", "username=ada", "password=s3cret")
        #expect(try world.get(Self.https, "host=bank.example") != nil)
        #expect(try world.get(Self.https, "host=ban\u{212a}.example") == nil)
        #expect(try world.get("protocol=HTTPS", "host=BANK.example") != nil)
        try world.store("protocol=k", "host=b\u{dc}cher.example", "username=ada", "password=s3cret")
        #expect(try world.get("protocol=k", "host=B\u{dc}CHER.example") != nil)
        #expect(try world.get("protocol=k", "host=b\u{fc}cher.example") == nil)
        #expect(try world.get("protocol=\u{212a}", "host=b\u{dc}cher.example") == nil)
        // Two strings that Swift takes for equal.
        try world.vault.add(
            Item(.internetPassword(server: "ban\u{4b}.example", account: "ada", protocol: "htps"), secret: "s3cret"))
        #expect(try world.get(Self.https, "host=ban\u{212a}.example") == nil)
    }

    @Test(arguments: [
        "host=", "host=:80", "host=[::1", "host=[::1]x", "host=a b", "host=a\\b", "host=example.com:", "host=a:0x50",
        "host=\(String(repeating: "a", count: 1025))",
    ])
    func `a host that is none is neither asked for nor kept`(host: String) throws {
        let world = try GitWorld()
        #expect(try !world.store(Self.https, host, "username=ada", "password=s3cret"))
        #expect(try world.get(Self.https, host) == nil)
    }

    // MARK: Passwords

    @Test func `a password comes back, is replaced, and goes`() throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "username=ada", "password=one")
        try world.store(Self.https, Self.host, "username=ada", "password=two")
        try world.store(Self.https, Self.host, "username=bob", "password=three")
        #expect(try world.get(Self.https, Self.host, "username=ada") == ["username=ada", "password=two"])
        #expect(try world.get(Self.https, Self.host)?.contains("password=three") == true)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=one") == 0)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=two") == 1)
        #expect(try world.get(Self.https, Self.host, "username=ada") == nil)
        #expect(try world.erase(Self.https, Self.host) == 1)
    }

    @Test func `to keep what is there changes nothing`() throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "username=ada", "password=one")
        let sequence = try world.vault.sequence
        #expect(try world.store(Self.https, Self.host, "username=ada", "password=one"))
        #expect(try world.vault.sequence == sequence)
    }

    @Test func `a login without a protocol is for https, and one with a slash before its path is for that path`() throws
    {
        let world = try GitWorld()
        try world.vault.add(Item(.internetPassword(server: "example.com", account: "netrc"), secret: "one"))
        try world.vault.add(
            Item(
                .internetPassword(server: "b.example", account: "web", protocol: "htps", path: "/team/x.git"),
                secret: "two"))
        #expect(try world.get(Self.https, Self.host) == ["username=netrc", "password=one"])
        #expect(try world.get("protocol=http", Self.host) == nil)
        #expect(
            try world.get(Self.https, "host=b.example", "path=team/x.git") == ["username=web", "password=two"])
    }

    @Test func `a login that something else has stored is answered, and never changed or deleted`() throws {
        let world = try GitWorld()
        let key = ItemKey.internetPassword(server: "example.com", account: "ada", protocol: "htps")
        let item = try world.vault.add(Item(key, secret: "of the site"))
        let version = try #require(item.record?.version)
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=of the site"])
        // git stores the login after each use.
        try world.store(Self.https, Self.host, "username=ada", "password=of the site")
        #expect(try world.vault.allMatching(Query(.internetPassword)).count == 1)
        try world.store(Self.https, Self.host, "username=ada", "password=token")
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=token"])
        let own = try world.vault.allMatching(Query(.internetPassword)).filter { $0[.securityDomain]?.text != "git" }
        #expect(own.map { $0.record?.version } == [version])
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=token") == 1)
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=of the site"])
        #expect(
            try world.erase(
                Self.https, Self.host, "username=ada", "password=of the site", "state[]=vault:\(version)") == 0)
        #expect(try world.vault.allMatching(Query(.internetPassword)).count == 1)
    }

    @Test func `the passphrase of a certificate is its file's`() throws {
        let world = try GitWorld()
        try world.store("protocol=cert", "host=", "path=/home/ada/c.pem", "username=", "password=one")
        #expect(
            try world.get("protocol=cert", "host=", "path=/home/ada/c.pem", "username=")
                == ["username=", "password=one"])
        #expect(try world.get("protocol=cert", "host=", "path=/home/ada/d.pem", "username=") == nil)
        #expect(try world.get("protocol=cert", "host=", "username=") == nil)
    }

    @Test func `an address of brackets has its own colons`() throws {
        let world = try GitWorld()
        try world.store(Self.https, "host=[::1]:8443", "username=ada", "password=one")
        #expect(try world.get(Self.https, "host=[::1]:8443") == ["username=ada", "password=one"])
        #expect(try world.get(Self.https, "host=[::1]") == nil)
    }

    // MARK: Tokens

    @Test func `a token of another scheme is answered to a git that asks for such`() throws {
        let world = try GitWorld()
        try world.store(
            "capability[]=authtype", Self.https, Self.host, "authtype=Bearer", "credential=tok",
            "password_expiry_utc=2000", "oauth_refresh_token=again")
        #expect(try world.get(Self.https, Self.host) == nil)
        #expect(
            try world.get("capability[]=authtype", Self.https, Self.host) == [
                "capability[]=authtype", "authtype=Bearer", "credential=tok", "password_expiry_utc=2000",
                "oauth_refresh_token=again",
            ])
        #expect(try world.erase(Self.https, Self.host, "password=tok") == 0)
        #expect(try world.erase(Self.https, Self.host, "authtype=Bearer", "credential=old") == 0)
        #expect(try world.erase(Self.https, Self.host, "authtype=Bearer", "credential=tok") == 1)
    }

    @Test func `a token and a password of a host are two`() throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "username=ada", "password=one")
        try world.store(Self.https, Self.host, "username=ada", "authtype=Bearer", "credential=tok")
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=one"])
        #expect(try world.vault.allMatching(Query(.internetPassword)).count == 2)
    }

    @Test func `what has ended is not answered, and its refresh token is`() throws {
        var world = try GitWorld()
        try world.store(
            Self.https, Self.host, "username=ada", "password=one", "password_expiry_utc=2000",
            "oauth_refresh_token=again")
        world.now = 2000
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "oauth_refresh_token=again"])
        try world.store(Self.https, Self.host, "username=ada", "password=new")
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=new"])
    }

    @Test func `a state is the version, and erases that one alone`() throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "username=ada", "password=one")
        let answer = try world.get("capability[]=state", Self.https, Self.host)
        #expect(answer == ["capability[]=state", "username=ada", "password=one", "state[]=vault:1"])
        try world.store(Self.https, Self.host, "username=ada", "password=two")
        #expect(try world.erase(Self.https, Self.host, "username=ada", "state[]=vault:1") == 0)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "state[]=other:9", "state[]=vault:2") == 1)
    }
}
