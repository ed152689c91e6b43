// SPDX-License-Identifier: Apache-2.0
import CSodium

/// Where salts, nonces, identifiers and keys come from. Passed in, so that test vectors are reproducible.
public protocol RandomSource: Sendable {
    /// Fills the span with bytes that may become public: salts, nonces, identifiers, padding.
    func fill(_ bytes: inout MutableSpan<UInt8>)
    /// Makes a key of `count` bytes.
    func secret(_ count: Int) throws(CryptoError) -> SecretBytes
}

extension RandomSource {
    public func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        fill(&span)
        return bytes
    }
}

/// The kernel's generator through libsodium's `randombytes_buf`.
///
/// Nothing is drawn ahead: a forked child, or a machine that is started twice from one snapshot, would use it a second
/// time.
public final class SystemRandom: RandomSource {
    public init() {}

    /// Fills memory with random bytes that may be a key: nothing of them stays anywhere else.
    public static func fill(_ bytes: UnsafeMutableRawBufferPointer) { unsafe Sodium.randomize(bytes) }

    public func fill(_ bytes: inout MutableSpan<UInt8>) {
        unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.randomize($0) }
    }

    public func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SecretBytes(random: count) }
}
