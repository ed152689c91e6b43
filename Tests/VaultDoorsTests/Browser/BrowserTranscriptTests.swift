// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultBrowser
import VaultDoorKit

/// The dialogue of the stock extension with this host, step by step.
struct BrowserTranscriptTests {
    @Test func `the whole of it, as the extension goes about it`() throws {
        let client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()))
        let keys = try client.exchangeKeys()
        #expect(keys["success"] as? String == "true" && keys["version"] as? String == "2.7.9")
        let hash = try #require(try client.send("get-databasehash", ["connectedKeys": []])["hash"])
        #expect(hash.count == 64)
        let associated = try client.associate()
        #expect(associated["hash"] == hash && client.id.hasPrefix("firefox-esr-"))
        #expect(client.house.questions.map { $0.description[0] } == ["Let the browser 'firefox-esr' use this vault?"])
        let tested = try client.testAssociate()
        #expect(tested["hash"] == hash && tested["id"] == client.id)

        #expect(try client.getLogins("https://example.com/login").errorCode == "15")
        let password = try #require(try client.send("generate-password", [:], ["requestID": "01ab"])["password"])
        #expect(password.count == 24)
        let saved = try client.setLogin("https://example.com/login", "ada", "pässwörd")
        #expect(saved["error"] == "success" && saved.inner["count"] is NSNull && saved.inner["entries"] is NSNull)
        // The browser reads a login that it saved without asking.
        let found = try client.getLogins("https://example.com/login")
        #expect(found["count"] == "1" && found["hash"] == hash && client.house.questions.count == 1)
        let entry = try #require(found.entries.first)
        #expect(entry["login"] as? String == "ada" && entry["password"] as? String == "pässwörd")
        #expect(entry["name"] as? String == "example.com" && (entry["stringFields"] as? [Any])?.isEmpty == true)
        let uuid = try #require(entry["uuid"] as? String)
        #expect(uuid.count == 32)
        #expect(try client.setLogin("https://example.com", "ada", "newer", ["uuid": uuid])["error"] == "success")
        #expect(try client.getLogins("https://example.com").entries.first?["password"] as? String == "newer")

        let groups = try client.send("get-database-groups")
        #expect(groups["defaultGroup"] == "" && groups.inner["defaultGroupAlwaysAllow"] as? Bool == false)
        let list = try #require((groups.inner["groups"] as? [String: Any])?["groups"] as? [[String: Any]])
        #expect(list.count == 1 && list[0]["name"] as? String == "vault" && list[0]["uuid"] is String)
        #expect(try client.send("lock-database").errorCode == "1")
    }

    @Test func `a login that others saved is asked for once, naming page and host`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        try client.house.vault.keep("www.example.com", "grace", "t0psecret")
        try client.house.vault.add(
            Item(.genericPassword(service: "example.com", account: "alan"), secret: Secret(text: "enigma")))
        try client.house.vault.add(
            Item(.genericPassword(service: "example", account: "none"), secret: Secret(text: "x")))
        // Logins of the exact host first, then of parent domains, the last changed first.
        #expect(try client.getLogins("https://www.example.com/x").logins == ["grace", "alan", "ada"])
        let lines = client.house.questions[1].description
        #expect(lines[0].contains("firefox-esr") && lines[0].contains(client.id))
        #expect(lines[1] == "https://www.example.com" && lines.contains("example.com"))
        #expect(try client.getLogins("https://www.example.com/y").logins.count == 3)
        #expect(client.house.questions.count == 2)
        // Another host with the same login counts as another site.
        #expect(try client.getLogins("https://mail.example.com/").logins == ["alan", "ada"])
        #expect(client.house.questions.count == 3)
        let kept = try #require(try BrowserAssociation.find(client.id, in: client.house.vault))
        #expect(kept.sites == ["www.example.com": true, "mail.example.com": true] && kept.program == "firefox-esr")
    }

    @Test func `a page below the host for which it saved a login is asked for`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.setLogin("https://example.com", "ada", "s3cret").errorCode == nil)
        client.house.says(.dismissed)
        #expect(try client.getLogins("https://evil.example.com").errorCode == "6")
        #expect(try client.getLogins("https://example.com").logins == ["ada"])
    }

    @Test func `of a page with logins of both kinds a no leaves those that it saved itself`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.setLogin("https://example.com", "ada", "s3cret").errorCode == nil)
        try client.house.vault.keep("example.com", "grace", "t0psecret")
        client.house.says(.dismissed)
        #expect(try client.getLogins("https://example.com").logins == ["ada"])
    }

    @Test func `a long host is shown whole`() throws {
        let client = try BrowserClient.associated()
        let host = String(repeating: "paypal.com.", count: 18) + "evil.com"
        try client.house.vault.keep("evil.com", "ada", "s3cret")
        #expect(try client.getLogins("https://\(host)/").logins == ["ada"])
        let lines = client.house.questions[1].description
        #expect(lines.dropFirst().joined().contains("https://\(host)") && lines.allSatisfy { $0.count <= 160 })
    }

    @Test func `what is saved is an internet password, and one that is there already is changed`() throws {
        let client = try BrowserClient.associated()
        #expect(try client.setLogin("http://localhost:8080/x", "ada", "1").errorCode == nil)
        #expect(try client.setLogin("http://localhost:8080/y", "ada", "2").errorCode == nil)
        let items = try client.house.vault.copyMatching(Query(.internetPassword))
        #expect(items.count == 1)
        #expect(items[0].server == "localhost" && items[0][.port] == 8080 && items[0][.protocolName]?.text == "http")
        #expect(try items[0].openedSecret()?.exposed == [0x32])
        #expect(try client.getLogins("http://localhost:8080/").logins == ["ada"])
        #expect(try client.getLogins("http://localhost:8081/").errorCode == "15")
    }

    @Test func `a folder comes with the login that is saved in it`() throws {
        let client = try BrowserClient.associated()
        let made = try client.send("create-new-group", ["groupName": "Work"])
        let more: [String: Any] = ["group": made["name"] ?? "", "groupUuid": made["uuid"] ?? ""]
        #expect(try client.setLogin("https://example.com", "ada", "x", more).errorCode == nil)
        #expect(try client.setLogin("https://example.org", "ada", "x", ["group": "Other"]).errorCode == nil)
        let groups = try client.send("get-database-groups").inner["groups"] as? [String: Any]
        let root = try #require((groups?["groups"] as? [[String: Any]])?.first)
        #expect((root["children"] as? [[String: Any]])?.map { $0["name"] as? String } == ["Work"])
        #expect(try client.getLogins("https://example.com").entries.first?["group"] as? String == "Work")
    }

    @Test func `a one-time password comes from the field, and no other field is given`() throws {
        let client = try BrowserClient.associated(now: 59)
        try client.house.vault.keep(
            "example.com", "ada", "s3cret",
            fields: ["otp": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "pin": "pin 1234", "KPH: x": "kph 5678"],
            user: ["note": "a note"])
        let found = try client.getLogins("https://example.com")
        let entry = try #require(found.entries.first)
        #expect(entry["totp"] as? String == "287082")
        let text = String(decoding: try JSONSerialization.data(withJSONObject: found.inner), as: UTF8.self)
        // No part can be in an identifier or a nonce by chance.
        for part in ["pin 1234", "kph 5678", "a note", "GEZDGNBV"] { #expect(!text.contains(part)) }
        #expect(try client.send("get-totp", ["uuid": entry["uuid"] ?? ""])["totp"] == "287082")
    }

    @Test func `names of any kind come through, and what is no text is left out`() throws {
        let client = try BrowserClient.associated()
        let name = "a\"\\\n\u{0}\u{1b}é\u{1F600}"
        try client.house.vault.keep("example.com", name, name)
        try client.house.vault.add(
            Item(
                .internetPassword(server: "example.com", account: "binary"), secret: Secret(bytes: [0xff, 0xfe])))
        let entries = try client.getLogins("https://example.com").entries
        #expect(entries.count == 1)
        #expect(entries.first?["login"] as? String == name && entries.first?["password"] as? String == name)
    }

    @Test func `an answer is never longer than a browser takes`() throws {
        let client = try BrowserClient.associated()
        let long = String(repeating: "\u{1}", count: 20_000)
        for number in 0..<12 { try client.house.vault.keep("example.com", "ada\(number)", long) }
        let found = try client.getLogins("https://example.com")
        #expect((1..<12).contains(found.entries.count) && found["count"] == String(found.entries.count))
    }

    @Test func `two pages of a site that come at once are one question`() async throws {
        try await aside {
            let client = try BrowserClient.associated()
            try client.house.vault.keep("example.com", "ada", "s3cret")
            var requests: [BrowserRequest] = []
            for _ in 0..<6 {
                let nonce = client.nonce()
                let keys = #"[{"id":"\#(client.id)","key":"\#(base64(client.idKey))"}]"#
                let inner = Array(#"{"url":"https://example.com/","keys":\#(keys)}"#.utf8)
                let message: [String: Any] = [
                    "action": "get-logins", "message": try client.sealed(inner, nonce), "nonce": base64(nonce.bytes),
                ]
                let bytes = Array(try JSONSerialization.data(withJSONObject: message))
                guard case .request(let request) = client.session.take(bytes) else { continue }
                requests.append(request)
            }
            let (door, all) = (client.door, requests)
            #expect(all.count == 6)
            try atOnce(6) { #expect(String(decoding: door.answer(all[$0]), as: UTF8.self).contains("\"message\"")) }
            #expect(client.house.questions.count == 2)
        }
    }
}
