// SPDX-License-Identifier: Apache-2.0
import CCrypto

/// AES-GCM with a nonce of 16 bytes (NIST SP 800-38D), as in Apple's hybrid encryption.
package enum SessionCipher {
    package static let nonceLength = 16
    package static let tagLength = 16

    /// - Parameters:
    ///   - key: 16 or 32 bytes, for this message only.
    ///   - nonce: 16 bytes.
    /// - Returns: the ciphertext, as long as the message, and a tag of 16 bytes.
    package static func seal(
        _ message: Span<UInt8>, key: borrowing SecretBytes, nonce: Span<UInt8>, additional: Span<UInt8>
    ) throws(CryptoError) -> [UInt8] {
        guard nonce.count == nonceLength else { throw .authenticationFailed }
        var output = [UInt8](repeating: 0, count: message.count + tagLength)
        // The output has room for both, and the others have the lengths that are passed.
        let result = unsafe output.withUnsafeMutableBytes { output in
            unsafe with(message, key, nonce, additional) { message, key, nonce, additional in
                unsafe ccrypto_gcm_seal(
                    key, nonce, additional, message, output.baseAddress,
                    output.baseAddress.map { unsafe $0 + message.count })
            }
        }
        Sodium.wipeStack()
        try CryptoError.check(result)
        return output
    }

    /// - Parameter sealed: the ciphertext and its tag.
    /// - Throws: `.authenticationFailed` for another key or nonce, other additional data, an altered byte.
    package static func open(
        _ sealed: Span<UInt8>, key: borrowing SecretBytes, nonce: Span<UInt8>, additional: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        guard nonce.count == nonceLength, sealed.count >= tagLength else { throw .authenticationFailed }
        let count = sealed.count - tagLength
        let output = try SecretBytes(zeroed: count)
        // The tag follows the ciphertext, and the output is as long as the ciphertext.
        let result = unsafe output.withPointer { output in
            unsafe with(sealed, key, nonce, additional) { sealed, key, nonce, additional in
                unsafe ccrypto_gcm_open(
                    key, nonce, additional, ccrypto_number(bytes: sealed.bytes, count: count),
                    sealed.bytes.map { unsafe $0 + count }, output)
            }
        }
        Sodium.wipeStack()
        try CryptoError.check(result)
        return output
    }

    private static func with(
        _ text: Span<UInt8>, _ key: borrowing SecretBytes, _ nonce: Span<UInt8>, _ additional: Span<UInt8>,
        _ body: (ccrypto_number, ccrypto_number, UnsafePointer<UInt8>, ccrypto_number) -> Int
    ) -> Int {
        unsafe text.withPointer { text, count in
            unsafe key.withPointer { start in
                unsafe nonce.withPointer { nonce, _ in
                    unsafe additional.withPointer { additional, additionalCount in
                        unsafe body(
                            ccrypto_number(bytes: text, count: count),
                            ccrypto_number(bytes: start, count: key.count), nonce,
                            ccrypto_number(bytes: additional, count: additionalCount))
                    }
                }
            }
        }
    }
}
