// SPDX-License-Identifier: Apache-2.0

/// The positions of the numbers in an RSA key in PKCS#1 (RFC 8017, A.1), which stays in the memory that the caller
/// locks and wipes.
package struct RSAKeyNumbers: Hashable, Sendable {
    /// The ranges of n and e, and for a private key d, p, q, dP, dQ and qInv: big-endian, without leading zero bytes.
    /// n and e are odd, e is above 1, and no number is longer than n.
    package let ranges: [Range<Int>]
    /// The size of the modulus.
    package let bits: Int

    /// Fails for bytes that are not exactly one such key, and for a private key of more than two primes. Does not check
    /// the relations between the numbers.
    ///
    /// - Parameter place: the part of the bytes that contains the key.
    package init?(_ bytes: Span<UInt8>, in place: Range<Int>, isPrivate: Bool) {
        var reader = DERReader(place)
        guard let content = reader.take(DERTag.sequence, of: bytes), reader.isAtEnd else { return nil }
        reader = DERReader(content)
        // Version 0: two primes.
        if isPrivate { guard reader.takeNumber(of: bytes)?.isEmpty == true else { return nil } }
        var ranges: [Range<Int>] = []
        while let number = reader.takeNumber(of: bytes) { ranges.append(number) }
        guard reader.isAtEnd, ranges.count == (isPrivate ? 8 : 2) else { return nil }
        let (modulus, exponent) = (ranges[0], ranges[1])
        guard ranges.allSatisfy({ !$0.isEmpty && $0.count <= modulus.count }), exponent.count < modulus.count,
            bytes[modulus.upperBound - 1] % 2 == 1, bytes[exponent.upperBound - 1] % 2 == 1,
            exponent.count > 1 || bytes[exponent.lowerBound] > 1
        else { return nil }
        bits = modulus.count * 8 - bytes[modulus.lowerBound].leadingZeroBitCount
        self.ranges = ranges
    }

    /// Returns the public key in PKCS#1.
    ///
    /// - Parameter bytes: the bytes that were parsed.
    package func publicKey(of bytes: Span<UInt8>) -> [UInt8] {
        RSAKeyNumbers.publicKey(modulus: bytes.array(ranges[0]), exponent: bytes.array(ranges[1]))
    }

    /// - Parameters:
    ///   - modulus: big-endian.
    ///   - exponent: big-endian.
    package static func publicKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        var writer = DERWriter()
        writer.put(DERTag.sequence) { inner in
            inner.putNumber(modulus)
            inner.putNumber(exponent)
        }
        return writer.bytes
    }
}
