// SPDX-License-Identifier: Apache-2.0
import CSodium

/// An Ed25519 key (RFC 8032), as libsodium's `crypto_sign_detached`.
package struct SigningKey: ~Copyable, Sendable {
    package static let seedLength = 32
    package static let publicKeyLength = 32
    package static let signatureLength = 64

    /// 32 bytes.
    package let publicKey: [UInt8]
    /// The seed and the public key, in libsodium's form.
    private let secretKey: SecretBytes

    /// - Parameter seed: 32 bytes.
    package init(seed: borrowing SecretBytes) throws(CryptoError) {
        precondition(Sodium.ready && seed.count == SigningKey.seedLength)
        let secretKey = try SecretBytes(zeroed: 64)
        var publicKey = [UInt8](repeating: 0, count: SigningKey.publicKeyLength)
        // All three have the lengths of an Ed25519 key.
        unsafe publicKey.withUnsafeMutableBufferPointer { output in
            unsafe secretKey.withPointer { secretKey in
                unsafe seed.withPointer { seed in
                    guard let base = output.baseAddress else { return }
                    _ = unsafe crypto_sign_seed_keypair(base, secretKey, seed)
                }
            }
        }
        Sodium.wipeStack()
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Returns the 64-byte signature over a message of two parts, of which the second may contain secrets.
    package func sign(_ prefix: Span<UInt8>, _ body: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        let message = try SigningKey.message(prefix, body)
        var signature = [UInt8](repeating: 0, count: SigningKey.signatureLength)
        // The signature has 64 bytes.
        unsafe signature.withUnsafeMutableBufferPointer { output in
            unsafe message.withPointer { bytes in
                unsafe secretKey.withPointer { secretKey in
                    guard let base = output.baseAddress else { return }
                    _ = unsafe crypto_sign_detached(base, nil, bytes, UInt64(message.count), secretKey)
                }
            }
        }
        Sodium.wipeStack()
        return signature
    }

    /// Checks a signature over a message of two parts, of which the second may contain secrets.
    ///
    /// - Throws: `.authenticationFailed` for another key or message, an altered byte, a signature or a public key of
    ///   another length, and for a public key that is not a point of the curve or is of small order.
    package static func verify(
        _ signature: Span<UInt8>, _ prefix: Span<UInt8>, _ body: Span<UInt8>, publicKey: Span<UInt8>
    ) throws(CryptoError) {
        guard signature.count == signatureLength, publicKey.count == publicKeyLength else {
            throw .authenticationFailed
        }
        let message = try message(prefix, body)
        let isRight = unsafe message.withPointer { bytes in
            unsafe signature.withPointer { signature, _ in
                unsafe publicKey.withPointer { publicKey, _ in
                    unsafe crypto_sign_verify_detached(signature, bytes, UInt64(message.count), publicKey) == 0
                }
            }
        }
        Sodium.wipeStack()
        guard isRight else { throw .authenticationFailed }
    }

    /// Concatenates both parts, since libsodium reads a message twice and in one piece.
    private static func message(_ prefix: Span<UInt8>, _ body: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        precondition(Sodium.ready)
        var message = try SecretBytes(zeroed: prefix.count + body.count)
        message.replace(at: 0, with: prefix)
        message.replace(at: prefix.count, with: body)
        return message
    }
}
