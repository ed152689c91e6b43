// SPDX-License-Identifier: Apache-2.0
import CCrypto

/// SHA-1 and SHA-2 (FIPS 180-4), each by its bits. Used for Apple's interfaces: vaults do not depend on them.
package enum DigestAlgorithm: Int32, Sendable, CaseIterable {
    case sha1 = 160
    case sha224 = 224
    case sha256 = 256
    case sha384 = 384
    case sha512 = 512

    /// The length of a digest in bytes: 20 to 64.
    package var length: Int { Int(rawValue) / 8 }

    /// - Throws: `.unavailable` without libcrypto 3.
    package func digest(of bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: length)
        // The output has as many bytes as a digest.
        let result = unsafe bytes.withPointer { start, count in
            unsafe output.withUnsafeMutableBytes {
                unsafe ccrypto_digest(rawValue, ccrypto_number(bytes: start, count: count), $0.baseAddress, $0.count)
            }
        }
        try CryptoError.check(result)
        return output
    }

    /// The key derivation of ANSI X9.63 (SEC 1, 3.6.1): digests of the secret, a counter and the shared information.
    ///
    /// - Parameter count: the length of the result in bytes, 0 to 2³² − 1 times the length of a digest.
    package func derive(
        _ count: Int, from secret: borrowing SecretBytes, sharedInformation: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        var input = try SecretBytes(zeroed: secret.count + 4 + sharedInformation.count)
        secret.withBytes { input.replace(at: 0, with: $0) }
        input.replace(at: secret.count + 4, with: sharedInformation)
        let blocks = (count + length - 1) / length
        let output = try SecretBytes(zeroed: blocks * length)
        for block in 0..<blocks {
            let number = (0..<4).map { UInt8(truncatingIfNeeded: (block + 1) >> (8 * (3 - $0))) }
            input.replace(at: secret.count, with: number.span)
            // Each block has room for one digest.
            let result = unsafe input.withPointer { start in
                unsafe output.withPointer { place in
                    unsafe ccrypto_digest(
                        rawValue, ccrypto_number(bytes: start, count: input.count), place + block * length, length)
                }
            }
            try CryptoError.check(result)
        }
        Sodium.wipeStack()
        return output.narrowed(to: 0..<count)
    }
}
