// SPDX-License-Identifier: Apache-2.0
// Apple's headers without nullability annotations are imported with `!`, on which client sources rely.
// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals
public import Foundation

/// Makes data of bytes that the caller owns; clients use this for keys, and may keep the data beyond the bytes'
/// lifetime.
///
/// - Parameters:
///   - bytes: `length` bytes.
///   - bytesDeallocator: with ``kCFAllocatorNull`` the bytes stay the caller's and are copied, since the data often
///     outlives them. Otherwise the data takes ownership, and frees them as memory of `malloc`.
/// - Returns: `nil` if the length is negative.
public func CFDataCreateWithBytesNoCopy(
    _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex, _ bytesDeallocator: CFAllocator!
) -> CFData! {
    guard length >= 0 else { return nil }
    guard let bytes = unsafe bytes else { return NSData() }
    // The caller guarantees that the bytes are valid.
    if bytesDeallocator === kCFAllocatorNull { return unsafe NSData(bytes: bytes, length: length) }
    // The caller transfers ownership of the bytes.
    return unsafe NSData(bytesNoCopy: UnsafeMutablePointer(mutating: bytes), length: length, freeWhenDone: true)
}
