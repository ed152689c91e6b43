// SPDX-License-Identifier: Apache-2.0
@_implementationOnly import VaultCrypto

/// A source of random numbers. There is one: ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

public var kSecRandomDefault: SecRandomRef? { nil }

/// Fills memory with random bytes (libsodium's `randombytes_buf`, which is getrandom).
///
/// - Parameters:
///   - rnd: not looked at.
///   - count: bytes, 0 or more.
///   - bytes: has room for `count` bytes.
/// - Returns: errSecSuccess; errSecParam for a negative count.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    // The caller promises that the memory is there and its own.
    unsafe SystemRandom.fill(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    return errSecSuccess
}
