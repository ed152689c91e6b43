// SPDX-License-Identifier: Apache-2.0
import CSodium

/// Keys from passphrases, and keys from keys.
package enum KeyDerivation {
    /// Derives 32 bytes from a passphrase with Argon2id version 1.3, one lane (RFC 9106).
    ///
    /// - Parameters:
    ///   - secret: the passphrase's bytes, as ``Passphrase`` prepares them.
    ///   - salt: 16 bytes, random, one per key slot.
    ///   - passes: 1 or more.
    ///   - memoryBytes: 8 KiB or more, a multiple of 1,024. A value from a file must be bounded first.
    /// - Throws: `.outOfMemory` if libsodium cannot allocate `memoryBytes`.
    ///
    /// The corresponding C function is `crypto_pwhash`.
    package static func argon2id(
        _ secret: borrowing SecretBytes, salt: Span<UInt8>, passes: UInt64, memoryBytes: Int
    ) throws(CryptoError) -> SecretBytes {
        precondition(salt.count == Int(crypto_pwhash_SALTBYTES))
        guard Sodium.ready else { throw .unavailable }
        let key = try SecretBytes(zeroed: 32)
        let count = secret.count
        let status = unsafe key.withPointer { key in
            unsafe secret.withPointer { secret in
                unsafe salt.withPointer { salt, _ in
                    unsafe secret.withMemoryRebound(to: CChar.self, capacity: count) { secret in
                        defer { Sodium.wipeStack(.derivation) }
                        return unsafe crypto_pwhash(
                            key, 32, secret, UInt64(count), salt, passes, memoryBytes, crypto_pwhash_ALG_ARGON2ID13)
                    }
                }
            }
        }
        // The bounds were checked, so only the allocation can fail.
        guard status == 0 else { throw .outOfMemory }
        return key
    }

    /// Derives subkey number `id`, 32 bytes.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - context: 8 ASCII characters.
    ///
    /// The corresponding C function is `crypto_kdf_derive_from_key`.
    package static func subkey(_ id: UInt64, of key: borrowing SecretBytes, context: StaticString) throws(CryptoError)
        -> SecretBytes
    {
        precondition(key.count == 32 && context.utf8CodeUnitCount == 8)
        guard Sodium.ready else { throw .unavailable }
        let subkey = try SecretBytes(zeroed: 32)
        unsafe subkey.withPointer { subkey in
            unsafe key.withPointer { key in
                // The context has eight characters, by the precondition.
                let characters = unsafe UnsafeRawPointer(context.utf8Start).assumingMemoryBound(to: CChar.self)
                _ = unsafe crypto_kdf_derive_from_key(subkey, 32, id, characters, key)
                Sodium.wipeStack()
            }
        }
        return subkey
    }
}
