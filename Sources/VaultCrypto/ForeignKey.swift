// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

// Signatures by keys that other programs have made, by libcrypto. Nothing of a vault depends on them.

/// The prime curves of FIPS 186-4, each by the bits of its numbers.
package enum ForeignCurve: Int32, Sendable, CaseIterable {
    case p256 = 256
    case p384 = 384
    case p521 = 521

    /// The bytes of its numbers: 32, 48 or 66.
    package var length: Int { (Int(rawValue) + 7) / 8 }
    /// The bytes of a point (SEC 1, 2.3.3): 4, x and y.
    package var pointLength: Int { 1 + 2 * length }
}

/// SHA-2, by its bits.
package enum ForeignHash: Int32, Sendable {
    case sha256 = 256
    case sha384 = 384
    case sha512 = 512
}

/// A public key of another program.
package enum ForeignPublicKey: Hashable, Sendable {
    /// An uncompressed point.
    case ecdsa(ForeignCurve, point: [UInt8])
    /// Big-endian numbers without zero bytes before them.
    case rsa(modulus: [UInt8], exponent: [UInt8])

    /// - Throws: `.authenticationFailed` for what is no key: a point outside its curve, an RSA key of fewer than 2,048
    ///   bits or more than 16,384, an even exponent or one of more than 64 bits; `.unavailable` without libcrypto.
    package func check() throws(CryptoError) {
        let result = unsafe with { numbers in
            switch self {
            case .ecdsa(let curve, _): unsafe ccrypto_ecdsa_check_point(curve.rawValue, numbers[0])
            case .rsa: unsafe ccrypto_rsa_check_public(ForeignKey.rsa(numbers))
            }
        }
        try ForeignKey.check(result)
    }

    /// Checks a signature: of an elliptic curve r and s, each with as many bytes as the curve's numbers; of RSA, PKCS#1
    /// v1.5 (RFC 8017, 8.2), with as many as the modulus.
    ///
    /// - Throws: `.authenticationFailed` for another key or message, an altered byte, and what ``check()`` refuses;
    ///   `.unavailable` without libcrypto.
    package func verify(_ signature: Span<UInt8>, of message: Span<UInt8>, hash: ForeignHash) throws(CryptoError) {
        if case .ecdsa(let curve, _) = self, signature.count != 2 * curve.length { throw .authenticationFailed }
        let result = unsafe with { numbers in
            unsafe signature.withPointer { signature, length in
                unsafe message.withPointer { message, count in
                    let message = unsafe ccrypto_number(bytes: message, count: count)
                    return switch self {
                    case .ecdsa(let curve, _):
                        unsafe ccrypto_ecdsa_verify(curve.rawValue, numbers[0], hash.rawValue, message, signature)
                    case .rsa:
                        unsafe ccrypto_rsa_verify(
                            ForeignKey.rsa(numbers), hash.rawValue, message,
                            ccrypto_number(bytes: signature, count: length))
                    }
                }
            }
        }
        try ForeignKey.check(result)
    }

    /// Lends the numbers, for as long as the body runs.
    private func with(_ body: ([ccrypto_number]) -> Int) -> Int {
        switch self {
        case .ecdsa(_, let point):
            return unsafe point.span.withPointer { unsafe body([ccrypto_number(bytes: $0, count: $1)]) }
        case .rsa(let modulus, let exponent):
            return unsafe modulus.span.withPointer { modulus, count in
                unsafe exponent.span.withPointer {
                    unsafe body([
                        ccrypto_number(bytes: modulus, count: count), ccrypto_number(bytes: $0, count: $1),
                    ])
                }
            }
        }
    }
}

