// SPDX-License-Identifier: Apache-2.0
import CSodium
import Synchronization

/// Secret bytes in locked, guarded memory: lent, never returned, wiped when they go.
///
/// The memory is in no core dump and in no forked child. There is no `==`, no description and no copy; the compiler
/// refuses them.
@safe public struct SecretBytes: ~Copyable, @unchecked Sendable {
    /// What the arena gave, of which the bytes may be a part.
    private let slot: UnsafeMutableRawPointer
    private let slotLength: Int
    private let base: UnsafeMutableRawPointer
    private let process: UInt64

    /// The number of bytes, 0 or more.
    public let count: Int

    /// - Throws: `.outOfMemory` when the system gives no more; `.unavailable` when libsodium cannot start.
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

    /// A part of the bytes of `whole`, in whose place it comes.
    private init(_ range: Range<Int>, of whole: consuming SecretBytes) {
        precondition(range.lowerBound >= 0 && range.upperBound <= whole.count)
        process = whole.process
        unsafe slot = unsafe whole.slot
        slotLength = whole.slotLength
        unsafe base = unsafe whole.base + range.lowerBound
        count = range.count
        whole.giveUp()
    }

    /// Ends without a wipe: another value has taken the memory over.
    private consuming func giveUp() { discard self }

    /// Copies bytes that the caller owns, and wipes, elsewhere.
    public init(copying bytes: Span<UInt8>) throws(CryptoError) {
        try self.init(zeroed: bytes.count)
        // Both runs have `count` bytes and cannot overlap: the destination is fresh.
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

    public borrowing func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(unsafe Span(_unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count))
    }

    public mutating func withMutableBytes<R: ~Copyable, E: Error>(_ body: (inout MutableSpan<UInt8>) throws(E) -> R)
        throws(E) -> R
    {
        var span = unsafe MutableSpan<UInt8>(_unsafeStart: base.assumingMemoryBound(to: UInt8.self), count: count)
        return try body(&span)
    }

    /// Copies bytes over those from `offset` on; all of them must fit.
    public mutating func replace(at offset: Int, with bytes: Span<UInt8>) {
        precondition(offset >= 0 && bytes.count <= count - offset)
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                unsafe (base + offset).copyMemory(from: start, byteCount: source.count)
            }
        }
    }

    /// A second copy in memory of its own.
    public borrowing func copy() throws(CryptoError) -> SecretBytes {
        try withBytes { bytes throws(CryptoError) in try SecretBytes(copying: bytes) }
    }

    /// A copy of some of the bytes.
    public borrowing func copy(of range: Range<Int>) throws(CryptoError) -> SecretBytes {
        try withBytes { bytes throws(CryptoError) in try SecretBytes(copying: bytes.extracting(range)) }
    }

    /// The bytes of the range alone, where they lie; the others are wiped with them.
    public consuming func narrowed(to range: Range<Int>) -> SecretBytes { SecretBytes(range, of: self) }

    /// Whether keys lie in memory that the kernel itself cannot look into, where it has such memory (memfd_secret(2),
    /// Linux 5.14). It hibernates no machine in which some is in use, so a process asks for it that keeps keys for
    /// long.
    public static var keepsKeysApart: Bool {
        get { KeysApart.isWanted.load(ordering: .relaxed) }
        set { KeysApart.isWanted.store(newValue, ordering: .relaxed) }
    }

    /// The bytes, apart if that is wanted. No system call can read or write them then: nothing is read into them, nor
    /// written from them.
    public consuming func keptApart() throws(CryptoError) -> SecretBytes {
        guard SecretBytes.keepsKeysApart else { return self }
        return try SecretBytes(copyingApart: self)
    }

    /// How many bytes of secrets lie in memory that the kernel would not lock (RLIMIT_MEMLOCK), so that they could
    /// reach the swap space.
    public static var unlockedByteCount: Int { SecretArena.unlockedBytes }

    borrowing func withPointer<R, E: Error>(_ body: (UnsafeMutablePointer<UInt8>) throws(E) -> R) throws(E) -> R {
        try unsafe body(base.assumingMemoryBound(to: UInt8.self))
    }
}

private enum KeysApart {
    static let isWanted = Atomic(false)
}

/// A secret that several values share: read-only, wiped when the last of them goes.
public final class Secret: Sendable, ExpressibleByStringLiteral {
    public let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// A literal of the program's own text, which is no secret to a reader of the program.
    public convenience init(stringLiteral literal: StaticString) {
        // A literal's bytes live as long as the process.
        let buffer = unsafe UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
        do throws(CryptoError) {
            self.init(try SecretBytes(copying: unsafe Span(_unsafeElements: buffer)))
        } catch {
            // A literal cannot throw, and a secret that is missing must not pass for an empty one.
            fatalError("no memory for a secret")
        }
    }

    /// The number of bytes.
    public var count: Int { bytes.count }

    public func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try bytes.withBytes(body)
    }
}
