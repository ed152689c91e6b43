// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

/// An item, with the parts of its face as every view of it has to show them.
struct ItemSample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var item: Item
    var title: String
    var place = ""
    var user = ""
    var urls: [String] = []
    var host: String?
    var notes: String?
    var folder: String?
    var tags: [String] = []
    var kind: String?
    /// What a person sees of the secret that is not revealed.
    var secret = "********"
    var fields: [String] = []
    var hasCode = false
    /// The columns of a line of `find` in a pipe: service, account and label.
    var columns: [String]

    init(_ name: String, _ item: Item, title: String, columns: [String]) {
        (testDescription, self.item, self.title, self.columns) = (name, item, title, columns)
    }

    func with<Value>(_ part: WritableKeyPath<ItemSample, Value>, _ value: Value) -> ItemSample {
        var sample = self
        sample[keyPath: part] = value
        return sample
    }

    /// The item as a vault returns it; one that requires the passphrase each time as it is.
    func stored(in vault: Vault) throws -> Item {
        guard !item.asksForPresence else { return item }
        try vault.add(item)
        let query = Query(item.itemClass)
        return try #require(try vault.copyMatching(query).first)
    }
}

extension ItemSample {
    private static func generic(
        _ service: String, _ account: String = "", label: String? = nil, _ more: [Attribute: AttributeValue] = [:],
        user: [String: String] = [:], secret: Secret? = "s3cret", fields: [String: Secret] = [:]
    ) -> Item {
        var item = Item(
            .genericPassword(service: service, account: account), attributes: more, userAttributes: user,
            secret: secret, fields: fields)
        item[.label] = label.map(AttributeValue.string)
        return item
    }

    static let all: [ItemSample] = logins + programs + others + hostile

