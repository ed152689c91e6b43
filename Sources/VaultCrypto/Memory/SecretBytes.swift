// SPDX-License-Identifier: Apache-2.0
import CSodium
import Synchronization

/// Secret bytes in locked, guarded memory: lent, never returned, wiped at the end of their life.
///
/// The memory is excluded from core dumps and from forked children. There is no `==`, no description and no copy; the
/// compiler refuses them.
@safe public struct SecretBytes: ~Copyable, @unchecked Sendable {
    /// The arena's allocation, of which the bytes may be a part.
    private let slot: UnsafeMutableRawPointer
    private let slotLength: Int
    private let base: UnsafeMutableRawPointer
    private let process: UInt64

    /// The number of bytes, 0 or more.
    public let count: Int

    /// - Throws: `.outOfMemory` if the system provides no more; `.unavailable` if libsodium cannot start.
    public init(zeroed count: Int) throws(CryptoError) {
        precondition(count >= 0)
        process = ForkMark.process
        unsafe slot = try unsafe SecretArena.allocate(count)
        slotLength = count
        unsafe base = unsafe slot
        self.count = count
    }

    private init(copyingApart other: borrowing SecretBytes) throws(CryptoError) {
        process = ForkMark.process
        unsafe slot = try unsafe SecretArena.allocate(other.count, apart: true)
        slotLength = other.count
        unsafe base = unsafe slot
        count = other.count
        // Both have `count` bytes.
        unsafe base.copyMemory(from: other.base, byteCount: other.count)
    }

    /// A part of the bytes of `whole`, which it replaces.
    private init(_ range: Range<Int>, of whole: consuming SecretBytes) {
        precondition(range.lowerBound >= 0 && range.upperBound <= whole.count)
        process = whole.process
        unsafe slot = unsafe whole.slot
        slotLength = whole.slotLength
        unsafe base = unsafe whole.base + range.lowerBound
        count = range.count
        whole.giveUp()
    }

    /// Ends without a wipe: another value has taken over the memory.
    private consuming func giveUp() { discard self }

    /// Copies bytes that the caller owns and wipes.
    public init(copying bytes: Span<UInt8>) throws(CryptoError) {
        try self.init(zeroed: bytes.count)
        // Both buffers have `count` bytes and cannot overlap: the destination is fresh.
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe base.copyMemory(from: start, byteCount: count) }
        }
    }

    /// Random bytes from the kernel. The corresponding C function is `randombytes_buf`.
    public init(random count: Int) throws(CryptoError) {
        try self.init(zeroed: count)
        unsafe randombytes_buf(base, count)
    }

    deinit { unsafe SecretArena.release(slot, count: slotLength, process: process) }

    /// Lends the bytes for the duration of the call.
    public borrowing func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(unsafe Span(_unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count))
    }

    /// Lends the bytes to be changed in place.
    public mutating func withMutableBytes<R: ~Copyable, E: Error>(_ body: (inout MutableSpan<UInt8>) throws(E) -> R)
        throws(E) -> R
    {
        var span = unsafe MutableSpan<UInt8>(_unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count)
        return try body(&span)
    }

    /// Overwrites bytes from `offset` on; all new bytes must fit.
    public mutating func replace(at offset: Int, with bytes: Span<UInt8>) {
        precondition(offset >= 0 && bytes.count <= count - offset)
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                unsafe (base + offset).copyMemory(from: start, byteCount: source.count)
            }
        }
    }

    /// Copies the bytes to memory of their own.
    public borrowing func copy() throws(CryptoError) -> SecretBytes {
        try withBytes { bytes throws(CryptoError) in try SecretBytes(copying: bytes) }
    }

    /// Copies some of the bytes.
    public borrowing func copy(of range: Range<Int>) throws(CryptoError) -> SecretBytes {
        try withBytes { bytes throws(CryptoError) in try SecretBytes(copying: bytes.extracting(range)) }
    }

    /// Restricts the value to the range, in place; the other bytes are wiped together with it.
    package consuming func narrowed(to range: Range<Int>) -> SecretBytes { SecretBytes(range, of: self) }

    /// Whether keys are stored in memory inaccessible even to the kernel, if it supports that (memfd_secret(2), Linux
    /// 5.14). The kernel cannot hibernate while such memory is in use, so only processes that keep keys for long
    /// request it.
    package static var keepsKeysApart: Bool {
        get { KeysApart.isWanted.load(ordering: .relaxed) }
        set { KeysApart.isWanted.store(newValue, ordering: .relaxed) }
    }

    /// The bytes in memory of that kind, if wanted. No system call can then read or write them, so they cannot be used
    /// as an I/O buffer.
    package consuming func keptApart() throws(CryptoError) -> SecretBytes {
        guard SecretBytes.keepsKeysApart else { return self }
        return try SecretBytes(copyingApart: self)
    }

    /// The number of secret bytes in memory that the kernel did not lock (RLIMIT_MEMLOCK), so that they could reach the
    /// swap space.
    package static var unlockedByteCount: Int { SecretArena.unlockedBytes }

    borrowing func withPointer<R, E: Error>(_ body: (UnsafeMutablePointer<UInt8>) throws(E) -> R) throws(E) -> R {
        try unsafe body(base.assumingMemoryBound(to: UInt8.self))
    }
}

private enum KeysApart {
    static let isWanted = Atomic(false)
}

/// A secret shared by several values: read-only, wiped with the last reference.
public final class Secret: Sendable, ExpressibleByStringLiteral {
    /// The bytes, lent by ``SecretBytes/withBytes(_:)``.
    public let bytes: SecretBytes

    /// Takes the bytes over, without a copy.
    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// A literal in the program's own text, which is not secret to readers of the program.
    public convenience init(stringLiteral literal: StaticString) {
        // A literal's bytes live as long as the process.
        let buffer = unsafe UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
        do throws(CryptoError) {
            self.init(try SecretBytes(copying: unsafe Span(_unsafeElements: buffer)))
        } catch {
            // A literal cannot throw, and a missing secret must not be mistaken for an empty one.
            fatalError("no memory for a secret")
        }
    }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Returns whether another secret has the same bytes, in a time that depends only on their number.
    package func isEqual(to other: Secret) -> Bool {
        withBytes { a in other.withBytes { b in isEqualInConstantTime(a, b) } }
    }

    /// Lends the bytes for the duration of the call.
    public func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try bytes.withBytes(body)
    }
}
