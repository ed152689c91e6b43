// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultGit

/// The logins of a vault that git gets, among those of browsers and other products.
struct GitOriginTests {
    private static let https = "protocol=https"
    private static let host = "host=example.com"
    private static let ada = ["username=ada", "password=web"]

    // MARK: Origins

    @Test(arguments: [
        ["vault.import": "csv:example.com"], ["vault.import": "bitwarden:1"], ["vault.import": "kdbx:1"],
        ["vault.import": "secret-service:1"], ["vault.import": "netrcs:1"], ["vault.browser": "firefox-abcd"],
        ["vault.made": "browser"], ["vault.made": "browser", "vault.browser": "firefox-abcd"],
        ["vault.made": "program"], ["vault.made": "import:csv"], ["vault.made": "import:csv", "vault.import": "csv:1"],
        ["vault.made": "later"], ["use": "login", "vault.import": "csv:1"],
    ])
    func `what a browser or another product brought is git's only if git's configuration says so`(
        user: [String: String]
    ) throws {
        var world = try GitWorld()
        try world.add("ada", "web", user: user)
        #expect(try world.get(Self.https, Self.host) == nil)
        #expect(try world.get(Self.https, Self.host, "username=ada") == nil)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=web") == 0)
        world.servesImported = true
        #expect(try world.get(Self.https, Self.host) == Self.ada)
        // A person gives it to git.
        try world.vault.update(
            matching: Query(.internetPassword), with: ItemChanges(userAttributes: ["use": "git"]))
        world.servesImported = false
        #expect(try world.get(Self.https, Self.host) == Self.ada)
    }

    @Test(arguments: [
        [:], ["vault.made": "command"], ["vault.made": "git"], ["vault.import": "git-credentials:1"],
        ["vault.import": "netrc:example.com ada"], ["vault.import": "gh:1"],
        ["vault.made": "import:gh", "vault.import": "gh:1"], ["vault.made": "command", "vault.import": "csv:1"],
        ["note": "of a person"],
    ])
    func `what a person made, or git's own files had, is git's`(user: [String: String]) throws {
        let world = try GitWorld()
        try world.add("ada", "web", user: user)
        #expect(try world.get(Self.https, Self.host) == Self.ada)
    }

    @Test func `what git stores beside a browser's login is git's, and tells so`() throws {
        let world = try GitWorld()
        try world.add("ada", "web", user: ["vault.import": "csv:1"])
        // Even the same password: this one the server of repositories takes.
        try world.store(Self.https, Self.host, "username=ada", "password=web")
        #expect(try world.get(Self.https, Self.host) == Self.ada)
        #expect(try world.items("ada").compactMap { Maker(of: $0) } == [.git])
        try world.store(Self.https, Self.host, "username=ada", "password=token")
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=token"])
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=token") == 1)
        #expect(try world.get(Self.https, Self.host) == nil)
        #expect(try world.items("ada").count == 1)
    }

    // MARK: Refused

    @Test func `what git may not delete is not offered again once refused, until it changes`() throws {
        let world = try GitWorld()
        try world.add("ada", "web")
        // Without the password, nothing tells that this one was refused.
        #expect(try world.erase(Self.https, Self.host, "username=ada") == 0)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=other") == 0)
        #expect(try world.get(Self.https, Self.host) == Self.ada)
        #expect(try world.erase(Self.https, Self.host, "username=ada", "password=web") == 0)
        #expect(try world.get(Self.https, Self.host) == nil)
        #expect(try world.items().count == 1)
        try world.add("bob", "other")
        #expect(try world.get(Self.https, Self.host) == ["username=bob", "password=other"])
        try world.vault.update(matching: Query(.internetPassword, account: "ada"), with: ItemChanges(secret: "new"))
        #expect(try world.get(Self.https, Self.host, "username=ada") == ["username=ada", "password=new"])
    }

    @Test func `what was refused and then accepted is git's own from then on`() throws {
        let world = try GitWorld()
        try world.add("ada", "web")
        try world.erase(Self.https, Self.host, "username=ada", "password=web")
        try world.store(Self.https, Self.host, "username=ada", "password=web")
        #expect(try world.get(Self.https, Self.host) == Self.ada)
        #expect(try world.items("ada").count == 2)
    }

    // MARK: Paths and users

    @Test func `of several users the one of the longest path wins, then the last changed`() throws {
        let world = try GitWorld()
        try world.add("me", "1")
        try world.add("work", "2", path: "/acme")
        try world.add("app", "3", path: "acme/app")
        func user(_ path: String?) throws -> String? {
            try world.get(["protocol=https", "host=example.com"] + (path.map { ["path=\($0)"] } ?? []))?.first
        }
        #expect(try user("acme/app/x.git") == "username=app" && user("acme/app") == "username=app")
        #expect(try user("acme/tool.git") == "username=work" && user("/acme/app2.git") == "username=work")
        #expect(try user("acme2/app.git") == "username=me" && user("ada/x.git") == "username=me")
        // Without a path, as git asks by default, the one for all of the host.
        #expect(try user(nil) == "username=me")
        try world.add("other", "4")
        #expect(try user(nil) == "username=other" && user("ada/x.git") == "username=other")
        try world.vault.update(matching: Query(.internetPassword, account: "me"), with: ItemChanges(secret: "new"))
        #expect(try user(nil) == "username=me" && user("acme/tool.git") == "username=work")
    }

    @Test func `a login of many paths stays where it is when git has used it for one`() throws {
        let world = try GitWorld()
        let version = try world.add("work", "2", path: "acme").record?.version
        try world.store(Self.https, Self.host, "path=acme/app.git", "username=work", "password=2")
        try world.store(Self.https, Self.host, "username=work", "password=2")
        #expect(try world.items().map { $0.record?.version } == [version])
        // Another password of that user is that path's.
        try world.store(Self.https, Self.host, "path=acme/app.git", "username=work", "password=3")
        #expect(try world.get(Self.https, Self.host, "path=acme/app.git")?.last == "password=3")
        #expect(try world.get(Self.https, Self.host, "path=acme/tool.git")?.last == "password=2")
    }

    @Test func `git deletes its login of one path, and not the one of all paths`() throws {
        let world = try GitWorld()
        try world.store(Self.https, Self.host, "username=ada", "password=one")
        try world.store(Self.https, Self.host, "path=acme/app.git", "username=ada", "password=two")
        #expect(
            try world.erase(Self.https, Self.host, "path=acme/tool.git", "username=ada", "password=one") == 0)
        #expect(try world.erase(Self.https, Self.host, "path=acme/app.git", "username=ada", "password=two") == 1)
        #expect(try world.get(Self.https, Self.host, "path=acme/app.git") == nil)
        #expect(try world.items("ada").count == 1)
        #expect(try world.get(Self.https, Self.host) == ["username=ada", "password=one"])
    }

    // MARK: Several at once

    @Test func `thirty processes that store one login at once leave one item, and all succeed`() async throws {
        try await aside {
            let world = try GitWorld()
            try world.add("ada", "web", user: ["vault.made": "browser"])
            let vault = world.vault
            try atOnce(30) { number in
                let record = try GitRecord(
                    try Secret(
                        text: "protocol=https\nhost=example.com\nusername=ada\npassword=token\(number)\n"))
                let logins = GitLogins(vault, now: 0)
                for _ in 0..<4 {
                    #expect(try logins.keep(record))
                    #expect(try logins.answer(to: record)?.user == "ada")
                }
            }
            #expect(try world.items("ada").count == 2)
        }
    }
}