    private static let seed: Secret = "GEZDGNBVGY3TQOJQ"
    private static let seedURI: Secret = "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    private static var logins: [ItemSample] {
        [
            ItemSample(
                "a label", generic("mail", "ada", label: "Mail of work"), title: "Mail of work",
                columns: ["mail", "ada", "Mail of work"]
            ).with(\.place, "mail").with(\.user, "ada"),
            ItemSample("no label", generic("mail", "ada"), title: "mail (ada)", columns: ["mail", "ada", ""])
                .with(\.place, "mail").with(\.user, "ada"),
            ItemSample(
                "a host, no account", generic("api.example"), title: "api.example", columns: ["api.example", "", ""]
            ).with(\.place, "api.example").with(\.host, "api.example").with(\.urls, ["https://api.example"]),
            ItemSample(
                "port and path",
                Item(
                    .internetPassword(
                        server: "host.example", account: "bob", protocol: "htps", port: 8443, path: "/in"),
                    secret: "x"),
                title: "host.example (bob)", columns: ["host.example", "bob", ""]
            ).with(\.place, "host.example").with(\.user, "bob").with(\.host, "host.example")
                .with(\.urls, ["https://host.example:8443/in"]),
            ItemSample(
                "an import",
                Item(
                    .internetPassword(server: "shop.example", account: "eve", protocol: "htps"),
                    attributes: [.label: "Shop", .comment: "one\ntwo \u{202e}x"],
                    userAttributes: [
                        "vault.import": "bitwarden:1", "vault.made": "import:bitwarden", "folder": "Work",
                        "tags": "red\ngreen", "url": "https://shop.example/?a=1", "url.2": "https://b.example",
                    ], secret: "x"),
                title: "Shop", columns: ["shop.example", "eve", "Shop"]
            ).with(\.place, "shop.example").with(\.user, "eve").with(\.host, "shop.example")
                .with(\.urls, ["https://shop.example/?a=1", "https://b.example"]).with(\.notes, "one\ntwo \u{202e}x")
                .with(\.folder, "Work").with(\.tags, ["red", "green"]),
            ItemSample(
                "a field otp", generic("time", "ada", fields: ["otp": seed]), title: "time (ada)",
                columns: ["time", "ada", ""]
            ).with(\.place, "time").with(\.user, "ada").with(\.fields, ["otp"]).with(\.hasCode, true),
            ItemSample(
                "a URI as the secret", generic("time", "eve", secret: seedURI), title: "time (eve)",
                columns: ["time", "eve", ""]
            ).with(\.place, "time").with(\.user, "eve").with(\.hasCode, true),
            ItemSample(
                "a password in base32", generic("word", secret: "letmein"), title: "word", columns: ["word", "", ""]
            ).with(\.place, "word"),
        ]
    }

    private static var programs: [ItemSample] {
        [
            ItemSample(
                "a program's",
                generic(
                    "app", "bob~2",
                    user: ["vault.attributes": "application\nusername", "application": "app", "username": "bob"]),
                title: "app (bob)", columns: ["app", "bob~2", ""]
            ).with(\.place, "app").with(\.user, "bob"),
            ItemSample(
                "a program's of an earlier version",
                generic(
                    "old", "kim~3", label: "Old", user: ["xdg:schema": "org.old", "service": "old", "user": "kim"]),
                title: "Old", columns: ["old", "kim~3", "Old"]
            ).with(\.place, "old").with(\.user, "kim"),
            ItemSample(
                "git's",
                Item(
                    .internetPassword(
                        server: "git.example", account: "ada", protocol: "htps", securityDomain: "git"),
                    userAttributes: ["vault.made": "git"], secret: "x"),
                title: "git.example (ada)", columns: ["git.example", "ada", ""]
            ).with(\.place, "git.example").with(\.user, "ada").with(\.host, "git.example")
                .with(\.urls, ["https://git.example"]),
            ItemSample(
                "docker's",
                generic(
                    "https://r.example/v1/", "ada", label: "Docker Credentials",
                    user: ["docker_cli": "1", "server": "https://r.example/v1/", "username": "ada"]),
                title: "Docker Credentials", columns: ["https://r.example/v1/", "ada", "Docker Credentials"]
            ).with(\.place, "https://r.example/v1/").with(\.user, "ada").with(\.host, "r.example")
                .with(\.urls, ["https://r.example"]),
            ItemSample(
                "a browser's",
                Item(
                    .internetPassword(server: "www.site.example", account: "ada@mail.example", protocol: "htps"),
                    attributes: [.label: "Site"], userAttributes: ["vault.made": "browser"], secret: "x"),
                title: "Site", columns: ["www.site.example", "ada@mail.example", "Site"]
            ).with(\.place, "www.site.example").with(\.user, "ada@mail.example").with(\.host, "www.site.example")
                .with(\.urls, ["https://www.site.example"]),
        ]
    }

    private static var others: [ItemSample] {
        let text = (try? Vectors.table("webauthn/pkcs8.txt")["p256"]) ?? ""
        let key = try? Secret(bytes: [UInt8](hexadecimal: text))
        return [
            ItemSample(
                "a card",
                generic(
                    "Visa", label: "Visa of work", [.itemDescription: "card"], secret: nil,
                    fields: ["number": "4111 1111", "code": "123"]),
                title: "Visa of work", columns: ["Visa", "", "Visa of work"]
            ).with(\.place, "Visa").with(\.kind, "card").with(\.secret, "none").with(\.fields, ["code", "number"]),
            ItemSample(
                "a note", generic("plans", label: "Plans", [.comment: "first\n\nthird"], secret: nil),
                title: "Plans", columns: ["plans", "", "Plans"]
            ).with(\.place, "plans").with(\.notes, "first\n\nthird").with(\.secret, "none"),
            ItemSample(
                "a passkey", passkey(key ?? ""), title: "ada @ site.example",
                columns: ["site.example", "ada", "ada @ site.example"]
            ).with(\.place, "site.example").with(\.user, "ada")
                .with(\.secret, "the key of a passkey, which sites use through a browser"),
            ItemSample(
                "a certificate",
                Item(
                    .certificate(issuer: [1], serialNumber: [2]),
                    attributes: [.subject: .data([0x31, 13, 0x30, 11, 6, 3, 85, 4, 3, 12, 4] + Array("Root".utf8))],
                    secret: try? Secret(bytes: [0x30, 0xFF])),
                title: "Root", columns: ["Root", "", ""]
            ).with(\.place, "Root").with(\.secret, "not text: 2 bytes"),
            ItemSample(
                "a key",
                Item(
                    .key(applicationLabel: [1, 2], applicationTag: "org.example.signing"),
                    attributes: [.label: "Signing"], secret: "x"),
                title: "Signing", columns: ["org.example.signing", "", "Signing"]
            ).with(\.place, "org.example.signing"),
            ItemSample(
                "one that asks",
                generic(
                    "bank", "ada",
                    [.accessControl: .data(AccessControl(requiringPresence: .whenUnlocked).encoded)],
                    fields: ["otp": seed]),
                title: "bank (ada)", columns: ["bank", "ada", ""]
            ).with(\.place, "bank").with(\.user, "ada").with(\.fields, ["otp"]),
        ]
    }

    private static func passkey(_ key: Secret) -> Item {
        let passkey = try? Passkey(
            "site.example", Passkey.Names(relyingParty: "The Site", user: "ada", display: "Ada L."),
            credentialID: [9, 9], key: key, userHandle: "u")
        return passkey?.item ?? Item(.key(applicationLabel: []))
    }

    private static var hostile: [ItemSample] {
        let long = String(repeating: "0123456789abcdef", count: 256)
        return [
            ItemSample("4 KiB of label", generic("long", label: long), title: long, columns: ["long", "", long])
                .with(\.place, "long"),
            ItemSample(
                "signs of URLs", generic("a/b?c~2#d%", "x~2", user: ["vault": "1"]), title: "a/b?c~2#d% (x~2)",
                columns: ["a/b?c~2#d%", "x~2", ""]
            ).with(\.place, "a/b?c~2#d%").with(\.user, "x~2"),
            ItemSample(
                "lines and marks", generic("l\ni\tn\\e", "\u{202e}evil\u{1b}[2J", label: "two\nlines"),
                title: "two\nlines", columns: ["l\ni\tn\\e", "\u{202e}evil\u{1b}[2J", "two\nlines"]
            ).with(\.place, "l\ni\tn\\e").with(\.user, "\u{202e}evil\u{1b}[2J"),
            ItemSample("no names at all", generic(""), title: "password", columns: ["", "", ""]),
        ]
    }
}
