// SPDX-License-Identifier: Apache-2.0
import CSodium

/// The source of salts, nonces, identifiers and keys. Passed in, so that test vectors are reproducible.
public protocol RandomSource: Sendable {
    /// Fills the span with bytes that may become public: salts, nonces, identifiers, padding.
    func fill(_ bytes: inout MutableSpan<UInt8>)
    /// Makes a key of `count` bytes.
    func secret(_ count: Int) throws(CryptoError) -> SecretBytes
}

extension RandomSource {
    /// `count` bytes that may become public.
    public func bytes(_ count: Int) -> [UInt8] {
        // Array(repeating:count:) takes twice as many instructions for a few bytes.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        bytes.append(contentsOf: repeatElement(0, count: count))
        var span = bytes.mutableSpan
        fill(&span)
        return bytes
    }
}

/// The kernel's generator through libsodium's `randombytes_buf`.
///
/// Random bytes are never generated ahead: a forked child, or a machine started twice from one snapshot, would reuse
/// them.
public final class SystemRandom: RandomSource {
    /// The generator has no state of its own.
    public init() {}

    /// Fills memory with random bytes that may be a key: no copy of them remains elsewhere.
    public static func fill(_ bytes: UnsafeMutableRawBufferPointer) { unsafe Sodium.randomize(bytes) }

    /// Fills the span with bytes that may become public: salts, nonces, identifiers, padding.
    public func fill(_ bytes: inout MutableSpan<UInt8>) {
        unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.randomize($0) }
    }

    /// Makes a key of `count` bytes.
    ///
    /// - Throws: `.outOfLockedMemory`.
    public func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SecretBytes(random: count) }
}
