// SPDX-License-Identifier: Apache-2.0
import CLinux
import CSodium

enum Sodium {
    /// Whether libsodium is ready; every entry point of this module checks this first, since libsodium's own functions
    /// abort before `sodium_init`.
    static let ready = sodium_init() >= 0

    /// 64 random bits.
    static func randomWord() -> UInt64 { UInt64(randombytes_random()) << 32 | UInt64(randombytes_random()) }

    /// Fills a buffer with random bytes. The corresponding C function is `randombytes_buf`.
    static func randomize(_ bytes: UnsafeMutableRawBufferPointer) {
        precondition(ready)
        guard let base = bytes.baseAddress else { return }
        unsafe randombytes_buf(base, bytes.count)
    }

    /// The maximum stack use of a primitive, in bytes: several blocks of 1 KiB for Argon2id, some hundred bytes for a
    /// hash or a box.
    enum StackDepth: Int { case derivation = 32768, hashOrBox = 8192 }

    /// Wipes the stack of this thread below the caller, where a primitive that has just returned may have left data.
    static func wipeStack(_ depth: StackDepth = .hashOrBox) { clinux_wipe_stack(depth.rawValue) }

    /// Wipes bytes in a way that the optimizer does not remove. The corresponding C function is `sodium_memzero`.
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe sodium_memzero(base, bytes.count)
    }
}

/// Sets the handler for when libsodium cannot continue: if the kernel provides no random numbers, or after a fault of
/// this module.
///
/// The corresponding C function is `sodium_set_misuse_handler`; without a handler, or if the handler returns, the
/// process aborts.
package func setHandlerOfLastResort(_ handler: @convention(c) () -> Void) { _ = sodium_set_misuse_handler(handler) }

extension Span<UInt8> {
    /// Lends the bytes with a non-null address even if empty, as libsodium's parameters are annotated as nonnull.
    func withPointer<R>(_ body: (UnsafePointer<UInt8>, Int) -> R) -> R {
        unsafe withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { return unsafe body(base, buffer.count) }
            var nothing: UInt8 = 0
            return unsafe body(&nothing, 0)
        }
    }
}

/// Whether two byte strings are equal, in a time that depends only on their length.
///
/// The corresponding C function is `sodium_memcmp`.
package func isEqualInConstantTime(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    guard a.count > 0 else { return true }
    // Both buffers have the length that is passed.
    return unsafe a.withPointer { a, count in
        unsafe b.withPointer { b, _ in unsafe sodium_memcmp(a, b, count) == 0 }
    }
}

/// Wipes an ordinary array in place, for the few places where an API requires a secret in one.
package func wipe(_ bytes: inout [UInt8]) { unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.wipe($0) } }

/// Wipes memory that the caller owns.
package func wipe(_ bytes: UnsafeMutableRawBufferPointer) { unsafe Sodium.wipe(bytes) }
