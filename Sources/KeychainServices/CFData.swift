// SPDX-License-Identifier: Apache-2.0
// C that says nothing of null is imported with `!`, and sources are written for that.
// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals
public import Foundation

/// Data of bytes that the caller holds, as clients make it of keys and give it away from where the bytes were lent.
///
/// - Parameters:
///   - bytes: `length` bytes.
///   - bytesDeallocator: ``kCFAllocatorNull``: the bytes stay the caller's, and are copied, for the data often lives
///     longer than they do. Else they become the data's, which frees them as memory of `malloc`.
/// - Returns: nil when the length is negative.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex, _ bytesDeallocator: CFAllocator!
) -> CFData! {
    guard length >= 0 else { return nil }
    guard let bytes = unsafe bytes else { return NSData() }
    // The caller promises that the bytes are there.
    if bytesDeallocator === kCFAllocatorNull { return unsafe NSData(bytes: bytes, length: length) }
    // And gives them away.
    return unsafe NSData(bytesNoCopy: UnsafeMutablePointer(mutating: bytes), length: length, freeWhenDone: true)
}
