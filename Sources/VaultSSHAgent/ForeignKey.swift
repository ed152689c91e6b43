// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A public key of the types that libcrypto implements.
enum ForeignPublicKey: Hashable, Sendable {
    /// An uncompressed point.
    case ecdsa(NISTCurve, point: [UInt8])
    /// Big-endian numbers without leading zero bytes.
    case rsa(modulus: [UInt8], exponent: [UInt8])

    /// - Throws: `.authenticationFailed` for an invalid key: a point off its curve, an RSA key of fewer than 2,048
    ///   bits or more than 16,384, an even exponent or one of more than 64 bits; `.unavailable` without libcrypto.
    func check() throws(CryptoError) { try key().check() }

    /// Verifies a signature: for an elliptic curve r and s, each with the length of the curve's field elements; for
    /// RSA, PKCS#1 v1.5 (RFC 8017, 8.2), with the length of the modulus.
    ///
    /// - Throws: `.authenticationFailed` for another key or message, an altered byte, and a key that ``check()``
    ///   rejects; `.unavailable` without libcrypto.
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

    /// Makes libcrypto's key, for one operation.
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

/// A private key of a type that libcrypto implements. The numbers are in locked memory; libcrypto wipes its copy.
struct ForeignKey: ~Copyable, Sendable {
    let publicKey: ForeignPublicKey
    /// The private numbers, in the order in which they were received.
    private let numbers: [Secret]
    private let key: AsymmetricKey

    /// - Parameter numbers: the private scalar; for RSA d, iqmp, p and q. Big-endian, without leading zero bytes.
    /// - Throws: `.authenticationFailed` if the numbers do not belong to the public key, and for a key that
    ///   ``ForeignPublicKey/check()`` rejects; `.unavailable` without libcrypto.
    init(_ publicKey: ForeignPublicKey, private numbers: [Secret]) throws(CryptoError) {
        let key = try ForeignKey.key(publicKey, numbers)
        switch publicKey {
        case .ecdsa: try key.check()
        // Only a signature shows whether d belongs to the rest.
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
        // d, p, q and iqmp: the order in which AsymmetricKey expects them.
        for number in [numbers[0], numbers[2], numbers[3], numbers[1]] {
            let end = ranges[ranges.count - 1].upperBound
            number.withBytes { joined.replace(at: end, with: $0) }
            ranges.append(end..<end + number.count)
        }
        return try joined.withBytes { bytes throws(CryptoError) in
            try AsymmetricKey.completing(rsa: bytes, ranges)
        }
    }

    /// - Returns: the signature, in the format of ``ForeignPublicKey/verify(_:of:hash:)``.
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
            // A wrong signature, due to wrong numbers or a fault, would reveal the factors.
            try publicKey.verify(signature.span, of: message, hash: hash)
            return signature
        }
    }

    /// Lends a private number; the index is that of the order in which they were received.
    borrowing func withPrivateNumber<E: Error>(
        _ index: Int, _ body: (Span<UInt8>) throws(E) -> Void
    ) throws(E) { try numbers[index].withBytes(body) }
}
