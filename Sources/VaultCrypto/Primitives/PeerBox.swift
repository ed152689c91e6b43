// SPDX-License-Identifier: Apache-2.0
import CSodium

/// Boxes between two X25519 keys, as libsodium's `crypto_box_easy`: 16 bytes of tag, then the ciphertext.
///
/// Both ends share one key, so a box does not show which of the two has made it.
///
/// The corresponding C functions are `crypto_box_beforenm`, and for a box `crypto_box_easy_afternm`, which is
/// `crypto_secretbox_easy`.
package struct PeerBox: ~Copyable, Sendable {
    package static let nonceLength = SecretBox.nonceLength
    package static let tagLength = SecretBox.tagLength

    private let key: SecretBytes

    fileprivate init(_ key: consuming SecretBytes) { self.key = key }

    /// Seals a secret; the result is 16 bytes longer.
    ///
    /// - Parameter nonce: 24 bytes, never used between these keys before, by either end.
    package func seal(_ secret: borrowing SecretBytes, nonce: BoxNonce) -> [UInt8] {
        var box: [UInt8] = []
        box.reserveCapacity(secret.count + PeerBox.tagLength)
        let number = nonce.bytes
        secret.withBytes { SecretBox.seal($0, nonce: number.span, key: key, appendingTo: &box) }
        return box
    }

    /// Opens a box directly into locked memory.
    ///
    /// - Throws: `.authenticationFailed` for another key or nonce, an altered byte or a box shorter than its tag.
    package func open(_ box: Span<UInt8>, nonce: BoxNonce) throws(CryptoError) -> SecretBytes {
        let number = nonce.bytes
        return try SecretBox.open(box, nonce: number.span, key: key)
    }
}

extension BoxKeyPair {
    /// A new key.
    package init(_ random: some RandomSource) throws(CryptoError) {
        try self.init(seed: try random.secret(BoxKeyPair.seedLength))
    }

    /// Returns the boxes between this key and another.
    ///
    /// - Throws: `.authenticationFailed` for a public key of another length or of small order, for which the shared key
    ///   would be known to everyone.
    package func box(with publicKey: Span<UInt8>) throws(CryptoError) -> PeerBox {
        guard publicKey.count == BoxKeyPair.publicKeyLength else { throw .authenticationFailed }
        let key = try SecretBytes(zeroed: SecretBox.keyLength)
        // All three have the lengths of an X25519 key.
        let isShared = unsafe key.withPointer { key in
            unsafe publicKey.withPointer { publicKey, _ in
                unsafe withSecretKey { unsafe crypto_box_beforenm(key, publicKey, $0) == 0 }
            }
        }
        Sodium.wipeStack()
        guard isShared else { throw .authenticationFailed }
        return PeerBox(key)
    }
}

/// A 24-byte number used once.
package struct BoxNonce: Hashable, Sendable {
    // Stored compactly: a million nonces take 24 MB.
    private let low: UInt64
    private let middle: UInt64
    private let high: UInt64

    /// Returns `nil` for another length.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == PeerBox.nonceLength else { return nil }
        self.init(known: bytes)
    }

    /// 24 bytes.
    package var bytes: [UInt8] {
        [low, middle, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }
    }

    /// The next nonce, little-endian; wraps around after the last. The corresponding C function is `sodium_increment`.
    package var next: BoxNonce {
        var bytes = bytes
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            // The buffer has the length that is passed.
            if let base = bytes.baseAddress { unsafe sodium_increment(base, bytes.count) }
        }
        return BoxNonce(known: bytes)
    }

    /// - Parameter bytes: exactly 24.
    private init(known bytes: [UInt8]) {
        func word(_ start: Int) -> UInt64 { bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        (low, middle, high) = (word(0), word(8), word(16))
    }
}
