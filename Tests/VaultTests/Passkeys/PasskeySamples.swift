// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Vault
import VaultCrypto

@testable import VaultFormat

/// Options, keys and vectors of the tests of passkeys.
enum PasskeySamples {
    static let challenge = [UInt8](0...31)

    static func creation(
        _ algorithm: COSEAlgorithm, user: [UInt8] = [1, 2, 3], excluding ids: [[UInt8]] = [], extensions: String = "{}"
    ) throws -> CreationOptions {
        let excluded = ids.map { #"{"type":"public-key","id":"\#(Base64URL.encoded($0))"}"# }.joined(separator: ",")
        let text = Array(
            #"""
            {"rp":{"id":"example.org","name":"Example"},"challenge":"\#(Base64URL.encoded(challenge))",
            "user":{"id":"\#(Base64URL.encoded(user))","name":"ada","displayName":"Ada L."},
            "pubKeyCredParams":[{"type":"public-key","alg":\#(algorithm.rawValue)}],
            "excludeCredentials":[\#(excluded)],"extensions":\#(extensions)}
            """#.utf8)
        return try CreationOptions(try JSONNode(text.span), of: text.span)
    }

    static func request(
        challenge: [UInt8] = challenge, allowing ids: [[UInt8]] = [], extensions: String = "{}"
    ) throws -> RequestOptions {
        let allowed = ids.map { #"{"type":"public-key","id":"\#(Base64URL.encoded($0))"}"# }.joined(separator: ",")
        let text = Array(
            #"""
            {"rpId":"example.org","challenge":"\#(Base64URL.encoded(challenge))","allowCredentials":[\#(allowed)],
            "extensions":\#(extensions)}
            """#.utf8)
        return try RequestOptions(try JSONNode(text.span), of: text.span)
    }

    /// The bytes of a vector, by names such as `create.challenge`.
    static func vector(_ name: String) throws -> [String: [UInt8]] {
        try Vectors.table("webauthn/\(name).txt").mapValues { [UInt8](hexadecimal: $0) }
    }

    /// A key of the vectors in PKCS#8.
    static func key(_ name: String) throws -> Secret { try Secret(bytes: try vector("pkcs8")[name] ?? []) }

    static func passkey(
        _ relyingParty: String = "example.org", key: String = "p256", id: [UInt8] = [9, 9], user: String = "ada",
        counter: UInt32 = 0, accessible: Accessibility = .whenUnlocked, group: String? = nil
    ) throws -> Passkey {
        try Passkey(
            relyingParty, Passkey.Names(relyingParty: "Example", user: user, display: "Ada L."), credentialID: id,
            key: try PasskeySamples.key(key), userHandle: try Secret(bytes: [1, 2, 3]),
            pseudoRandomKey: try Secret(bytes: [UInt8](repeating: 5, count: 32)), counter: counter,
            accessible: accessible, group: group)
    }

    /// Verifies a signature with libcrypto or libsodium.
    static func verify(_ signature: [UInt8], of message: [UInt8], by key: COSEKey) throws(CryptoError) {
        let representation = key.representation
        switch key {
        case .es256:
            let digest = try DigestAlgorithm.sha256.digest(of: message.span)
            try AsymmetricKey(.p256, representation.span).verify(signature.span, of: digest.span, .ecdsa, nil)
        case .edDSA:
            let nothing: [UInt8] = []
            try SigningKey.verify(signature.span, nothing.span, message.span, publicKey: representation.span)
        case .rs256:
            let digest = try DigestAlgorithm.sha256.digest(of: message.span)
            let place = representation.indices
            guard let numbers = RSAKeyNumbers(representation.span, in: place, isPrivate: false) else {
                throw .authenticationFailed
            }
            try AsymmetricKey(rsa: representation.span, numbers.ranges)
                .verify(signature.span, of: digest.span, .pkcs1, .sha256)
        }
    }

    static func sha256(_ bytes: [UInt8]) throws -> [UInt8] { try DigestAlgorithm.sha256.digest(of: bytes.span) }
}
