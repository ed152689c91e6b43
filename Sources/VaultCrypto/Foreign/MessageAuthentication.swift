// SPDX-License-Identifier: Apache-2.0
import CCrypto
import CSodium

/// HMAC (RFC 2104) with the hash functions of one-time passwords (RFC 6238). Vaults do not depend on it.
///
/// The corresponding C functions are `crypto_auth_hmacsha256_init` and its like; for SHA-1, which libsodium does not
/// have, libcrypto's `HMAC`.
package enum MessageAuthentication: Sendable {
    case sha1, sha256, sha512

    /// - Returns: 20, 32 or 64 bytes.
    /// - Throws: `.unavailable` for SHA-1 without libcrypto.
    package func code(of message: Span<UInt8>, key: borrowing SecretBytes) throws(CryptoError) -> SecretBytes {
        guard Sodium.ready else { throw .unavailable }
        let output = try SecretBytes(zeroed: length)
        // The key and the message have the lengths that are passed, and the output has as many bytes as the function
        // writes.
        let isDone = unsafe key.withPointer { key_ in
            unsafe output.withPointer { output in
                unsafe message.withPointer { message, count in unsafe write(key_, key.count, message, count, to: output)
                }
            }
        }
        guard isDone else { throw .unavailable }
        return output
    }

    private var length: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    private func write(
        _ key: UnsafePointer<UInt8>, _ keyCount: Int, _ message: UnsafePointer<UInt8>, _ count: Int,
        to output: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        switch self {
        case .sha1: return unsafe ccrypto_hmac_sha1(key, keyCount, message, count, output) == 0
        case .sha256:
            var state = crypto_auth_hmacsha256_state()
            unsafe crypto_auth_hmacsha256_init(&state, key, keyCount)
            unsafe crypto_auth_hmacsha256_update(&state, message, UInt64(count))
            unsafe crypto_auth_hmacsha256_final(&state, output)
            unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        case .sha512:
            var state = crypto_auth_hmacsha512_state()
            unsafe crypto_auth_hmacsha512_init(&state, key, keyCount)
            unsafe crypto_auth_hmacsha512_update(&state, message, UInt64(count))
            unsafe crypto_auth_hmacsha512_final(&state, output)
            unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        }
        return true
    }
}
