// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultBrowser
@testable import VaultDoorKit

/// Refusals of an extension's requests.
struct BrowserRefusalTests {
    private func client() throws -> BrowserClient { try BrowserClient(TestBrowserHouse(TemporaryDirectory())) }

    // MARK: Messages

    @Test(arguments: [
        ("", "13"), ("{", "4"), ("[]", "4"), ("\"a\"", "4"), ("null", "4"), ("{}", "12"), ("{\"action\":7}", "12"),
        ("{\"action\":\"rm\"}", "12"), ("{\"action\":\"passkeys-get\"}", "3"),
        ("{\"action\":\"passkeys-register\"}", "3"), ("{\"action\":\"get-database-entries\"}", "12"),
        ("{\"action\":\"delete-entry\"}", "12"), ("{\"action\":\"get-logins\"}", "3"),
        ("{\"action\":\"change-public-keys\"}", "9"),
    ])
    func `what is no message is an error`(text: String, code: String) throws {
        let reply = try client().raw(Array(text.utf8))
        #expect(reply["errorCode"] as? String == code && reply["error"] is String && reply["nonce"] == nil)
    }

    @Test func `bombs of brackets, bytes that are no text and names with control characters are errors`() throws {
        let client = try client()
        for bracket in ["[", "{\"a\":"] {
            let bomb = Array(String(repeating: bracket, count: NativeFrames.limit / bracket.utf8.count).utf8)
            #expect(try client.raw(bomb)["errorCode"] as? String == "4")
        }
        #expect(try client.raw([0x7b, 0xff, 0x7d])["errorCode"] as? String == "4")
        let name = "get\u{0}\u{1b}[2J\u{202E}\n"
        let reply = try client.raw(["action": name, "requestID": "\"\u{1}"])
        #expect(reply["action"] as? String == name && reply["requestID"] as? String == "\"\u{1}")
        #expect(try client.raw(["action": String(repeating: "a", count: 1000)])["action"] as? String == "")
        try client.exchangeKeys()
        let nonce = client.nonce()
        let inner = Array(String(repeating: "[", count: 100_000).utf8)
        let bomb = try client.raw([
            "action": "associate", "message": client.sealed(inner, nonce), "nonce": base64(nonce.bytes),
        ])
        #expect(bomb["errorCode"] as? String == "4")
    }

