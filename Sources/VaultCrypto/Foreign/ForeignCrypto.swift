// SPDX-License-Identifier: Apache-2.0
import CCrypto
import CSodium
import Glibc

// The cryptography of other products' files, by libcrypto and libargon2. Vaults do not depend on it.

/// Key derivations of other products.
package enum ForeignDerivation {
    /// PBKDF2 with HMAC-SHA256 (RFC 8018): 32 bytes.
    ///
    /// - Throws: `.unavailable` without libcrypto.
    package static func pbkdf2SHA256(
        _ password: borrowing SecretBytes, salt: Span<UInt8>, iterations: Int
    ) throws(CryptoError) -> SecretBytes {
        let output = try SecretBytes(zeroed: 32)
        // The lengths match the buffers.
        let result = unsafe password.withPointer { secret in
            unsafe salt.withPointer { salt, count in
                unsafe output.withPointer {
                    unsafe ccrypto_pbkdf2_sha256(
                        secret, password.count, salt, count, UInt32(clamping: iterations), $0, 32)
                }
            }
        }
        Sodium.wipeStack()
        guard result == 0 else { throw .unavailable }
        return output
    }

    /// Argon2id (RFC 9106) with a salt of any length and several lanes: 32 bytes.
    ///
    /// - Throws: `.unavailable` without libargon2, `.outOfMemory`.
    package static func argon2id(
        _ password: borrowing SecretBytes, salt: Span<UInt8>, passes: Int, kibibytes: Int, lanes: Int
    ) throws(CryptoError) -> SecretBytes {
        let output = try SecretBytes(zeroed: 32)
        // The lengths match the buffers.
        let result = unsafe password.withPointer { secret in
            unsafe salt.withPointer { salt, count in
                unsafe output.withPointer {
                    unsafe ccrypto_argon2id(
                        UInt32(clamping: passes), UInt32(clamping: kibibytes), UInt32(clamping: lanes), secret,
                        password.count, salt, count, $0, 32)
                }
            }
        }
        Sodium.wipeStack()
        guard result != -Int(ENOMEM) else { throw .outOfMemory }
        guard result == 0 else { throw .unavailable }
        return output
    }

    /// scrypt (RFC 7914): 32 bytes.
    ///
    /// The corresponding C function is `crypto_pwhash_scryptsalsa208sha256_ll`.
    package static func scrypt(
        _ password: borrowing SecretBytes, salt: Span<UInt8>, cost: UInt64, blocks: UInt32, lanes: UInt32
    ) throws(CryptoError) -> SecretBytes {
        guard Sodium.ready else { throw .unavailable }
        let output = try SecretBytes(zeroed: 32)
        // The lengths match the buffers.
        let result = unsafe password.withPointer { secret in
            unsafe salt.withPointer { salt, count in
                unsafe output.withPointer {
                    unsafe crypto_pwhash_scryptsalsa208sha256_ll(
                        secret, password.count, salt, count, cost, blocks, lanes, $0, 32)
                }
            }
        }
        Sodium.wipeStack()
        guard result == 0 else { throw .outOfMemory }
        return output
    }
}

/// Ciphers of other products.
package enum ForeignCipher {
    /// AES-CBC with PKCS#7 padding, unauthenticated: the caller has verified a MAC.
    ///
    /// - Parameters:
    ///   - key: 16 or 32 bytes.
    ///   - vector: 16 bytes.
    /// - Throws: `.authenticationFailed` for invalid padding, `.unavailable` without libcrypto.
    package static func openedCBC(
        _ text: Span<UInt8>, key: borrowing SecretBytes, vector: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        try cbc(encrypts: false, text, key: key, vector: vector)
    }

    package static func sealedCBC(
        _ text: Span<UInt8>, key: borrowing SecretBytes, vector: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        try cbc(encrypts: true, text, key: key, vector: vector)
    }

    private static func cbc(
        encrypts: Bool, _ text: Span<UInt8>, key: borrowing SecretBytes, vector: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        precondition(vector.count == 16)
        let output = try SecretBytes(zeroed: text.count + 32)
        // The output has room for another block.
        let result = unsafe key.withPointer { secret in
            unsafe vector.withPointer { vector, _ in
                unsafe text.withPointer { text, count in
                    unsafe output.withPointer {
                        unsafe ccrypto_aes_cbc(encrypts ? 1 : 0, secret, key.count, vector, text, count, $0)
                    }
                }
            }
        }
        Sodium.wipeStack()
        try CryptoError.check(result)
        return output.narrowed(to: 0..<result)
    }

    /// AES-256-GCM.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - nonce: 12 bytes.
    ///   - tag: 16 bytes.
    /// - Throws: `.authenticationFailed`, `.unavailable` without libcrypto.
    package static func openedGCM(
        _ text: Span<UInt8>, key: borrowing SecretBytes, nonce: Span<UInt8>, tag: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        precondition(key.count == 32 && nonce.count == 12 && tag.count == 16)
        let output = try SecretBytes(zeroed: max(text.count, 1))
        // Key, nonce and tag have the lengths of GCM.
        let result = unsafe key.withPointer { key in
            unsafe nonce.withPointer { nonce, _ in
                unsafe tag.withPointer { tag, _ in
                    unsafe text.withPointer { text, count in
                        unsafe output.withPointer { unsafe ccrypto_aes_gcm_open(key, nonce, tag, text, count, $0) }
                    }
                }
            }
        }
        Sodium.wipeStack()
        try CryptoError.check(result)
        return output.narrowed(to: 0..<text.count)
    }
}

extension MessageAuthentication {
    /// SHA-256 of public bytes. The corresponding C function is `crypto_hash_sha256`.
    package static func plainSHA256(_ bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        guard Sodium.ready else { throw .unavailable }
        var output = [UInt8](repeating: 0, count: 32)
        // The output has 32 bytes.
        unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe bytes.withPointer { bytes, count in
                if let start = output.baseAddress { _ = unsafe crypto_hash_sha256(start, bytes, UInt64(count)) }
            }
        }
        return output
    }
}
