// SPDX-License-Identifier: Apache-2.0
import CSodium

/// XSalsa20-Poly1305 as libsodium's `crypto_secretbox_easy`: 16 bytes of tag, then the ciphertext.
///
/// A box does not commit to its key: one can be made that opens under two. Callers that try keys on a box of unknown
/// origin must compare a commitment first.
package enum SecretBox {
    package static let keyLength = 32
    package static let nonceLength = 24
    package static let tagLength = 16

    /// Seals `plain` and appends the box, 16 bytes longer, to `output`.
    ///
    /// - Parameters:
    ///   - nonce: 24 bytes, never used with this key before.
    ///   - key: 32 bytes.
    ///   - isSecret: whether to wipe the first 32 bytes of `plain` that libsodium leaves on the stack.
    package static func seal(
        _ plain: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SecretBytes, appendingTo output: inout [UInt8],
        isSecret: Bool = true
    ) {
        precondition(Sodium.ready && nonce.count == nonceLength && key.count == keyLength)
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: plain.count + tagLength))
        // The output has room for the plaintext and the tag after `start`.
        unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe plain.withPointer { plain, count in
                unsafe nonce.withPointer { nonce, _ in
                    unsafe key.withPointer { key in
                        guard let box = output.baseAddress else { return }
                        _ = unsafe crypto_secretbox_easy(box + start, plain, UInt64(count), nonce, key)
                        if isSecret { Sodium.wipeStack() }
                    }
                }
            }
        }
    }

    /// Opens a box directly into locked memory.
    ///
    /// - Throws: `.authenticationFailed` for another key, an altered byte or a box shorter than its tag.
    package static func open(_ box: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SecretBytes) throws(CryptoError)
        -> SecretBytes
    {
        guard box.count >= tagLength else { throw .authenticationFailed }
        let plain = try SecretBytes(zeroed: box.count - tagLength)
        let opened = unsafe plain.withPointer { unsafe open(box, nonce: nonce, key: key, into: $0) }
        Sodium.wipeStack()
        guard opened else { throw .authenticationFailed }
        return plain
    }

    /// Whether a box opens. Its content is not deciphered: `crypto_secretbox_open_detached` without an output verifies
    /// the tag alone.
    package static func opens(_ box: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SecretBytes) -> Bool {
        precondition(Sodium.ready && nonce.count == nonceLength && key.count == keyLength)
        guard box.count >= tagLength else { return false }
        let opens = unsafe box.withPointer { box, count in
            unsafe nonce.withPointer { nonce, _ in
                unsafe key.withPointer { key in
                    let cipher = unsafe box + tagLength
                    return unsafe crypto_secretbox_open_detached(
                        nil, cipher, box, UInt64(count - tagLength), nonce, key) == 0
                }
            }
        }
        // The keys of cipher and tag remain there.
        Sodium.wipeStack()
        return opens
    }

    /// Opens a box of public or semi-public content, such as metadata.
    ///
    /// - Throws: `.authenticationFailed` for another key, an altered byte or a box shorter than its tag.
    package static func openPublic(
        _ box: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SecretBytes
    ) throws(CryptoError) -> [UInt8] {
        guard box.count >= tagLength else { throw .authenticationFailed }
        let length = box.count - tagLength
        var opened = true
        let plain = unsafe [UInt8](unsafeUninitializedCapacity: length) { plain, count in
            guard let base = plain.baseAddress else { return opened = opens(box, nonce: nonce, key: key) }
            opened = unsafe open(box, nonce: nonce, key: key, into: base)
            // Without an authentic box nothing was written.
            count = opened ? length : 0
        }
        guard opened else { throw .authenticationFailed }
        return plain
    }

    /// - Parameter plain: room for `box.count - 16` bytes.
    private static func open(
        _ box: Span<UInt8>, nonce: Span<UInt8>, key: borrowing SecretBytes, into plain: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        precondition(Sodium.ready && nonce.count == nonceLength && key.count == keyLength)
        return unsafe box.withPointer { box, count in
            unsafe nonce.withPointer { nonce, _ in
                unsafe key.withPointer { key in
                    unsafe crypto_secretbox_open_easy(plain, box, UInt64(count), nonce, key) == 0
                }
            }
        }
    }
}