    @Test func `keys of another length, and those that give no secret, are not exchanged`() throws {
        let client = try client()
        let nonce = base64([UInt8](repeating: 3, count: 24))
        for key in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 7, count: 31), []] {
            let reply = try client.raw(["action": "change-public-keys", "publicKey": base64(key), "nonce": nonce])
            #expect(reply["errorCode"] as? String == "9", "\(key)")
        }
        for nonce in ["", "!", base64([1, 2, 3]), base64([UInt8](repeating: 1, count: 25))] {
            let reply = try client.raw([
                "action": "change-public-keys", "publicKey": base64(client.pair.publicKey), "nonce": nonce,
            ])
            #expect(reply["errorCode"] as? String == "9", "\(nonce)")
        }
    }

    @Test func `a number is used once, by either side, and has 24 bytes`() throws {
        let client = try client()
        try client.exchangeKeys()
        let nonce = client.nonce()
        #expect(try client.send("get-databasehash", nonce: nonce).errorCode == nil)
        #expect(try client.send("get-databasehash", nonce: nonce).errorCode == "4")
        #expect(try client.send("associate", nonce: nonce).errorCode == "4")
        // The nonce of the reply.
        #expect(try client.send("get-databasehash", nonce: nonce.next).errorCode == "4")
        let fresh = client.nonce()
        for bytes in [Array(fresh.bytes.dropLast()), fresh.bytes + [0], [], fresh.next.bytes] {
            let reply = try client.send("get-databasehash", [:], ["nonce": base64(bytes)], nonce: fresh)
            #expect(reply.errorCode == "4", "\(bytes)")
        }
        #expect(try client.send("get-databasehash", ["nonce": base64(nonce.bytes)]).errorCode == "4")
        // The refused message did not use up the nonce.
        #expect(try client.send("get-databasehash", ["nonce": base64(fresh.bytes)], nonce: fresh).errorCode == nil)
    }

    @Test func `new keys end the old channel, and another's box does not open`() throws {
        let client = try BrowserClient.associated()
        let other = try BrowserClient(client.house, seed: "other")
        try other.exchangeKeys()
        let nonce = client.nonce()
        let foreign = try other.sealed(Array("{}".utf8), nonce)
        #expect(try client.send("associate", [:], ["message": foreign], nonce: nonce).errorCode == "4")
        try client.exchangeKeys()
        #expect(try client.send("get-database-groups").errorCode == "8")
        #expect(try client.testAssociate().errorCode == nil)
        #expect(try client.send("get-database-groups").errorCode == nil)
    }

    @Test func `the action inside is the one outside`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.send("get-databasehash", ["action": "get-logins"]).errorCode == "12")
    }

    // MARK: Associations

    @Test(arguments: [
        "get-logins", "set-login", "generate-password", "get-database-groups", "create-new-group", "get-totp",
    ])
    func `an extension that skips the association gets nothing`(action: String) throws {
        let client = try client()
        try client.exchangeKeys()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        let members: [String: Any] = [
            "url": "https://example.com", "login": "a", "password": "b", "uuid": String(repeating: "0", count: 32),
            "keys": [["id": "x", "key": base64(client.idKey)]], "groupName": "g",
        ]
        #expect(try client.send(action, members).errorCode == "8")
        #expect(client.house.questions.isEmpty)
    }

    @Test func `a person who says no, and one who is not there, let nobody in`() throws {
        for answer in [PromptOutcome.dismissed, .unavailable, .failed] {
            let client = try client()
            client.house.says(answer)
            try client.exchangeKeys()
            #expect(try client.associate().errorCode == "6")
            // The person is not asked again at once either.
            client.house.says(.done)
            #expect(try client.associate().errorCode == "6")
            #expect(client.house.questions.count == 1)
            #expect(try BrowserAssociation.all(in: client.house.vault).isEmpty)
        }
    }

    @Test func `the key of an association is the channel's own, and the id key has 32 bytes`() throws {
        let client = try client()
        try client.exchangeKeys()
        for members in [
            [:], ["key": base64(client.idKey)], ["key": 7], ["key": base64(client.pair.publicKey), "idKey": "AAAA"],
            ["key": base64(client.pair.publicKey), "idKey": "!"],
        ] as [[String: Any]] { #expect(try client.send("associate", members).errorCode == "8") }
        #expect(client.house.questions.isEmpty)
    }

    @Test func `another id key, another identifier and a forgotten association prove nothing`() throws {
        let client = try BrowserClient.associated()
        let other = try BrowserClient(client.house, seed: "other")
        try other.exchangeKeys()
        try other.associate()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        #expect(client.id != other.id)
        #expect(try client.testAssociate(other.id).errorCode == "8")
        #expect(try client.testAssociate(key: other.idKey).errorCode == "8")
        #expect(try client.testAssociate("").errorCode == "8")
        #expect(try client.testAssociate("no-such").errorCode == "8")
        // A failed test removes the result of the previous test.
        #expect(try client.getLogins("https://example.com").errorCode == "8")
        #expect(try client.testAssociate().errorCode == nil)
        for keys in [
            [], [["id": client.id, "key": base64(other.idKey)]], [["id": other.id, "key": base64(other.idKey)]],
            [["id": client.id]],
        ] as [[[String: String]]] {
            #expect(try client.getLogins("https://example.com", ["keys": keys]).errorCode == "10")
        }
        try #require(try BrowserAssociation.find(client.id, in: client.house.vault)).delete(from: client.house.vault)
        #expect(try client.getLogins("https://example.com").errorCode == "10")
        #expect(try client.setLogin("https://example.com", "eve", "x").errorCode == "8")
        #expect(try client.testAssociate().errorCode == "8")
    }

    @Test func `an item that a sandbox has put into its own group lets nobody in`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.add(
            Item(
                .genericPassword(service: BrowserAssociation.service, account: "planted"),
                attributes: [.accessGroup: "org.example.App"], secret: Secret(text: base64(client.idKey))))
        #expect(try client.testAssociate("planted").errorCode == "8")
    }

    // MARK: Logins

    @Test(arguments: [
        "", "no url", "file:///etc/passwd", "https://", "javascript:alert(1)", "https://exa mple.com",
        "https://ada@example.com", "https://:@example.com",
        "https://\(String(repeating: "a", count: 4076))@example.com.evil.com/",
    ])
    func `what names no page gets no logins`(url: String) throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        #expect(try client.getLogins(url).errorCode == "14")
        #expect(try client.setLogin(url, "ada", "x").errorCode == "14")
    }

    @Test func `no login of a page is 15, and nobody is asked`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        #expect(try client.getLogins("https://example.org").errorCode == "15")
        #expect(try client.getLogins("http://example.com").errorCode == "15")
        // The door's own items are not logins.
        #expect(try client.getLogins("https://vault.browser").errorCode == "15")
        #expect(client.house.questions.count == 1)
    }

    @Test func `a no is kept for the site, and a question without an answer is not`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        try client.house.vault.keep("example.org", "ada", "s3cret")
        client.house.says(.failed)
        #expect(try client.getLogins("https://example.org").errorCode == "6")
        client.house.says(.dismissed)
        #expect(try client.getLogins("https://example.com").errorCode == "6")
        client.house.says(.done)
        #expect(try client.getLogins("https://example.com/again").errorCode == "6")
        #expect(client.house.questions.count == 3)
        let kept = try #require(try BrowserAssociation.find(client.id, in: client.house.vault))
        #expect(kept.sites == ["example.com": false])
        // The consent is limited to this browser, and lasts until revoked.
        let other = try BrowserClient(client.house, seed: "other")
        try other.exchangeKeys()
        try other.associate()
        #expect(try other.getLogins("https://example.com").logins == ["ada"])
        #expect(try kept.forget("EXAMPLE.com.", in: client.house.vault))
        let later = try BrowserClient(client.house)
        later.id = client.id
        try later.exchangeKeys()
        #expect(try later.testAssociate().errorCode == nil)
        #expect(try later.getLogins("https://example.com").logins == ["ada"])
    }

    @Test func `a login of another page is neither changed nor told by its identifier`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret", fields: ["otp": "GEZDGNBVGY3TQOJQ"])
        try client.house.vault.add(Item(.genericPassword(service: "ssh", account: "key"), secret: Secret(text: "k")))
        let items =
            try client.house.vault.copyMatching(Query(.internetPassword))
            + client.house.vault.copyMatching(Query(.genericPassword))
        for item in items {
            let uuid = try #require(item.record).shortID(digits: 32)
            #expect(try client.setLogin("https://evil.com", "eve", "x", ["uuid": uuid]).errorCode == "18")
            #expect(try client.send("get-totp", ["uuid": uuid]).errorCode != nil)
        }
        for uuid in ["0", String(repeating: "0", count: 32), String(repeating: "é", count: 16), "x"] {
            #expect(try client.setLogin("https://example.com", "eve", "x", ["uuid": uuid]).errorCode == "18")
            #expect(try client.send("get-totp", ["uuid": uuid]).errorCode == "18")
        }
        // The browser can neither change a login that the person withheld nor read its one-time code.
        client.house.says(.dismissed)
        let uuid = try #require(items[0].record).shortID(digits: 32)
        #expect(try client.setLogin("https://example.com", "ada", "x", ["uuid": uuid]).errorCode == "6")
        #expect(try client.setLogin("https://example.com", "ada", "x").errorCode == "6")
        #expect(try client.send("get-totp", ["uuid": uuid]).errorCode == "6")
        #expect(try client.house.vault.first(Query(.internetPassword))?.openedSecret()?.exposed == Array("s3cret".utf8))
    }

    @Test func `an empty password and one that is none are not saved`() throws {
        let client = try BrowserClient.associated()
        for password in ["", String(repeating: "x", count: 65_537)] {
            #expect(try client.setLogin("https://example.com", "ada", password).errorCode == "6")
        }
        #expect(try client.send("set-login", ["url": "https://example.com", "login": "ada"]).errorCode == "6")
        #expect(try client.house.vault.allMatching(Query(.internetPassword)).isEmpty)
    }

    @Test func `nothing is typed into other programs, and a group has a name that can be read`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.send("request-autotype", ["search": "example.com"]).errorCode == "6")
        for name in ["", "a\nb", "\u{202E}", String(repeating: "x", count: 256)] {
            #expect(try client.send("create-new-group", ["groupName": name]).errorCode == "17")
        }
    }

    // MARK: Locked

    @Test func `a locked vault says so, and asks only when it is told to`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.send("lock-database").errorCode == "1")
        for action in ["get-databasehash", "test-associate", "get-logins", "associate", "lock-database"] {
            #expect(try client.send(action).errorCode == "1")
        }
        #expect(client.house.unlockQuestions == 0)
        #expect(try client.send("get-databasehash", [:], ["triggerUnlock": "true"]).errorCode == "1")
        // After a refusal the person is not asked again for a while.
        client.house.opensWhenAsked()
        #expect(try client.send("get-databasehash", [:], ["triggerUnlock": "true"]).errorCode == "1")
        #expect(client.house.unlockQuestions == 1)
    }

    @Test func `a person unlocks when the extension asks for it`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.send("lock-database").errorCode == "1")
        client.house.opensWhenAsked()
        #expect(try client.send("get-databasehash", [:], ["triggerUnlock": "false"]).errorCode == "1")
        #expect(try client.send("get-databasehash", [:], ["triggerUnlock": "true"])["hash"]?.count == 64)
        #expect(try client.testAssociate().errorCode == nil)
    }

    @Test func `messages that were changed here and there are answered`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        let random = SeededRandom("browser")
        let seeds = [
            #"{"action":"get-logins","url":"https://example.com","keys":[{"id":"\#(client.id)","key":"AAAA"}]}"#,
            #"{"action":"set-login","url":"https://example.com:8","login":"ada","password":"p\u0041","uuid":""}"#,
            #"{"action":"associate","key":"\#(base64(client.pair.publicKey))","idKey":"AAAA"}"#,
        ].map { Array($0.utf8) }
        for round in 0..<600 {
            var inner = seeds[round % seeds.count]
            for _ in 0..<random.number(in: 1...4) {
                inner[random.number(in: 0...inner.count - 1)] =
                    random.chance(50) ? UInt8(random.uniform(256)) : random.element(of: inner)
            }
            let nonce = client.nonce()
            let action = ["get-logins", "set-login", "associate"][round % seeds.count]
            let message = try client.raw([
                "action": action, "message": client.sealed(inner, nonce), "nonce": base64(nonce.bytes),
            ])
            #expect(message["action"] as? String == action)
            #expect((message["errorCode"] == nil) == (message["nonce"] as? String == base64(nonce.next.bytes)))
        }
    }
}
