// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The private key of a passkey, loaded for one operation: numbers in locked memory, wiped at the end of its life.
///
/// At rest the key is PKCS#8 in DER, byte for byte as it was made or imported.
package struct PasskeyKey: ~Copyable, Sendable {
    private enum Numbers: ~Copyable, Sendable {
        case p256(AsymmetricKey)
        case ed25519(SigningKey)
        case rsa(AsymmetricKey)
    }

    private let numbers: Numbers
    package let publicKey: COSEKey

    /// - Parameter der: PKCS#8, in any of the forms that ``PKCS8PrivateKey`` reads.
    /// - Throws: `.authenticationFailed` for another kind of key, and for a public key that does not belong to an
    ///   Ed25519 seed: see ``check()`` for the others; `.unavailable` for P-256 without libcrypto 3.
    package init(_ der: Span<UInt8>) throws(CryptoError) {
        guard let place = PKCS8PrivateKey(der) else { throw .authenticationFailed }
        switch place.kind {
        case .p256: self = try PasskeyKey.p256(place, of: der)
        case .ed25519: self = try PasskeyKey.ed25519(place, of: der)
        case .rsa: self = try PasskeyKey.rsa(place, of: der)
        // No site is offered these.
        case .p384, .p521: throw .authenticationFailed
        }
    }

    private init(_ numbers: consuming Numbers, _ publicKey: COSEKey) {
        self.numbers = numbers
        self.publicKey = publicKey
    }

    private static func p256(_ place: PKCS8PrivateKey, of der: Span<UInt8>) throws(CryptoError) -> PasskeyKey {
        let secret = der.extracting(place.secret)
        guard let point = place.publicKey else {
            let whole = try AsymmetricKey.completing(p256: secret)
            return try whole.withBytes { bytes throws(CryptoError) in try p256(bytes) }
        }
        var whole = try SecretBytes(zeroed: point.count + secret.count)
        whole.replace(at: 0, with: der.extracting(point))
        whole.replace(at: point.count, with: secret)
        return try whole.withBytes { bytes throws(CryptoError) in try p256(bytes) }
    }

    /// - Parameter whole: 4, x, y and the private number.
    private static func p256(_ whole: Span<UInt8>) throws(CryptoError) -> PasskeyKey {
        guard let publicKey = COSEKey(p256: whole.extracting(0..<NISTCurve.p256.pointLength)) else {
            throw .authenticationFailed
        }
        return PasskeyKey(.p256(try AsymmetricKey(.p256, whole)), publicKey)
    }

    private static func ed25519(_ place: PKCS8PrivateKey, of der: Span<UInt8>) throws(CryptoError) -> PasskeyKey {
        let key = try SigningKey(seed: SecretBytes(copying: der.extracting(place.secret)))
        let publicKey = key.publicKey
        if let stated = place.publicKey {
            guard der.extracting(stated).elementsEqual(publicKey.span) else { throw .authenticationFailed }
        }
        return PasskeyKey(.ed25519(key), .edDSA(publicKey))
    }

    private static func rsa(_ place: PKCS8PrivateKey, of der: Span<UInt8>) throws(CryptoError) -> PasskeyKey {
        guard let numbers = RSAKeyNumbers(der, in: place.secret, isPrivate: true),
            rsaSizes.contains(numbers.bits)
        else { throw .authenticationFailed }
        let publicKey = COSEKey.rs256(n: der.array(numbers.ranges[0]), e: der.array(numbers.ranges[1]))
        return PasskeyKey(.rsa(try AsymmetricKey(rsa: der, numbers.ranges)), publicKey)
    }

    /// The sizes of the modulus in bits: smaller ones are weak, larger ones slow.
    private static let rsaSizes = 2048...8192

    /// Checks a key that was imported: whether the private and the public numbers belong together.
    ///
    /// - Throws: `.authenticationFailed`, `.unavailable`.
    package borrowing func check() throws(CryptoError) {
        switch numbers {
        case .p256(let key): try key.check()
        case .rsa(let key): try key.check()
        case .ed25519: break
        }
    }

    /// Signs a message: with P-256 ECDSA over its SHA-256, as a SEQUENCE of two INTEGERs in DER, 8 to 72 bytes; with
    /// Ed25519 RFC 8032, 64 bytes; with RSA PKCS#1 v1.5 over its SHA-256, as long as the modulus.
    ///
    /// - Throws: `.authenticationFailed` for a private number outside the curve; `.unavailable` without libcrypto 3.
    package borrowing func sign(_ message: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        switch numbers {
        case .p256(let key):
            let digest = try MessageAuthentication.plainSHA256(message)
            return try key.sign(digest.span, .ecdsa, nil)
        case .ed25519(let key):
            let nothing: [UInt8] = []
            return try key.sign(nothing.span, message)
        case .rsa(let key):
            let digest = try MessageAuthentication.plainSHA256(message)
            return try key.sign(digest.span, .pkcs1, .sha256)
        }
    }

    // MARK: Making

    /// Makes a key.
    ///
    /// - Parameter algorithm: not RS256, whose keys are only imported.
    /// - Returns: PKCS#8 in DER, in the form of OpenSSL.
    /// - Throws: `.unavailable` for RS256, and for ES256 without libcrypto 3.
    package static func make(_ algorithm: COSEAlgorithm) throws(CryptoError) -> Secret {
        switch algorithm {
        case .es256:
            let length = NISTCurve.p256.pointLength
            let whole = try AsymmetricKey.make(curve: .p256, bits: 0)
            return try whole.withBytes { bytes throws(CryptoError) in
                guard let frame = PKCS8PrivateKey.Frame.curve(.p256, point: bytes.array(0..<length)) else {
                    throw .unavailable
                }
                return try frame.secret(around: bytes.extracting(length..<bytes.count))
            }
        case .edDSA:
            let seed = try SecretBytes(random: SigningKey.seedLength)
            return try seed.withBytes { bytes throws(CryptoError) in
                try PKCS8PrivateKey.Frame.ed25519.secret(around: bytes)
            }
        case .rs256: throw .unavailable
        }
    }
}
