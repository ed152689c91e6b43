// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

struct PKCS8PrivateKeyTests {
    private static func vectors() throws -> [String: [UInt8]] {
        try Vectors.table("webauthn/pkcs8.txt").mapValues { [UInt8](hexadecimal: $0) }
    }

    @Test func `a key that names two curves is refused`() throws {
        let der = try #require(try PKCS8PrivateKeyTests.vectors()["p256.other-curve"])
        #expect(PKCS8PrivateKey(bytes: der) == nil)
    }

    @Test(
        arguments: ["p256", "p256.without-point", "p256.with-curve", "ed25519", "ed25519.version-2", "botan.rsa"])
    func `a key that is cut or extended is refused`(name: String) throws {
        let der = try #require(try PKCS8PrivateKeyTests.vectors()[name])
        for length in 0..<der.count { #expect(PKCS8PrivateKey(bytes: der[..<length]) == nil) }
        #expect(PKCS8PrivateKey(bytes: der + [0]) == nil)
    }

    @Test(arguments: ["p256", "p256.without-point", "p256.with-curve"])
    func `every form of a P-256 key is read`(name: String) throws {
        let vectors = try PKCS8PrivateKeyTests.vectors()
        let der = try #require(vectors[name])
        let secret = try #require(try AuthenticatorDataTests.vector("none-es256")["create.credential_private_key"])
        let key = try #require(PKCS8PrivateKey(bytes: der))
        #expect(key.kind == .p256 && Array(der[key.secret]) == secret)
        #expect(key.publicKey.map { Array(der[$0]) } == (name == "p256.without-point" ? nil : vectors["p256.point"]))
    }

    @Test func `a key of a larger curve is read`() throws {
        let der = try #require(try PKCS8PrivateKeyTests.vectors()["p384"])
        let key = try #require(PKCS8PrivateKey(bytes: der))
        #expect(key.kind == .p384 && key.secret.count == 48 && key.publicKey?.count == 97)
    }

    @Test(arguments: ["ed25519", "ed25519.version-2"])
    func `every form of an Ed25519 key is read`(name: String) throws {
        let vectors = try PKCS8PrivateKeyTests.vectors()
        let der = try #require(vectors[name])
        let seed = try #require(try AuthenticatorDataTests.vector("packed-eddsa")["create.private_key"])
        let key = try #require(PKCS8PrivateKey(bytes: der))
        #expect(key.kind == .ed25519 && Array(der[key.secret]) == seed)
        #expect(key.publicKey.map { Array(der[$0]) } == (name == "ed25519" ? nil : vectors["ed25519.public"]))
    }

    @Test func `the keys that KeePassXC's library writes are read`() throws {
        let vectors = try PKCS8PrivateKeyTests.vectors()
        let kinds = try ["botan.p256", "botan.ed25519", "botan.rsa"].map { name in
            PKCS8PrivateKey(bytes: try #require(vectors[name]))?.kind
        }
        #expect(kinds == [.p256, .ed25519, .rsa])
    }

    @Test func `an RSA key with another version, parameters or numbers is refused`() throws {
        let der = try #require(try PKCS8PrivateKeyTests.vectors()["botan.rsa"])
        let key = try #require(PKCS8PrivateKey(bytes: der))
        let numbers = try #require(RSAKeyNumbers(bytes: der, in: key.secret, isPrivate: true))
        #expect(numbers.bits == 2048 && numbers.ranges.count == 8)
        func refuses(_ change: (inout [UInt8]) -> Void) -> Bool {
            var other = der
            change(&other)
            return PKCS8PrivateKey(bytes: other) == nil
        }
        // An even modulus, an even exponent, an exponent of 1, and a key of three primes.
        #expect(refuses { $0[numbers.ranges[0].upperBound - 1] &= 0xfe })
        #expect(refuses { $0[numbers.ranges[1].upperBound - 1] &= 0xfe })
        #expect(refuses { $0[key.secret.lowerBound + 6] = 1 })
        #expect(RSAKeyNumbers(bytes: der, in: key.secret, isPrivate: false) == nil)
        #expect(RSAKeyNumbers(bytes: der, in: key.secret.dropLast(), isPrivate: true) == nil)
        // Another algorithm's identifier.
        let place = try #require(der.indices.first { Array(der[$0...].prefix(9)) == ObjectIDs.rsaEncryption })
        #expect(refuses { $0[place + 8] = 2 })
    }

    @Test func `the key of RFC 8410 is read, with its attributes`() throws {
        let der = try #require(try PKCS8PrivateKeyTests.vectors()["ed25519.rfc8410"])
        let key = try #require(PKCS8PrivateKey(bytes: der))
        #expect(
            Array(der[key.secret])
                == [UInt8](hexadecimal: "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842"))
        let publicKey = try #require(key.publicKey)
        #expect(
            Array(der[publicKey])
                == [UInt8](hexadecimal: "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"))
    }

    @Test func `keys are written as OpenSSL writes them`() throws {
        let vectors = try PKCS8PrivateKeyTests.vectors()
        for (name, frame) in [
            ("p256", PKCS8PrivateKey.Frame.curve(.p256, point: vectors["p256.point"] ?? [])),
            ("p384", PKCS8PrivateKey.Frame.curve(.p384, point: vectors["p384"]?.suffix(97) ?? [])),
            ("ed25519", PKCS8PrivateKey.Frame.ed25519), ("botan.rsa", PKCS8PrivateKey.Frame.rsa(length: 1192)),
        ] {
            let (frame, der) = (try #require(frame), try #require(vectors[name]))
            let key = try #require(PKCS8PrivateKey(bytes: der))
            #expect(frame.before + der[key.secret] + frame.after == der)
        }
        #expect(PKCS8PrivateKey.Frame.curve(.rsa, point: []) == nil)
    }

    @Test func `damaged keys are read or refused, and ranges stay within the bytes`() throws {
        let random = SeededRandom("pkcs8")
        let keys = try PKCS8PrivateKeyTests.vectors().sorted { $0.key < $1.key }.map(\.value)
        for _ in 0..<20_000 {
            var der = random.element(of: keys)
            for _ in 0..<random.number(in: 1...3) where !der.isEmpty {
                let index = random.number(in: 0...der.count - 1)
                switch random.number(in: 0...2) {
                case 0: der[index] = UInt8(random.uniform(256))
                case 1: der.remove(at: index)
                default: der.insert(UInt8(random.uniform(256)), at: index)
                }
            }
            guard let key = PKCS8PrivateKey(bytes: der) else { continue }
            #expect(key.kind == .rsa || [32, 48, 66].contains(key.secret.count))
            #expect(key.secret.upperBound <= der.count)
        }
    }
}
