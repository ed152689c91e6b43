// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFIDO
import VaultFormat

/// A key in software, spoken to through libfido2.
struct SecurityKeyTests {
    private static let party = "vault:slot"
    private static let salt = [UInt8](repeating: 7, count: 32)

    /// The keys of a test, which stay inserted until it ends.
    private let hub = Hub()

    private func pin(_ text: String) throws -> HolderVerification {
        .pin(try SecurityKeyPIN(SecretBytes(copying: Array(text.utf8).span)))
    }

    private func credential(of key: SecurityKey, by verification: HolderVerification = .none) throws -> [UInt8] {
        try key.makeCredential(at: Self.party, by: verification)
    }

    private func secret(
        _ key: SecurityKey, _ identifier: [UInt8], at party: String = party, salt: [UInt8] = salt,
        by verification: HolderVerification = .none
    ) throws -> [UInt8] {
        let secret = try key.secret(of: identifier, at: party, salt: salt, by: verification)
        return secret.withBytes { $0.array($0.indices) }
    }

    // MARK: Refusals

    @Test(arguments: ["u2f", "no-secrets"])
    func `a key without hmac-secret says so before it is asked for one`(manner: String) throws {
        #expect(try !hub.key(manner).opened().hasSecrets)
    }

    @Test func `a key that leaves the secret out gives none`() throws {
        let key = try hub.key("forgetful").opened()
        let identifier = try credential(of: key)
        #expect(throws: SecurityKeyError.unsuitable) { try secret(key, identifier) }
    }

    @Test func `another key, another relying party and an altered identifier give no secret, and ask for no touch`()
        throws
    {
        let (one, two) = (try hub.key(), try hub.key())
        let key = try one.opened()
        let identifier = try credential(of: key)
        let touches = try one.log.count { $0 == "touch" }
        #expect(throws: SecurityKeyError.noCredential) { try secret(two.opened(), identifier) }
        #expect(throws: SecurityKeyError.noCredential) { try secret(key, identifier, at: "ssh:") }
        var altered = identifier
        altered[3] ^= 1
        #expect(throws: SecurityKeyError.noCredential) { try secret(key, altered) }
        #expect(try !key.has(altered, at: Self.party, by: .none))
        #expect(try one.log.count { $0 == "touch" } == touches)
    }

    @Test(arguments: [
        ("untouched", SecurityKeyError.untouched), ("refusing", .refused), ("pulled-1", .removed),
    ])
    func `no touch, a refusal and a key that is pulled out end a request`(manner: String, error: SecurityKeyError)
        throws
    {
        let software = try hub.key(manner)
        let key = try software.opened()
        #expect(throws: error) { try credential(of: key) }
        #expect(try !software.log.contains("touch"))
    }

    @Test func `a key that is pulled out before its second touch gives no secret`() throws {
        let key = try hub.key("pulled-2").opened()
        let identifier = try credential(of: key)
        #expect(throws: SecurityKeyError.removed) { try secret(key, identifier) }
        #expect(throws: SecurityKeyError.removed) { try secret(key, identifier) }
    }

    @Test func `a key in use and a path without a key are not opened`() throws {
        #expect(throws: SecurityKeyError.busy) { try hub.key("busy").opened() }
        let nothing = FoundSecurityKey(path: try TemporaryDirectory().path.appending("none").string, name: "")
        #expect(throws: SecurityKeyError.self) { try SoftwareKey.keys.open(nothing) }
    }

    @Test(arguments: ["", "123", String(repeating: "1", count: 64), "12\u{0}34", "12\n34"])
    func `what is no PIN reaches no key`(text: String) throws {
        #expect(throws: SecurityKeyError.unacceptablePIN) { try pin(text) }
    }

    // MARK: The PIN

    @Test func `wrong PINs are counted, three in a row need the key to be inserted again, and eight block it`() throws {
        let software = try hub.key(pin: "1234")
        let identifier = try credential(of: software.opened(), by: pin("1234"))
        var left: [Int] = []
        for round in 0..<3 {
            let key = try software.opened()
            for attempt in 1...3 where 3 * round + attempt <= 8 {
                let isLast = 3 * round + attempt == 8
                let error: SecurityKeyError = isLast ? .pinBlocked : attempt == 3 ? .needsReinsertion : .wrongPIN
                #expect(throws: error) { try secret(key, identifier, by: pin("4321")) }
                left.append(try key.pinTries())
            }
            try software.reinsert()
        }
        #expect(left == [7, 6, 5, 4, 3, 2, 1, 0])
        #expect(throws: SecurityKeyError.pinBlocked) { try secret(software.opened(), identifier, by: pin("1234")) }
    }

