// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

struct PasskeyKeyTests {
    private func publicKey(_ secret: Secret) throws(CryptoError) -> COSEKey {
        try secret.withBytes { bytes throws(CryptoError) in try PasskeyKey(bytes).publicKey }
    }

    private func sign(_ message: [UInt8], _ secret: Secret) throws(CryptoError) -> [UInt8] {
        try secret.withBytes { bytes throws(CryptoError) in try PasskeyKey(bytes).sign(message.span) }
    }

    private func check(_ secret: Secret) throws(CryptoError) {
        try secret.withBytes { bytes throws(CryptoError) in try PasskeyKey(bytes).check() }
    }

    /// The key of a vector, with some of its bytes replaced.
    private func changed(_ name: String, _ change: (inout [UInt8], PKCS8PrivateKey) -> Void) throws -> Secret {
        var der = try #require(try PasskeySamples.vector("pkcs8")[name])
        guard let key = PKCS8PrivateKey(der.span) else { throw CryptoError.unavailable }
        change(&der, key)
        return try Secret(bytes: der)
    }

    // MARK: Refusals

    @Test(arguments: ["p384", "p256.other-curve", "missing"]) func `what is no key of a passkey is refused`(
        name: String
    ) throws {
        let secret = try PasskeySamples.key(name)
        #expect(throws: CryptoError.authenticationFailed) { try publicKey(secret) }
    }

    @Test func `a public key that is not that of the seed is refused`() throws {
        let secret = try changed("ed25519.version-2") { der, key in der[key.publicKey?.lowerBound ?? 0] ^= 1 }
        #expect(throws: CryptoError.authenticationFailed) { try publicKey(secret) }
        let seed = try changed("ed25519.version-2") { der, key in der[key.secret.lowerBound] ^= 1 }
        #expect(throws: CryptoError.authenticationFailed) { try publicKey(seed) }
    }

    @Test func `a point that is not that of the private number is found`() throws {
        let number = try changed("p256") { der, key in der[key.secret.upperBound - 1] ^= 1 }
        #expect(throws: CryptoError.authenticationFailed) { try check(number) }
        let point = try changed("p256") { der, key in der[(key.publicKey?.upperBound ?? 1) - 1] ^= 1 }
        #expect(throws: CryptoError.authenticationFailed) { try check(point) }
        let compressed = try changed("p256") { der, key in der[key.publicKey?.lowerBound ?? 0] = 6 }
        #expect(throws: CryptoError.authenticationFailed) { try publicKey(compressed) }
        #expect(throws: Never.self) { try check(try PasskeySamples.key("p256")) }
    }

    @Test(arguments: ["p256", "p256.without-point"]) func `the numbers 0 and n are refused`(name: String) throws {
        let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
        for number in [String(repeating: "0", count: 64), order] {
            let secret = try changed(name) { der, key in
                der.replaceSubrange(key.secret, with: [UInt8](hexadecimal: number))
            }
            #expect(throws: CryptoError.authenticationFailed) { try check(secret) }
        }
    }

    @Test func `an RSA key whose numbers do not belong together is found, and a small one is refused`() throws {
        let exponent = try changed("botan.rsa") { der, key in
            if let numbers = RSAKeyNumbers(der.span, in: key.secret, isPrivate: true) {
                der[numbers.ranges[2].lowerBound] ^= 1
            }
        }
        #expect(throws: CryptoError.authenticationFailed) { try check(exponent) }
        #expect(throws: Never.self) { try check(try PasskeySamples.key("botan.rsa")) }
        let small = try PasskeySamples.key("rsa.1024")
        #expect(throws: CryptoError.authenticationFailed) { try publicKey(small) }
    }

    @Test func `no key of RS256 is made`() {
        #expect(throws: CryptoError.unavailable) { try PasskeyKey.make(.rs256) }
    }

    // MARK: Known answers

    @Test(arguments: ["p256", "p256.without-point", "p256.with-curve"])
    func `a P-256 key has the point of the specification, and verifies its signature`(name: String) throws {
        let vector = try PasskeySamples.vector("none-es256")
        let object = try #require(vector["create.attestationObject"])
        let secret = try PasskeySamples.key(name)
        let key = try publicKey(secret)
        let expected = AttestationObject(object.span)?.data.credential?.key
        #expect(key == expected && key.algorithm == .es256)
        let data = try #require(vector["get.authenticatorData"])
        let message = data + (try PasskeySamples.sha256(try #require(vector["get.clientDataJSON"])))
        try PasskeySamples.verify(try #require(vector["get.signature"]), of: message, by: key)
        let signature = try sign(message, secret)
        #expect(signature[0] == 0x30 && (8...72).contains(signature.count))
        try PasskeySamples.verify(signature, of: message, by: key)
        #expect(throws: CryptoError.authenticationFailed) {
            try PasskeySamples.verify(signature, of: message + [0], by: key)
        }
    }

    @Test func `an imported RSA key verifies its signature`() throws {
        let secret = try PasskeySamples.key("botan.rsa")
        let key = try publicKey(secret)
        let message: [UInt8] = [1, 2, 3]
        let signature = try sign(message, secret)
        #expect(key.algorithm == .rs256 && key.bits == 2048 && signature.count == 256)
        try PasskeySamples.verify(signature, of: message, by: key)
        #expect(throws: CryptoError.authenticationFailed) { try PasskeySamples.verify(signature, of: [1, 2], by: key) }
        #expect(COSEKey(key.value) == key)
    }

    /// Ed25519 is deterministic: the signature is the specification's, byte for byte.
    @Test(arguments: ["ed25519", "ed25519.version-2"]) func `an Ed25519 key signs as in the specification`(
        name: String
    ) throws {
        let vector = try PasskeySamples.vector("packed-eddsa")
        let secret = try PasskeySamples.key(name)
        let data = try #require(vector["get.authenticatorData"])
        let message = data + (try PasskeySamples.sha256(try #require(vector["get.clientDataJSON"])))
        #expect(try sign(message, secret) == vector["get.signature"])
        let expected = try PasskeySamples.vector("pkcs8")["ed25519.public"]
        #expect(try publicKey(secret).representation == expected)
    }

    @Test func `the key of RFC 8410 is read`() throws {
        let key = try publicKey(try PasskeySamples.key("ed25519.rfc8410"))
        #expect(key.representation.hexadecimal == "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1")
    }

    // MARK: Making

    @Test(arguments: [(COSEAlgorithm.es256, 138), (.edDSA, 48)])
    func `each new key differs, and its signatures are valid`(algorithm: COSEAlgorithm, length: Int) throws {
        var seen: Set<COSEKey> = []
        for _ in 0..<20 {
            let secret = try PasskeyKey.make(algorithm)
            #expect(secret.count == length)
            try check(secret)
            let key = try publicKey(secret)
            #expect(key.algorithm == algorithm && seen.insert(key).inserted)
            try PasskeySamples.verify(try sign([1, 2, 3], secret), of: [1, 2, 3], by: key)
        }
    }
}
