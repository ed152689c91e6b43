// SPDX-License-Identifier: Apache-2.0
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// A parsed external representation of a key: for RSA, PKCS#1 (RFC 8017, A.1); for a curve, 4, x, y and, for a private
/// key, its scalar (SEC 1, 2.3.3).
struct KeyRepresentation {
    let isRSA: Bool
    let isPrivate: Bool
    /// The size of the modulus, or of the curve's field.
    let bits: Int
    /// The public key, as it is stored.
    let publicRepresentation: [UInt8]
    /// For RSA: the ranges of the numbers.
    private let numbers: [Range<Int>]

    /// Fails for bytes that are not such a key. Does not check the relations between the numbers.
    init?(_ bytes: Span<UInt8>, isRSA: Bool, isPrivate: Bool) {
        (self.isRSA, self.isPrivate) = (isRSA, isPrivate)
        if isRSA {
            guard let key = RSAKeyNumbers(bytes, in: 0..<bytes.count, isPrivate: isPrivate),
                SecKey.rsaSizes.contains(key.bits)
            else { return nil }
            (bits, numbers, publicRepresentation) = (key.bits, key.ranges, key.publicKey(of: bytes))
        } else {
            guard let curve = KeyRepresentation.curve(of: bytes, isPrivate: isPrivate), bytes[0] == 4 else {
                return nil
            }
            bits = Int(curve.rawValue)
            numbers = []
            publicRepresentation = (0..<curve.pointLength).map { bytes[$0] }
        }
    }

    private static func curve(of bytes: Span<UInt8>, isPrivate: Bool) -> NISTCurve? {
        NISTCurve.allCases.first { $0.pointLength + (isPrivate ? $0.length : 0) == bytes.count }
    }

    /// Returns libcrypto's key, for one operation.
    ///
    /// - Parameter bytes: the bytes that were parsed.
    func key(_ bytes: Span<UInt8>) throws(CryptoError) -> AsymmetricKey {
        if isRSA { return try AsymmetricKey(rsa: bytes, numbers) }
        guard let curve = NISTCurve(rawValue: Int32(bits)) else { throw .authenticationFailed }
        return try AsymmetricKey(curve, bytes)
    }

    /// Writes RSA's private numbers in PKCS#1.
    ///
    /// - Parameter numbers: n, e, d, p, q, dP, dQ and qInv, each as long as the modulus.
    static func pkcs1(_ numbers: borrowing SecretBytes) throws(CryptoError) -> SecretBytes {
        let length = numbers.count / 8
        return try numbers.withBytes { bytes throws(CryptoError) in
            try RSAKeyNumbers.privateKey(bytes, (0..<8).map { $0 * length..<($0 + 1) * length })
        }
    }
}
