// SPDX-License-Identifier: Apache-2.0

/// Reads integers and byte ranges from an array, front to back; never traps on short input.
@usableFromInline package struct ByteReader {
    @usableFromInline package let bytes: [UInt8]
    @usableFromInline var place: SpanReader

    @inlinable package init(_ bytes: [UInt8]) { self.init(bytes, bytes.indices) }

    /// Reads only the bytes of the range.
    @inlinable package init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        place = SpanReader(range)
    }

    @inlinable package var offset: Int { place.offset }
    @inlinable package var remaining: Int { place.remaining }

    /// Skips `count` bytes and returns their range.
    @inlinable package mutating func take(_ count: Int, _ field: FormatField) throws(FormatError) -> Range<Int> {
        try place.take(count, field)
    }

    @inlinable package mutating func integer<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ type: I.Type, _ field: FormatField
    )
        throws(FormatError) -> I
    {
        let range = try take(MemoryLayout<I>.size, field)
        return bytes.span.integer(at: range.lowerBound)
    }
}

extension Span<UInt8> {
    /// The little-endian integer at `offset`, which the caller has checked.
    @inlinable @inline(__always)
    package func integer<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        at offset: Int, as type: I.Type = I.self
    ) -> I {
        I(littleEndian: load(at: offset))
    }

    /// A copy of sixteen bytes.
    @inlinable @inline(__always)
    package func sixteen(at offset: Int) -> [16 of UInt8] { load(at: offset) }

    /// Loads a value of which every bit pattern is valid, from bytes within the span: a loop over single bytes costs
    /// fifteen times as much.
    @inlinable @inline(__always)
    func load<T: BitwiseCopyable>(at offset: Int) -> T {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self)
    }

    /// Whether the bytes are text, which nearly always is ASCII.
    @inlinable package var isUTF8: Bool {
        var offset = 0
        while offset + 8 <= count, integer(at: offset, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { offset += 8 }
        while offset < count, self[offset] < 0x80 { offset += 1 }
        return offset == count || (try? UTF8Span(validating: extracting(offset...))) != nil
    }

    /// Whether every byte of the range is zero.
    @inlinable package func isZero(_ range: Range<Int>) -> Bool {
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound {
            guard integer(at: offset, as: UInt64.self) == 0 else { return false }
            offset += 8
        }
        for index in offset..<range.upperBound where self[index] != 0 { return false }
        return true
    }

    /// A copy of the bytes in the range.
    @inlinable package func array(_ range: Range<Int>) -> [UInt8] {
        // The buffer is read before the span ends.
        unsafe extracting(range).withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// The range as text; invalid UTF-8 becomes U+FFFD.
    package func text(_ range: Range<Int>) -> String { String(decoding: array(range), as: UTF8.self) }

    /// Whether both spans contain the same bytes.
    @inlinable package func elementsEqual(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while offset + 8 <= count {
            guard integer(at: offset, as: UInt64.self) == other.integer(at: offset) else { return false }
            offset += 8
        }
        for index in offset..<count where self[index] != other[index] { return false }
        return true
    }
}

extension InlineArray where Element == UInt8 {
    /// Stores an integer in little-endian order at `offset`, where there must be room: appending a dozen integers one
    /// by one costs twenty times as much.
    @inlinable @inline(__always)
    package mutating func store<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_ value: I, at offset: Int) {
        precondition(offset >= 0 && offset <= count - MemoryLayout<I>.size)
        var span = mutableSpan
        // The integer lies within the array.
        unsafe span.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: I.self)
        }
    }

    /// Stores sixteen bytes at `offset`.
    @inlinable @inline(__always)
    package mutating func store(_ bytes: [16 of UInt8], at offset: Int) {
        store(bytes.span.integer(at: 0, as: UInt64.self), at: offset)
        store(bytes.span.integer(at: 8, as: UInt64.self), at: offset + 8)
    }
}

extension [UInt8] {
    @inlinable package mutating func append<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(integer value: I)
    {
        // The bytes are read before the closure ends.
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }

    @inlinable package mutating func append(_ bytes: Span<UInt8>) {
        // Appending nothing would make the standard library write to the empty array that all threads share.
        guard !bytes.isEmpty else { return }
        // The buffer is read before the span ends.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    @inlinable package mutating func append<let n: Int>(_ bytes: [n of UInt8]) { append(bytes.span) }

    @inlinable package mutating func appendZeros(_ count: Int) { append(contentsOf: repeatElement(0, count: count)) }
}
