// SPDX-License-Identifier: Apache-2.0
import CCrypto

/// A key of RSA or of a NIST curve in libcrypto's form, made for one operation: numbers in locked memory, which are
/// loaded, used and wiped.
package struct AsymmetricKey: ~Copyable, Sendable {
    /// The padding of a message to the length of a block, or the signature scheme.
    package enum Scheme: UInt32, Sendable {
        /// No padding: the block is used as it is.
        case raw = 0
        /// RFC 8017, 7.2 and 8.2.
        case pkcs1
        /// RFC 8017, 8.1, with the same hash in MGF1, and a salt as long as the hash.
        case pss
        /// RFC 8017, 7.1, with the same hash in MGF1 and no label.
        case oaep
        /// FIPS 186-4; a signature is a DER SEQUENCE of two INTEGERs.
        case ecdsa
    }

    /// `nil` for RSA.
    private let curve: NISTCurve?
    private let numbers: SecretBytes
    private let ranges: [Range<Int>]
    /// The output length of RSA in bytes: that of the modulus.
    private let blockLength: Int

    /// - Parameters:
    ///   - bytes: contain the numbers, big-endian.
    ///   - ranges: of n and e, and for a private key d, p, q, dP, dQ and qInv (RFC 8017, 3.2).
    package init(rsa bytes: Span<UInt8>, _ ranges: [Range<Int>]) throws(CryptoError) {
        guard let modulus = ranges.first else { throw .authenticationFailed }
        let end = ranges.reduce(0) { $0 + $1.count }
        var numbers = try SecretBytes(zeroed: end)
        (curve, blockLength) = (nil, modulus.count)
        self.ranges = AsymmetricKey.copy(ranges, of: bytes, isReversed: { _ in true }, to: &numbers)
        self.numbers = numbers
    }

    /// A private RSA key whose dP and dQ were left out.
    ///
    /// - Parameter ranges: of n, e, d, p, q and qInv.
    /// - Throws: `.authenticationFailed` if p times q is not n, or qInv is not q's inverse modulo p; whether d matches
    ///   them is checked by a signature.
    package static func completing(rsa bytes: Span<UInt8>, _ ranges: [Range<Int>]) throws(CryptoError) -> AsymmetricKey
    {
        let whole = try completed(rsa: bytes, ranges)
        let dp = bytes.count..<bytes.count + ranges[3].count
        let dq = dp.upperBound..<dp.upperBound + ranges[4].count
        return try whole.withBytes { bytes throws(CryptoError) in
            try AsymmetricKey(rsa: bytes, ranges[..<5] + [dp, dq, ranges[5]])
        }
    }

    /// Computes dP and dQ of a private RSA key.
    ///
    /// - Parameter ranges: as for ``completing(rsa:_:)``.
    /// - Returns: the given bytes, dP with the length of p, and dQ with that of q.
    /// - Throws: as ``completing(rsa:_:)``.
    package static func completed(rsa bytes: Span<UInt8>, _ ranges: [Range<Int>]) throws(CryptoError) -> SecretBytes {
        let (p, q) = (ranges[3], ranges[4])
        let dp = bytes.count..<bytes.count + p.count
        let dq = dp.upperBound..<dp.upperBound + q.count
        var whole = try SecretBytes(zeroed: dq.upperBound)
        whole.replace(at: 0, with: bytes)
        // Every range lies within the bytes.
        let result = unsafe whole.withPointer { start in
            func number(_ range: Range<Int>) -> ccrypto_number {
                unsafe ccrypto_number(bytes: start + range.lowerBound, count: range.count)
            }
            var factors = unsafe ccrypto_rsa_factors(
                n: number(ranges[0]), d: number(ranges[2]), p: number(p), q: number(q), q_inverse: number(ranges[5]))
            return unsafe ccrypto_rsa_exponents(&factors, start + dp.lowerBound, start + dq.lowerBound)
        }
        Sodium.wipeStack(.derivation)
        try CryptoError.check(result)
        return whole
    }

    /// - Parameter representation: 4, x and y, and for a private key its number, each as long as the curve's.
    package init(_ curve: NISTCurve, _ representation: Span<UInt8>) throws(CryptoError) {
        let point = curve.pointLength
        // For a first byte of 6 or 7, a hybrid form, libcrypto would accept the same key.
        guard representation.count == point || representation.count == point + curve.length, representation[0] == 4
        else { throw .authenticationFailed }
        var numbers = try SecretBytes(zeroed: representation.count)
        (self.curve, blockLength) = (curve, curve.length)
        let parts = [0..<point, point..<representation.count].filter { !$0.isEmpty }
        ranges = AsymmetricKey.copy(parts, of: representation, isReversed: { $0 == 1 }, to: &numbers)
        self.numbers = numbers
    }

    /// Completes a private key of P-256, since some files omit its point.
    ///
    /// - Parameter number: 1 to 32 bytes, big-endian.
    /// - Returns: 4, x, y and the number: 97 bytes.
    /// - Throws: `.authenticationFailed` if the number is 0 or not below the order of the curve; `.unavailable` without
    ///   libcrypto 3.
    package static func completing(p256 number: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        let curve = NISTCurve.p256
        let output = try SecretBytes(zeroed: curve.pointLength + curve.length)
        // The output has room for the point and the number.
        let result = unsafe number.withPointer { number, count in
            unsafe output.withPointer {
                unsafe ccrypto_p256_complete(ccrypto_number(bytes: number, count: count), $0)
            }
        }
        Sodium.wipeStack(.derivation)
        try CryptoError.check(result)
        return output
    }

    /// Copies the parts consecutively.
    ///
    /// - Returns: their ranges in the output.
    private static func copy(
        _ parts: [Range<Int>], of bytes: Span<UInt8>, isReversed: (Int) -> Bool, to output: inout SecretBytes
    ) -> [Range<Int>] {
        var end = 0
        return output.withMutableBytes { output in
            parts.enumerated().map { index, part in
                for place in 0..<part.count {
                    output[end + place] =
                        bytes[isReversed(index) ? part.upperBound - 1 - place : part.lowerBound + place]
                }
                defer { end += part.count }
                return end..<end + part.count
            }
        }
    }

    /// Generates a key in the form that the initializers take: for a curve 4, x, y and the private number; for RSA,
    /// whose public exponent is 65,537, all eight numbers, each as long as the modulus.
    ///
    /// - Parameter bits: for RSA, 512 to 8,192.
    package static func make(curve: NISTCurve?, bits: Int) throws(CryptoError) -> SecretBytes {
        let length = (bits + 7) / 8
        let count = curve.map { $0.pointLength + $0.length } ?? 8 * length
        let output = try SecretBytes(zeroed: count)
        // The output has the length that is passed.
        let result = unsafe output.withPointer {
            unsafe ccrypto_key_generate(curve?.rawValue ?? 0, Int32(clamping: bits), $0, count)
        }
        Sodium.wipeStack(.derivation)
        try CryptoError.check(result)
        return output
    }

    /// - Throws: `.authenticationFailed` for a point outside its curve, and for private numbers that are inconsistent
    ///   with each other or with the public ones; `.unavailable` without libcrypto 3.
    package borrowing func check() throws(CryptoError) {
        let result = unsafe with { unsafe ccrypto_key_check($0) }
        try finish(result)
    }

    /// - Parameter hash: `nil` with ``Scheme/raw`` and ``Scheme/ecdsa``, and with PKCS#1 if the digest is signed
    ///   without its name.
    package borrowing func sign(
        _ digest: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?
    ) throws(CryptoError) -> [UInt8] {
        // Two INTEGERs, each with a zero byte, and three heads, of which one may have a longer length.
        let room = curve.map { 2 * ($0.length + 1) + 7 } ?? blockLength
        return try unsafe output(of: ccrypto_key_sign, digest, scheme, hash, room: room)
    }

    /// - Throws: `.authenticationFailed` for another key or digest, and for an invalid signature.
    package borrowing func verify(
        _ signature: Span<UInt8>, of digest: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?
    ) throws(CryptoError) {
        let result = unsafe with { key in
            unsafe digest.withPointer { digest, count in
                unsafe signature.withPointer { signature, length in
                    unsafe ccrypto_key_verify(
                        key, ccrypto_scheme(scheme.rawValue), hash?.rawValue ?? 0,
                        ccrypto_number(bytes: digest, count: count), ccrypto_number(bytes: signature, count: length))
                }
            }
        }
        try finish(result)
    }

    package borrowing func encrypt(
        _ message: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?
    ) throws(CryptoError) -> [UInt8] {
        try unsafe output(of: ccrypto_key_encrypt, message, scheme, hash, room: blockLength)
    }

    /// - Parameter block: as long as the modulus. With PKCS#1 a wrong padding also gives a message, which is always the
    ///   same for the same block.
    package borrowing func decrypt(
        _ block: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?
    ) throws(CryptoError) -> SecretBytes {
        let output = try SecretBytes(zeroed: blockLength)
        let result = unsafe output.withPointer {
            unsafe apply(ccrypto_key_decrypt, to: block, scheme, hash, $0, blockLength)
        }
        try finish(result)
        return output.narrowed(to: 0..<result)
    }

    /// Returns the whole block that was signed without a scheme.
    package borrowing func recover(_ signature: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: blockLength)
        let result = unsafe with { key in
            unsafe signature.withPointer { signature, count in
                unsafe output.withUnsafeMutableBytes {
                    unsafe ccrypto_key_recover(
                        key, ccrypto_number(bytes: signature, count: count), $0.baseAddress, $0.count)
                }
            }
        }
        try finish(result)
        return output
    }

    /// ECDH (SEC 1, 3.3.1): the x of the shared point, as long as the curve's numbers. The cofactor of these curves is
    /// 1.
    ///
    /// - Throws: `.authenticationFailed` for a public key of another curve.
    package borrowing func exchange(with peer: borrowing AsymmetricKey) throws(CryptoError) -> SecretBytes {
        guard let curve, peer.curve == curve, ranges.count == 2 else { throw .authenticationFailed }
        let output = try SecretBytes(zeroed: curve.length)
        let result = unsafe with { key in
            unsafe peer.with { peer in
                unsafe output.withPointer { unsafe ccrypto_key_exchange(key, peer, $0, curve.length) }
            }
        }
        try finish(result)
        return output
    }

    /// The common type of signing, encrypting and decrypting.
    private typealias Operation = (
        UnsafePointer<ccrypto_key>?, ccrypto_scheme, Int32, ccrypto_number, UnsafeMutableRawPointer?, Int
    ) -> Int

    private borrowing func output(
        of operation: Operation, _ input: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?, room: Int
    ) throws(CryptoError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: room)
        let result = unsafe output.withUnsafeMutableBytes {
            unsafe apply(operation, to: input, scheme, hash, $0.baseAddress, room)
        }
        try finish(result)
        output.removeLast(room - result)
        return output
    }

    /// - Parameter output: has the given room.
    private borrowing func apply(
        _ operation: Operation, to input: Span<UInt8>, _ scheme: Scheme, _ hash: DigestAlgorithm?,
        _ output: UnsafeMutableRawPointer?, _ room: Int
    ) -> Int {
        unsafe with { key in
            unsafe input.withPointer { input, count in
                unsafe operation(
                    key, ccrypto_scheme(scheme.rawValue), hash?.rawValue ?? 0,
                    ccrypto_number(bytes: input, count: count), output, room)
            }
        }
    }

    /// Lends the key to C while the body runs.
    private borrowing func with(_ body: (UnsafePointer<ccrypto_key>) -> Int) -> Int {
        let curve = curve
        let ranges = ranges
        return unsafe numbers.withPointer { start in
            // The ranges lie within the bytes.
            let parts = unsafe ranges.map {
                unsafe ccrypto_number(bytes: start + $0.lowerBound, count: $0.count)
            }
            return unsafe parts.withUnsafeBufferPointer { parts in
                var key = unsafe ccrypto_key(
                    curve: curve?.rawValue ?? 0, count: Int32(parts.count), numbers: parts.baseAddress)
                return unsafe body(&key)
            }
        }
    }

    private borrowing func finish(_ result: Int) throws(CryptoError) {
        Sodium.wipeStack(.derivation)
        try CryptoError.check(result)
    }
}
