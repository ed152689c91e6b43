// SPDX-License-Identifier: Apache-2.0
import CSodium
import Synchronization

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
/// Public randomness is drawn 4 KiB at a time: one call for a 24-byte nonce costs more than sealing 32 bytes. What was drawn ahead belongs to one
/// process: a forked child would use it a second time.
public final class SystemRandom: RandomSource {
    private struct Pool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var used = 4096
    }

    private let pool = Mutex(Pool())

    private let process = ForkMark.process

    public init() {}

    /// Fills memory with random bytes that may be a key: nothing of them stays anywhere else.
    public static func fill(_ bytes: UnsafeMutableRawBufferPointer) { unsafe Sodium.randomize(bytes) }

    public func fill(_ bytes: inout MutableSpan<UInt8>) {
        if bytes.count > 1024 || process != ForkMark.process {
            unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.randomize($0) }
            return
        }
        // The closure cannot capture an inout span; a short copy of public bytes can cross.
        let count = bytes.count
        let drawn = pool.withLock { pool in
            if pool.used + count > pool.bytes.count {
                unsafe pool.bytes.withUnsafeMutableBytes { unsafe Sodium.randomize($0) }
                pool.used = 0
            }
            defer { pool.used += count }
            return Array(pool.bytes[pool.used..<pool.used + count])
        }
        for index in 0..<count { bytes[index] = drawn[index] }
    }

    public func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SecretBytes(random: count) }
}
