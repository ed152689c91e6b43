// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

// Private keys in DER (X.690), written in locked memory.

extension PKCS8PrivateKey.Frame {
    /// Joins the frame and a secret.
    package func secret(around secret: Span<UInt8>) throws(CryptoError) -> Secret {
        var whole = try SecretBytes(zeroed: before.count + secret.count + after.count)
        whole.replace(at: 0, with: before.span)
        whole.replace(at: before.count, with: secret)
        whole.replace(at: before.count + secret.count, with: after.span)
        return Secret(whole)
    }
}

extension RSAKeyNumbers {
    /// Writes a private key of two primes in PKCS#1 (RFC 8017, A.1.2).
    ///
    /// - Parameters:
    ///   - bytes: contain the numbers, big-endian.
    ///   - ranges: of n, e, d, p, q, dP, dQ and qInv; leading zero bytes are dropped.
    package static func privateKey(_ bytes: Span<UInt8>, _ ranges: [Range<Int>]) throws(CryptoError) -> SecretBytes {
        // An upper bound of the output: the header and sign byte of a number take at most six bytes.
        let capacity = ranges.reduce(16) { $0 + $1.count + 6 }
        var content = try SecretBuffer(capacity: capacity)
        try content.append([DERTag.integer, 1, 0].span)
        for range in ranges {
            var number = bytes.extracting(range)
            while number.count > 1, number[0] == 0 { number = number.extracting(1..<number.count) }
            let isHigh = number.count > 0 && number[0] >= 0x80
            var head = [DERTag.integer]
            DERLength.append(number.count + (isHigh ? 1 : 0), to: &head)
            if isHigh { head.append(0) }
            try content.append(head.span)
            try content.append(number)
        }
        var whole = try SecretBuffer(capacity: capacity)
        var head = [DERTag.sequence]
        DERLength.append(content.count, to: &head)
        try whole.append(head.span)
        try content.withBytes { bytes throws(CryptoError) in try whole.append(bytes) }
        return try whole.bytes()
    }
}
