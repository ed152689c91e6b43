// SPDX-License-Identifier: Apache-2.0
import CSodium

/// An X25519 key to which anonymous senders seal small secrets, as libsodium's `crypto_box_seal`; together with another
/// key it makes a ``PeerBox``.
package struct BoxKeyPair: ~Copyable, Sendable {
    package static let seedLength = 32
    package static let publicKeyLength = 32
    /// The overhead of a sealed box: the sender's ephemeral key, and the tag.
    package static let sealOverhead = 48

    /// 32 bytes.
    package let publicKey: [UInt8]
    private let secretKey: SecretBytes

    /// - Parameter seed: 32 bytes.
    package init(seed: borrowing SecretBytes) throws(CryptoError) {
        precondition(Sodium.ready && seed.count == BoxKeyPair.seedLength)
        let secretKey = try SecretBytes(zeroed: 32)
        var publicKey = [UInt8](repeating: 0, count: BoxKeyPair.publicKeyLength)
        // All three have the lengths of an X25519 key.
        unsafe publicKey.withUnsafeMutableBufferPointer { output in
            unsafe secretKey.withPointer { secretKey in
                unsafe seed.withPointer { seed in
                    guard let base = output.baseAddress else { return }
                    _ = unsafe crypto_box_seed_keypair(base, secretKey, seed)
                }
            }
        }
        Sodium.wipeStack()
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Seals a secret to a public key; the result is 48 bytes longer.
    ///
    /// - Throws: `.authenticationFailed` for a public key of another length or of small order, for which every reader
    ///   could derive the key.
    package static func seal(_ secret: borrowing SecretBytes, to publicKey: Span<UInt8>) throws(CryptoError) -> [UInt8]
    {
        precondition(Sodium.ready)
        guard publicKey.count == publicKeyLength else { throw .authenticationFailed }
        var box = [UInt8](repeating: 0, count: secret.count + sealOverhead)
        // The box has room for the secret and the overhead.
        let isSealed = unsafe box.withUnsafeMutableBufferPointer { output in
            unsafe secret.withPointer { bytes in
                unsafe publicKey.withPointer { publicKey, _ in
                    guard let base = output.baseAddress else { return false }
                    return unsafe crypto_box_seal(base, bytes, UInt64(secret.count), publicKey) == 0
                }
            }
        }
        Sodium.wipeStack()
        guard isSealed else { throw .authenticationFailed }
        return box
    }

    /// Opens a box that was sealed to this key, directly into locked memory.
    ///
    /// - Throws: `.authenticationFailed` for another key, an altered byte or a box shorter than its overhead.
    package func open(_ box: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        guard box.count >= BoxKeyPair.sealOverhead else { throw .authenticationFailed }
        let plain = try SecretBytes(zeroed: box.count - BoxKeyPair.sealOverhead)
        let isOpened = unsafe plain.withPointer { plain in
            unsafe box.withPointer { box, count in
                unsafe publicKey.span.withPointer { publicKey, _ in
                    unsafe secretKey.withPointer { secretKey in
                        unsafe crypto_box_seal_open(plain, box, UInt64(count), publicKey, secretKey) == 0
                    }
                }
            }
        }
        Sodium.wipeStack()
        guard isOpened else { throw .authenticationFailed }
        return plain
    }

    func withSecretKey<R>(_ body: (UnsafeMutablePointer<UInt8>) -> R) -> R {
        unsafe secretKey.withPointer { unsafe body($0) }
    }
}
