// SPDX-License-Identifier: Apache-2.0
@_implementationOnly import VaultCrypto

/// A source of random numbers. The only one is ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

public var kSecRandomDefault: SecRandomRef? { nil }

/// Fills memory with random bytes (libsodium's `randombytes_buf`, which is getrandom).
///
/// - Parameters:
///   - rnd: ignored.
///   - count: the number of bytes, 0 or more.
///   - bytes: a buffer of `count` bytes.
/// - Returns: errSecSuccess; errSecParam for a negative count.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    // The caller guarantees that the buffer is valid and exclusively accessed.
    unsafe SystemRandom.fill(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    return errSecSuccess
}
