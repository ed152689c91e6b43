// SPDX-License-Identifier: Apache-2.0
import CLinux
import CSodium

enum Sodium {
    /// Whether libsodium is ready; every entrance to this module looks here first, since libsodium's own functions
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

    /// How much of the stack a primitive may have used, in bytes: several blocks of 1 KiB for Argon2id, and for a hash
    /// or a box some hundred bytes.
    enum StackDepth: Int { case derivation = 32768, hashOrBox = 8192 }

    /// Wipes what a primitive that has just returned left on the stack of this thread, below the caller.
    static func wipeStack(_ depth: StackDepth = .hashOrBox) { clinux_wipe_stack(depth.rawValue) }

    /// Wipes bytes in a way that the optimizer keeps. The corresponding C function is `sodium_memzero`.
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        unsafe sodium_memzero(base, bytes.count)
    }
}

/// Says what happens when libsodium cannot go on: when the kernel gives no random numbers, or after a fault of this
/// module.
///
/// The corresponding C function is `sodium_set_misuse_handler`; without a handler, and when the handler returns, the
/// process aborts.
public func setHandlerOfLastResort(_ handler: @convention(c) () -> Void) {
    _ = sodium_set_misuse_handler(handler)
}

extension Span<UInt8> {
    /// Lends the bytes with an address even when there are none: libsodium's parameters are annotated as nonnull.
    func withPointer<R>(_ body: (UnsafePointer<UInt8>, Int) -> R) -> R {
        unsafe withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { return unsafe body(base, buffer.count) }
            var nothing: UInt8 = 0
            return unsafe body(&nothing, 0)
        }
    }
}

/// Whether two runs of bytes are equal, in a time that depends on their length alone.
///
/// The corresponding C function is `sodium_memcmp`.
public func isEqualInConstantTime(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    guard a.count > 0 else { return true }
    // Both buffers have the length that is passed.
    return unsafe a.withPointer { a, count in
        unsafe b.withPointer { b, _ in unsafe sodium_memcmp(a, b, count) == 0 }
    }
}

/// Wipes an ordinary array in place, for the few edges where a signature forces a secret into one.
public func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.wipe($0) }
}

/// Wipes memory that the caller owns.
public func wipe(_ bytes: UnsafeMutableRawBufferPointer) { unsafe Sodium.wipe(bytes) }
