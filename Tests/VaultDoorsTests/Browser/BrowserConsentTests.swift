// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault

@testable import VaultBrowser
@testable import VaultDoorKit

/// The user's answers for the logins of a site.
struct BrowserConsentTests {
    @Test func `after a no the same owner's other hosts do not ask at once, and none gets a login`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        try client.house.vault.keep("example.org", "ada", "s3cret")
        client.house.says(.dismissed)
        let asked = client.house.questions.count
        for number in 0..<60 {
            #expect(try client.getLogins("https://\(number).example.com/").errorCode == "6")
        }
        #expect(client.house.questions.count == asked + 1)
        client.house.says(.done)
        #expect(try client.getLogins("https://www.example.com/").errorCode == "6")
        // Another owner is not held up.
        #expect(try client.getLogins("https://example.org/").logins == ["ada"])
        #expect(client.house.questions.count == asked + 2)
    }

    @Test func `a yes is that of one host, and the next one asks`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.com", "ada", "s3cret")
        let asked = client.house.questions.count
        for host in ["example.com", "www.example.com", "example.com", "www.example.com"] {
            #expect(try client.getLogins("https://\(host)/").logins == ["ada"])
        }
        #expect(client.house.questions.count == asked + 2)
        // The answers, not the rest, decide for a host that has one.
        client.house.says(.dismissed)
        #expect(try client.getLogins("https://new.example.com/").errorCode == "6")
        #expect(try client.getLogins("https://example.com/").logins == ["ada"])
    }
}