    @Test func `a right PIN restores the tries`() throws {
        let key = try hub.key(pin: "1234").opened()
        #expect(key.hasPIN)
        #expect(throws: SecurityKeyError.wrongPIN) { try credential(of: key, by: pin("4321")) }
        _ = try credential(of: key, by: pin("1234"))
        #expect(try key.pinTries() == 8)
    }

    @Test func `a credential that was made with a PIN is nothing without one`() throws {
        let key = try hub.key(pin: "1234").opened()
        let identifier = try credential(of: key, by: pin("1234"))
        #expect(throws: SecurityKeyError.noCredential) { try secret(key, identifier) }
        #expect(try !key.has(identifier, at: Self.party, by: .none))
        #expect(try key.has(identifier, at: Self.party, by: pin("1234")))
        #expect(try secret(key, identifier, by: pin("1234")) == secret(key, identifier, by: pin("1234")))
    }

    @Test func `a key with a PIN makes no credential without it, and one without a PIN takes none`() throws {
        #expect(throws: SecurityKeyError.unverified) { try credential(of: hub.key(pin: "1234").opened()) }
        #expect(throws: SecurityKeyError.noPIN) { try credential(of: hub.key().opened(), by: pin("1234")) }
    }

    @Test func `a key that verifies always answers nothing without, and a finger that counts for nothing has nothing`()
        throws
    {
        let strict = try hub.key("finger", "strict").opened()
        let identifier = try credential(of: strict, by: .byKey)
        #expect(throws: SecurityKeyError.unverified) { try strict.has(identifier, at: Self.party, by: .none) }
        #expect(try strict.has(identifier, at: Self.party, by: .byKey))
        let numb = try hub.key("numb", pin: "1234").opened()
        let other = try credential(of: numb, by: pin("1234"))
        #expect(throws: SecurityKeyError.noCredential) { try secret(numb, other, by: .byKey) }
    }

    @Test func `a finger takes the place of the PIN, and another finger does not`() throws {
        let key = try hub.key("finger").opened()
        #expect(key.verifiesItself && !key.hasPIN)
        let identifier = try credential(of: key, by: .byKey)
        #expect(try key.has(identifier, at: Self.party, by: .byKey))
        #expect(try secret(key, identifier, by: .byKey).count == 32)
        #expect(throws: SecurityKeyError.noCredential) { try secret(key, identifier) }
        #expect(throws: SecurityKeyError.unverified) {
            try credential(of: hub.key("wrong-finger").opened(), by: .byKey)
        }
    }

    // MARK: Secrets

    @Test func `a secret is the same each time, and another for another salt and another credential`() throws {
        let software = try hub.key()
        let key = try software.opened()
        let (first, second) = (try credential(of: key), try credential(of: key))
        let secrets = [
            try secret(key, first), try secret(key, first, salt: [UInt8](repeating: 8, count: 32)),
            try secret(key, second),
        ]
        #expect(Set(secrets).count == 3 && secrets.allSatisfy { $0.count == 32 && Set($0).count > 8 })
        #expect(try secret(software.opened(), first) == secrets[0])
    }

    // MARK: Several keys

    @Test func `of several keys the touched one is taken`() throws {
        let (aside, touched) = (try hub.key("aside"), try hub.key())
        let keys = try [aside.opened(), touched.opened()]
        #expect(try SecurityKeys.touched(among: keys) === keys[1])
        #expect(try credential(of: keys[1]).count == 49)
    }

    @Test func `keys that give up by themselves were not touched, and only those that are gone were pulled out`() throws
    {
        let (gone, silent) = (try hub.key("pulled-1").opened(), try hub.key("untouched").opened())
        #expect(throws: SecurityKeyError.removed) { try credential(of: gone) }
        #expect(throws: SecurityKeyError.untouched) { try SecurityKeys.touched(among: [gone, silent]) }
        #expect(throws: SecurityKeyError.removed) { try SecurityKeys.touched(among: [gone]) }
        let both = try [hub.key("untouched").opened(), hub.key("untouched").opened()]
        #expect(throws: SecurityKeyError.untouched) { try SecurityKeys.touched(among: both) }
    }

    @Test func `several keys that nobody touches are let go`() throws {
        let keys = try [hub.key("aside"), hub.key("aside")]
        #expect(throws: SecurityKeyError.untouched) {
            try SecurityKeys.touched(among: keys.map { try $0.opened() }, within: .milliseconds(300))
        }
    }
}

private final class Hub {
    private var keys: [SoftwareKey] = []

    func key(_ manners: String..., pin: String? = nil) throws -> SoftwareKey {
        keys.append(try SoftwareKey(manners, pin: pin))
        return keys[keys.count - 1]
    }
}
