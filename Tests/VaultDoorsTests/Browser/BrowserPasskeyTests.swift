// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultBrowser
@testable import VaultDoorKit

private func code(_ response: [String: Any]) -> Int? { response["errorCode"] as? Int }

private func id(_ response: [String: Any]) throws -> String { try #require(response["id"] as? String) }

private func answer(_ response: [String: Any]) throws -> [String: Any] {
    try #require(response["response"] as? [String: Any])
}

private func flags(_ response: [String: Any]) throws -> AuthenticatorData.Flags {
    let text = try #require(try answer(response)["authenticatorData"] as? String)
    let data = Base64URL.decoded(text).flatMap { AuthenticatorData($0.span) }
    return try #require(data).flags
}

struct BrowserPasskeyTests {
    @Test func `a refused ceremony has the code of its reason, and stores nothing`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let asked = client.house.questions.count
        var short = site
        short.challenge = [UInt8](repeating: 1, count: 15)
        var (open, suffix, foreign) = (site, site, site)
        open = Site("example.com", origin: "http://example.com")
        suffix = Site("com", origin: "https://example.com")
        foreign = Site("example.org", origin: "https://example.com")
        let creations: [(Site, [String: Any], Int)] = [
            (short, short.creation(), 32), (site, site.creation(handle: []), 33),
            (site, site.creation(handle: [UInt8](repeating: 7, count: 65)), 33),
            (site, site.creation(algorithms: [-257, -37]), 29), (site, site.creation(attachment: "cross-platform"), 31),
            (open, open.creation(), 26),
            (suffix, suffix.creation(), 28), (foreign, foreign.creation(), 28),
            (Site("example.com", origin: "null"), site.creation(), 26),
            (Site("127.0.0.1"), Site("127.0.0.1").creation(), 27),
        ]
        for (site, options, expected) in creations {
            #expect(code(try client.register(site, options)) == expected, "\(site.origin) \(expected)")
        }
        #expect(code(try client.passkey("passkeys-register", nil, site.origin)) == 24)
        #expect(code(try client.passkey("passkeys-register", site.creation(), nil)) == 25)
        #expect(code(try client.signIn(short, short.request())) == 32)
        #expect(code(try client.signIn(site)) == 15)
        #expect(client.house.questions.count == asked)
        #expect(try client.house.vault.passkeys(of: nil).isEmpty)
    }

    @Test func `without the keys of an association there is no ceremony`() throws {
        let client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()))
        try client.exchangeKeys()
        let site = Site()
        let members: [String: Any] = ["publicKey": site.creation(), "origin": site.origin]
        #expect(try client.send("passkeys-register", members).errorCode == "8")
        try client.associate()
        #expect(try client.send("passkeys-register", members).errorCode == "10")
        #expect(try client.send("passkeys-get", members).errorCode == "10")
        client.house.lock()
        #expect(try client.send("passkeys-get", members).errorCode == "1")
        #expect(try client.house.vault.passkeys(of: nil).isEmpty)
    }

    @Test func `the user is asked for every ceremony, and a no stores and signs nothing`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        client.house.says(.dismissed)
        #expect(code(try client.register(site)) == 22)
        #expect(code(try client.register(site, site.creation(user: "eve", verification: "required"))) == 23)
        #expect(try client.house.vault.passkeys(of: nil).isEmpty)
    }

    @Test func `a page that was refused cannot ask at once under another name`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        client.house.says(.dismissed)
        #expect(code(try client.register(site)) == 22)
        client.house.says(.done)
        let asked = client.house.questions.count
        for user in ["bob", "cleo"] { #expect(code(try client.register(site, site.creation(user: user))) == 22) }
        #expect(client.house.questions.count == asked)
        // Another site is not held up.
        _ = try id(try client.register(Site("example.org")))
    }

    @Test func `each sign-in asks the user anew`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        _ = try id(try client.register(site, site.creation(user: "bob")))
        let asked = client.house.questions.count
        for number in 1...2 {
            _ = try id(try client.signIn(site))
            #expect(client.house.questions.count == asked + number)
        }
        client.house.says(.dismissed)
        #expect(code(try client.signIn(site)) == 22)
    }

    @Test func `a question shows the checked domain, and quotes what the page chose`() throws {
        let client = try BrowserClient.associated()
        let site = Site("login.example.com")
        let name = "bob'\u{201D} of bank.example\n" + String(repeating: "x", count: 100)
        _ = try client.register(site, site.creation(user: name))
        let lines = try #require(client.house.questions.last).description
        #expect(lines[0] == "Let the browser 'firefox-esr' make a passkey of this vault for")
        #expect(lines[1] == "login.example.com")
        #expect(lines[2].hasPrefix("and the account 'bob`` of bank.example") && lines[2].contains("\u{2026}"))
    }

    @Test func `a verified user is noted only where the passphrase was asked for`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let made = try flags(try client.register(site))
        #expect(made.contains([.userPresent, .backupEligible]) && !made.contains(.userVerified))
        #expect(client.house.verifications == 0)
        #expect(try flags(try client.signIn(site, site.request(verification: "required"))).contains(.userVerified))
        #expect(client.house.verifications == 1)
        #expect(try !flags(try client.signIn(site, site.request(verification: "discouraged"))).contains(.userVerified))
        #expect(client.house.verifications == 1)
    }

    @Test func `a passkey is said to be backed up while a fleet gets it`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        #expect(try flags(try client.register(site)).isDisjoint(with: .backedUp))
        #expect(try flags(try client.signIn(site)).isDisjoint(with: .backedUp))
        client.house.joinsFleet()
        #expect(try flags(try client.signIn(site)).contains([.backupEligible, .backedUp]))
        #expect(try flags(try client.register(Site("example.org"))).contains([.backupEligible, .backedUp]))
        let found = try #require(try client.house.vault.passkeys(of: "example.com").first)
        // As imported from a program that said so when the key was made.
        let changes = ItemChanges(userAttributes: ["passkey.backup": "false"])
        try client.house.vault.update(try #require(found.item.record), with: changes)
        #expect(try flags(try client.signIn(site)).isDisjoint(with: [.backupEligible, .backedUp]))
    }

    @Test func `a site that excludes its passkeys gets no second one`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let first = try id(try client.register(site))
        #expect(code(try client.register(site, site.creation(excluded: [first]))) == 21)
        let others = (0..<10_000).map { Base64URL.encoded(Array("other \($0)".utf8)) }
        #expect(code(try client.register(site, site.creation(excluded: others + [first]))) == 21)
        // Another site does not learn of it.
        let other = Site("example.org")
        _ = try id(try client.register(other, other.creation(excluded: [first])))
        #expect(try client.house.vault.passkeys(of: nil).count == 2)
    }

    @Test func `a page learns only with the user's consent whether a passkey that it excludes is here`() throws {
        for isHere in [false, true] {
            let client = try BrowserClient.associated()
            let site = Site()
            let made = try id(try client.register(site))
            let named = site.creation(user: "bob", excluded: [isHere ? made : Base64URL.encoded([7])])
            let asked = client.house.questions.count
            client.house.says(.dismissed)
            #expect(code(try client.register(site, named)) == 22)
            #expect(client.house.questions.count == asked + 1)
            #expect(client.house.questions.last?.description.last == "and the account 'bob' ('Ada L.')?")
            // While the question rests, there is no other answer either.
            client.house.says(.done)
            #expect(code(try client.register(site, named)) == 22)
            #expect(client.house.questions.count == asked + 1)
        }
        let client = try BrowserClient.associated()
        let site = Site()
        let made = try id(try client.register(site))
        let named = site.creation(verification: "required", excluded: [made])
        let asked = client.house.questions.count
        #expect(code(try client.register(site, named)) == 21)
        #expect(client.house.questions.count == asked + 1 && client.house.verifications == 1)
    }

    @Test func `a page learns nothing of the passkeys that it lists where the user is not asked`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let lists = [[try id(try client.register(site))], [Base64URL.encoded([7])]]
        client.house.says(.unavailable)
        for list in lists { #expect(code(try client.signIn(site, site.request(allowed: list))) == 30) }
        // A site of which nothing is here gives the same answer.
        let other = Site("example.org")
        #expect(code(try client.signIn(other, other.request(allowed: lists[0]))) == 30)
        let (again, asked) = (Site("example.net"), client.house.questions.count)
        client.house.says(.done)
        let own = try id(try client.register(again))
        client.house.says(.dismissed)
        #expect(code(try client.signIn(again, again.request(allowed: [own]))) == 22)
        #expect(client.house.questions.count == asked + 2)
        for list in [[own], lists[1]] {
            #expect(code(try client.signIn(again, again.request(allowed: list))) == 30)
        }
        #expect(client.house.questions.count == asked + 2)
    }

    @Test func `a refusal rests for all hosts of an owner, and for no other owner's`() throws {
        let client = try BrowserClient.associated()
        for host in ["a.example.co.uk", "b.example.co.uk"] { _ = try id(try client.register(Site(host))) }
        client.house.says(.dismissed)
        let asked = client.house.questions.count
        for number in 0..<60 {
            #expect(code(try client.register(Site("\(number).example.com"))) == 22)
            #expect(code(try client.register(Site("deep.\(number).example.com"))) == 22)
        }
        #expect(client.house.questions.count == asked + 1)
        #expect(code(try client.signIn(Site("a.example.co.uk"))) == 22)
        #expect(code(try client.signIn(Site("b.example.co.uk"))) == 30)
        #expect(client.house.questions.count == asked + 2)
        client.house.says(.done)
        _ = try id(try client.register(Site("other.co.uk")))
    }

    @Test func `of two accounts the user chooses one, and a list of the site limits them`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let ids = try ["ada", "bob", "cleo"].enumerated().map { (number, user) throws in
            try id(try client.register(site, site.creation(user: user, handle: [UInt8(number + 1)])))
        }
        client.house.chooses(2)
        let chosen = try client.signIn(site)
        #expect(try id(chosen) == ids[2])
        #expect(try answer(chosen)["userHandle"] as? String == Base64URL.encoded([3]))
        let question = try #require(client.house.questions.last)
        #expect(
            question.description.suffix(3) == ["1  'ada' ('Ada L.')", "2  'bob' ('Ada L.')", "3  'cleo' ('Ada L.')"])
        #expect(question.prompt == "Number of the account:")
        #expect(try id(try client.signIn(site, site.request(allowed: [ids[1]]))) == ids[1])
        // At once, an answer would tell the page which of the listed accounts are here.
        #expect(code(try client.signIn(site, site.request(allowed: ["AAAA"]))) == 30)
        client.house.chooses(7)
        #expect(code(try client.signIn(site)) == 22)
    }

    @Test func `properties and pseudo-random results are given where the site asks for them`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let inputs: [String: Any] = ["prf": ["eval": ["first": "AQ", "second": "Ag"]], "credProps": true]
        let made = try answer(try client.register(site, site.creation(extensions: inputs)))
        // The function is that of verified users, whatever the site requires (WebAuthn, 10.1.4).
        #expect(client.house.verifications == 1)
        let results = try #require(made["clientExtensionResults"] as? [String: [String: Any]])
        #expect(results["credProps"]?["rk"] as? Bool == true && results["prf"]?["enabled"] as? Bool == true)
        let first = try #require(results["prf"]?["results"] as? [String: String])
        #expect(Set(first.values).count == 2 && first.values.allSatisfy { Base64URL.decoded($0)?.count == 32 })
        let signed = try answer(try client.signIn(site, site.request(extensions: ["prf": ["eval": ["first": "AQ"]]])))
        let again = (signed["clientExtensionResults"] as? [String: [String: Any]])?["prf"]?["results"]
        #expect(again as? [String: String] == ["first": first["first"] ?? ""])
        #expect(client.house.verifications == 2)
        let discouraged = site.request(verification: "discouraged", extensions: ["prf": ["eval": ["first": "AQ"]]])
        #expect(try flags(try client.signIn(site, discouraged)).contains(.userVerified))
        #expect(client.house.verifications == 3)
        // Buffers of the page that the extension has not encoded.
        for inputs in [[:], ["0": 1, "1": 2]] as [[String: Any]] {
            let given: [String: Any] = ["prf": ["eval": ["first": inputs]]]
            let bare = try answer(try client.signIn(site, site.request(extensions: given)))
            #expect((bare["clientExtensionResults"] as? [String: Any])?.isEmpty == true)
        }
        #expect((try answer(try client.signIn(site))["clientExtensionResults"] as? [String: Any])?.isEmpty == true)
        #expect(client.house.verifications == 3)
        // A new passkey that is only to have the function needs no passphrase.
        _ = try id(try client.register(site, site.creation(extensions: ["prf": [String: Any]()])))
        #expect(client.house.verifications == 3)
        client.house.says(.dismissed)
        #expect(code(try client.signIn(site, discouraged)) == 22)
    }

    @Test func `no key and no user handle is in an answer that does not need it`() throws {
        let client = try BrowserClient.associated()
        let site = Site()
        let made = try answer(try client.register(site))
        #expect(
            Set(made.keys) == [
                "attestationObject", "clientDataJSON", "authenticatorData", "publicKey", "publicKeyAlgorithm",
                "clientExtensionResults",
            ])
        #expect(made["publicKeyAlgorithm"] as? Int == -7)
    }

    @Test func `a passkey is not offered as a login, nor a login as a passkey`() throws {
        let client = try BrowserClient.associated()
        try client.house.vault.keep("example.org", "ada", "s3cret")
        _ = try id(try client.register(Site()))
        #expect(try client.getLogins("https://example.com/").errorCode == "15")
        #expect(code(try client.signIn(Site("example.org"))) == 15)
    }

    @Test func `a protected passkey signs nothing where no door can ask`() throws {
        let client = try BrowserClient.associated()
        _ = try id(try client.register(Site()))
        let found = try #require(try client.house.vault.passkeys(of: "example.com").first)
        let record = try #require(found.item.record)
        let control = AccessControl(.whenUnlocked, constraints: 1).encoded
        try client.house.vault.update(record, with: ItemChanges(attributes: [.accessControl: .data(control)]))
        #expect(code(try client.signIn(Site())) == 31)
    }

    @Test func `a passkey that is deleted while the user is asked signs nothing`() throws {
        let client = try BrowserClient.associated()
        _ = try id(try client.register(Site()))
        let vault = client.house.vault
        client.house.whenAsked { _ = try? vault.delete(matching: Query(.key)) }
        #expect(code(try client.signIn(Site())) == 31)
    }

    @Test func `a vault that is locked while the user is asked stores and signs nothing`() throws {
        let client = try BrowserClient.associated()
        _ = try id(try client.register(Site()))
        let vault = client.house.vault
        client.house.whenAsked { try? vault.lock() }
        let members: [String: Any] = [
            "keys": [["id": client.id, "key": base64(client.idKey)]], "publicKey": Site().request(),
            "origin": Site().origin,
        ]
        #expect(try client.send("passkeys-get", members).errorCode == "1")
        try vault.unlock(with: .passphrase(.of("pass")))
        #expect(try vault.passkeys(of: nil).count == 1)
    }

    @Test func `of many accounts each can be chosen, and no window is longer than a pinentry takes`() throws {
        let client = try BrowserClient.associated()
        let site = Site(String(repeating: "a", count: 60) + "." + String(repeating: "b", count: 60) + ".example")
        let (name, count) = (String(repeating: "\u{1F511}", count: 62), 21)
        let ids = try (1...count).map { number in
            let user = "\(number)" + name
            return try id(try client.register(site, site.creation(user: user, handle: [UInt8(number)])))
        }
        #expect(client.house.questions.allSatisfy { Assuan.takes(description: $0.description) })
        client.house.chooses(count - 1)
        #expect(try id(try client.signIn(site)) == ids[count - 1])
        let lines = try #require(client.house.questions.last).description
        #expect(Assuan.takes(description: lines) && lines.last == "These are 1 to 2 of 21; 'm' shows more.")
        client.house.chooses(count)
        #expect(code(try client.signIn(site)) == 22)
    }

    @Test func `a passkey in a hidden group is not used, and excludes no other`() throws {
        let client = try BrowserClient.associated()
        let made = try id(try client.register(Site()))
        let found = try #require(try client.house.vault.passkeys(of: "example.com").first)
        let changes = ItemChanges(attributes: [.accessGroup: "device-identifiers"])
        try client.house.vault.update(try #require(found.item.record), with: changes)
        #expect(code(try client.signIn(Site())) == 15)
        _ = try id(try client.register(Site(), Site().creation(excluded: [made])))
    }
}
