// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCredentials

struct CredentialRequestTests {
    private func request(_ name: String) -> CredentialRequest? { CredentialRequest([0] + Array(name.utf8)) }

    @Test(arguments: [
        "", "/unit/a.service/id", "xyz/unit/a.service/id", "ABC/unit/a.service/id", "1/a.service/id",
        "11111111111111111/unit/a.service/id", "1/unit/a.service", "1/unit/a.service/", "1/unit//id",
        "1/unit/a.service/b/c", "1/unit/a/id", "1/unit/.service/id", "1/unit/a.exe/id", "1/unit/a b.service/id",
        "1/unit/a.service/i\nd", "1/unit/a.service/..", "1/unit/a.service/a:b", "1/Unit/a.service/id",
        "1/unit/é.service/id", "1/unit/a.service/\u{1b}[2J",
    ])
    func `a name that systemd does not bind is none`(name: String) { #expect(request(name) == nil) }

    @Test func `a name of the file system is none`() {
        #expect(CredentialRequest(Array("1/unit/a.service/id".utf8)) == nil)
        #expect(CredentialRequest([]) == nil)
        #expect(CredentialRequest([0, 0xff] + Array("/unit/a.service/id".utf8)) == nil)
    }

    @Test(arguments: [
        ("195298a6027102bb/unit/probe.service/api", ["probe.service", "*"], "api"),
        ("cff5f3e24eecc7d/unit/probe.service/db.password", ["probe.service", "*"], "db.password"),
        ("1133e3e4f84d5fda/unit/probe@x.service/api", ["probe@x.service", "probe@.service", "*"], "api"),
        ("1/unit/a@b@c.service/i", ["a@b@c.service", "a@.service", "*"], "i"),
        ("1/unit/dev-disk\\x2d1.mount/i", ["dev-disk\\x2d1.mount", "*"], "i"),
    ])
    func `a name says the unit and the credential`(name: String, services: [String], id: String) throws {
        let request = try #require(self.request(name))
        #expect(request.services == services)
        #expect(request.id == id)
    }

    @Test func `whatever the name is, what is read of it has no character of another meaning`() {
        let random = SeededRandom("credential names")
        let parts = ["@", ".service", "/", "id", "\0", "\n", "..", "é", ":", "a", "/unit/", " "]
        var count = 0
        for _ in 0..<5000 {
            var words = ["1", "/unit/", "a", "@", "b", ".service", "/", "id"]
            for _ in 0..<random.number(in: 0...2) {
                words[random.number(in: 0...words.count - 1)] = random.element(of: parts)
            }
            let name = [0] + Array(words.joined().utf8)
            guard let request = CredentialRequest(name) else { continue }
            count += 1
            #expect((request.unit + request.id).utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != 0x2f })
            #expect(request.services.first == request.unit && request.services.last == "*")
        }
        #expect(count > 100 && count < 4900)
    }
}