/// A private key of another program: numbers in locked memory, which libcrypto gets to sign with, and wipes.
package struct ForeignKey: ~Copyable, Sendable {
    package let publicKey: ForeignPublicKey
    /// All numbers in a row: the point and the private number; or n, e, d, iqmp, p and q.
    private let numbers: SecretBytes
    private let ranges: [Range<Int>]

    /// - Parameter private: the private number; of RSA d, iqmp, p and q. Big-endian, without zero bytes before them.
    /// - Throws: `.authenticationFailed` when the numbers are not those of the public key, and for what
    ///   ``ForeignPublicKey/check()`` refuses; `.unavailable` without libcrypto.
    package init(_ publicKey: ForeignPublicKey, private secrets: [Secret]) throws(CryptoError) {
        let (publics, count): ([[UInt8]], Int) =
            switch publicKey {
            case .ecdsa(_, let point): ([point], 1)
            case .rsa(let modulus, let exponent): ([modulus, exponent], 4)
            }
        guard secrets.count == count else { throw .authenticationFailed }
        var ranges: [Range<Int>] = []
        let numbers = try ForeignKey.joined(publics, secrets, &ranges)
        let result = unsafe ForeignKey.with(numbers, ranges) { numbers in
            switch publicKey {
            case .ecdsa(let curve, _): unsafe ccrypto_ecdsa_check(curve.rawValue, numbers[0], numbers[1])
            case .rsa: unsafe ccrypto_rsa_check(ForeignKey.rsa(numbers))
            }
        }
        Sodium.wipeStack(.derivation)
        try ForeignKey.check(result)
        (self.publicKey, self.ranges) = (publicKey, ranges)
        self.numbers = numbers
    }

    private static func joined(
        _ publics: [[UInt8]], _ secrets: [Secret], _ ranges: inout [Range<Int>]
    ) throws(CryptoError) -> SecretBytes {
        let length = publics.reduce(0) { $0 + $1.count } + secrets.reduce(0) { $0 + $1.count }
        var joined = try SecretBytes(zeroed: length)
        var end = 0
        for number in publics {
            joined.replace(at: end, with: number.span)
            ranges.append(end..<end + number.count)
            end += number.count
        }
        for number in secrets {
            number.withBytes { joined.replace(at: end, with: $0) }
            ranges.append(end..<end + number.count)
            end += number.count
        }
        return joined
    }

    /// - Returns: as ``ForeignPublicKey/verify(_:of:hash:)`` takes it.
    package borrowing func sign(_ message: Span<UInt8>, hash: ForeignHash) throws(CryptoError) -> [UInt8] {
        let publicKey = publicKey
        let length =
            switch publicKey {
            case .ecdsa(let curve, _): 2 * curve.length
            case .rsa(let modulus, _): modulus.count
            }
        var signature = [UInt8](repeating: 0, count: length)
        let result = unsafe ForeignKey.with(numbers, ranges) { numbers in
            unsafe message.withPointer { message, count in
                let message = unsafe ccrypto_number(bytes: message, count: count)
                // The signature has as many bytes as the function writes.
                return unsafe signature.withUnsafeMutableBufferPointer { output in
                    switch publicKey {
                    case .ecdsa(let curve, _):
                        unsafe ccrypto_ecdsa_sign(
                            curve.rawValue, numbers[0], numbers[1], hash.rawValue, message, output.baseAddress)
                    case .rsa:
                        unsafe ccrypto_rsa_sign(
                            ForeignKey.rsa(numbers), hash.rawValue, message, output.baseAddress, output.count)
                    }
                }
            }
        }
        Sodium.wipeStack(.derivation)
        try ForeignKey.check(result)
        return signature
    }

    /// Lends a private number, in the order in which they came.
    package borrowing func withPrivateNumber<E: Error>(
        _ index: Int, _ body: (Span<UInt8>) throws(E) -> Void
    ) throws(E) {
        let range = ranges[index + (ranges.count == 2 ? 1 : 2)]
        try numbers.withBytes { bytes throws(E) in try body(bytes.extracting(range)) }
    }

    /// Lends the numbers, for as long as the body runs.
    private static func with(
        _ numbers: borrowing SecretBytes, _ ranges: [Range<Int>], _ body: ([ccrypto_number]) -> Int
    ) -> Int {
        unsafe numbers.withPointer { start in
            // The ranges lie within the bytes.
            unsafe body(ranges.map { unsafe ccrypto_number(bytes: start + $0.lowerBound, count: $0.count) })
        }
    }

    /// - Parameter numbers: two, or all six.
    fileprivate static func rsa(_ numbers: [ccrypto_number]) -> ccrypto_rsa {
        let none = unsafe ccrypto_number(bytes: nil, count: 0)
        let private_ = unsafe numbers.count == 6 ? Array(numbers[2...]) : [none, none, none, none]
        return unsafe ccrypto_rsa(
            n: numbers[0], e: numbers[1], d: private_[0], iqmp: private_[1], p: private_[2], q: private_[3])
    }

    /// What a function of libcrypto's ended with.
    static func check(_ result: Int) throws(CryptoError) {
        guard result < 0 else { return }
        switch -result {
        case Int(EINVAL), Int(EBADMSG): throw .authenticationFailed
        case Int(ENOMEM): throw .outOfMemory
        default: throw .unavailable
        }
    }
}
