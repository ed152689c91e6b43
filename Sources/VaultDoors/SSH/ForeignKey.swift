// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A public key of libcrypto's kinds.
enum ForeignPublicKey: Hashable, Sendable {
    /// An uncompressed point.
    case ecdsa(NISTCurve, point: [UInt8])
    /// Big-endian numbers without zero bytes before them.
    case rsa(modulus: [UInt8], exponent: [UInt8])

    /// - Throws: `.authenticationFailed` for what is no key: a point outside its curve, an RSA key of fewer than 2,048
    ///   bits or more than 16,384, an even exponent or one of more than 64 bits; `.unavailable` without libcrypto.
    func check() throws(CryptoError) { try key().check() }

    /// Checks a signature: of an elliptic curve r and s, each with as many bytes as the curve's numbers; of RSA, PKCS#1
    /// v1.5 (RFC 8017, 8.2), with as many as the modulus.
    ///
    /// - Throws: `.authenticationFailed` for another key or message, an altered byte, and what ``check()`` refuses;
    ///   `.unavailable` without libcrypto.
    func verify(_ signature: Span<UInt8>, of message: Span<UInt8>, hash: DigestAlgorithm) throws(CryptoError) {
        let key = try key()
        let digest = try hash.digest(of: message)
        switch self {
        case .ecdsa(let curve, _):
            guard let pair = SignaturePair(bytes: signature, length: curve.length) else { throw .authenticationFailed }
            let der = pair.der
            try key.verify(der.span, of: digest.span, .ecdsa, nil)
        case .rsa(let modulus, _):
            guard signature.count == modulus.count else { throw .authenticationFailed }
            try key.verify(signature, of: digest.span, .pkcs1, hash)
        }
    }

    /// The key for one operation.
    private func key() throws(CryptoError) -> AsymmetricKey {
        switch self {
        case .ecdsa(let curve, let point):
            guard point.count == curve.pointLength else { throw .authenticationFailed }
            return try AsymmetricKey(curve, point.span)
        case .rsa(let modulus, let exponent):
            try ForeignPublicKey.checkRSA(modulus, exponent)
            let bytes = modulus + exponent
            return try AsymmetricKey(rsa: bytes.span, [0..<modulus.count, modulus.count..<bytes.count])
        }
    }

    fileprivate static func checkRSA(_ modulus: [UInt8], _ exponent: [UInt8]) throws(CryptoError) {
        let bits = [modulus, exponent].map { $0.count * 8 - ($0.first?.leadingZeroBitCount ?? 0) }
        guard (2048...16384).contains(bits[0]), (2...64).contains(bits[1]),
            [modulus, exponent].allSatisfy({ $0.first != 0 && $0.last.map { $0 % 2 == 1 } == true })
        else { throw .authenticationFailed }
    }
}

/// A private key of libcrypto's kinds: numbers in locked memory, which libcrypto gets to sign with, and wipes.
struct ForeignKey: ~Copyable, Sendable {
    let publicKey: ForeignPublicKey
    /// As they came.
    private let numbers: [Secret]
    private let key: AsymmetricKey

    /// - Parameter numbers: the private number; of RSA d, iqmp, p and q. Big-endian, without zero bytes before them.
    /// - Throws: `.authenticationFailed` when the numbers are not those of the public key, and for what
    ///   ``ForeignPublicKey/check()`` refuses; `.unavailable` without libcrypto.
    init(_ publicKey: ForeignPublicKey, private numbers: [Secret]) throws(CryptoError) {
        let key = try ForeignKey.key(publicKey, numbers)
        switch publicKey {
        case .ecdsa: try key.check()
        // Whether d belongs to the rest is not known before something was signed.
        case .rsa:
            let nothing: [UInt8] = []
            _ = try ForeignKey.sign(nothing.span, hash: .sha256, key, publicKey)
        }
        (self.publicKey, self.numbers) = (publicKey, numbers)
        self.key = key
    }

    private static func key(_ publicKey: ForeignPublicKey, _ numbers: [Secret]) throws(CryptoError) -> AsymmetricKey {
        switch publicKey {
        case .ecdsa(let curve, let point):
            guard numbers.count == 1, numbers[0].count <= curve.length, point.count == curve.pointLength else {
                throw .authenticationFailed
            }
            var representation = try SecretBytes(zeroed: curve.pointLength + curve.length)
            representation.replace(at: 0, with: point.span)
            let end = representation.count
            numbers[0].withBytes { representation.replace(at: end - $0.count, with: $0) }
            return try representation.withBytes { bytes throws(CryptoError) in try AsymmetricKey(curve, bytes) }
        case .rsa(let modulus, let exponent):
            guard numbers.count == 4 else { throw .authenticationFailed }
            try ForeignPublicKey.checkRSA(modulus, exponent)
            return try rsa(modulus, exponent, numbers)
        }
    }

    private static func rsa(
        _ modulus: [UInt8], _ exponent: [UInt8], _ numbers: [Secret]
    ) throws(CryptoError) -> AsymmetricKey {
        let publics = modulus.count + exponent.count
        var joined = try SecretBytes(zeroed: numbers.reduce(publics) { $0 + $1.count })
        joined.replace(at: 0, with: modulus.span)
        joined.replace(at: modulus.count, with: exponent.span)
        var ranges = [0..<modulus.count, modulus.count..<publics]
        // d, p, q and iqmp, which AsymmetricKey has last.
        for number in [numbers[0], numbers[2], numbers[3], numbers[1]] {
            let end = ranges[ranges.count - 1].upperBound
            number.withBytes { joined.replace(at: end, with: $0) }
            ranges.append(end..<end + number.count)
        }
        return try joined.withBytes { bytes throws(CryptoError) in
            try AsymmetricKey.completing(rsa: bytes, ranges)
        }
    }

    /// - Returns: as ``ForeignPublicKey/verify(_:of:hash:)`` takes it.
    borrowing func sign(_ message: Span<UInt8>, hash: DigestAlgorithm) throws(CryptoError) -> [UInt8] {
        try ForeignKey.sign(message, hash: hash, key, publicKey)
    }

    private static func sign(
        _ message: Span<UInt8>, hash: DigestAlgorithm, _ key: borrowing AsymmetricKey, _ publicKey: ForeignPublicKey
    ) throws(CryptoError) -> [UInt8] {
        let digest = try hash.digest(of: message)
        switch publicKey {
        case .ecdsa(let curve, _):
            let signature = try key.sign(digest.span, .ecdsa, nil)
            guard let pair = SignaturePair(der: signature.span, length: curve.length) else {
                throw .authenticationFailed
            }
            return pair.bytes
        case .rsa:
            let signature = try key.sign(digest.span, .pkcs1, hash)
            // A wrong one, by wrong numbers or a fault, tells the factors.
            try publicKey.verify(signature.span, of: message, hash: hash)
            return signature
        }
    }

    /// Lends a private number, in the order in which they came.
    borrowing func withPrivateNumber<E: Error>(
        _ index: Int, _ body: (Span<UInt8>) throws(E) -> Void
    ) throws(E) { try numbers[index].withBytes(body) }
}
