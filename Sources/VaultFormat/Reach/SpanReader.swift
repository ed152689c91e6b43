// SPDX-License-Identifier: Apache-2.0

/// A position in a span that is read front to back; never traps on short input.
///
/// The same span is passed to each call, since it cannot be stored.
@usableFromInline package struct SpanReader: Sendable {
    @usableFromInline package private(set) var offset: Int
    @usableFromInline let end: Int

    @inlinable package init(_ range: Range<Int>) { (offset, end) = (range.lowerBound, range.upperBound) }

    @inlinable package init(_ bytes: Span<UInt8>) { self.init(0..<bytes.count) }

    @inlinable package var remaining: Int { end - offset }

    /// Skips `count` bytes and returns their range.
    @usableFromInline package mutating func take(_ count: Int, _ field: FormatField) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= remaining else { throw .truncated(field) }
        defer { offset += count }
        return offset..<offset + count
    }

    package mutating func integer<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ type: I.Type, of bytes: Span<UInt8>, _ field: FormatField
    )
        throws(FormatError) -> I
    {
        bytes.extracting(try take(MemoryLayout<I>.size, field)).integer(at: 0)
    }

    package mutating func sixteen(of bytes: Span<UInt8>, _ field: FormatField) throws(FormatError) -> Bytes16 {
        Bytes16(bytes.extracting(try take(Bytes16.length, field)))
    }

    package mutating func thirtyTwo(of bytes: Span<UInt8>, _ field: FormatField) throws(FormatError) -> Bytes32 {
        Bytes32(bytes.extracting(try take(Bytes32.length, field)))
    }

    /// Reads text preceded by its length in one byte.
    mutating func name(of bytes: Span<UInt8>, _ field: FormatField) throws(FormatError) -> String {
        let length = Int(try integer(UInt8.self, of: bytes, field))
        let place = try take(length, field)
        guard length > 0 else { return "" }
        guard let text = try? UTF8Span(validating: bytes.extracting(place)) else { throw .invalid(field) }
        return String(copying: text)
    }

    /// Checks that `count` entries of at least `length` bytes each can follow, before memory for them is allocated.
    func expect(_ count: Int, of length: Int, _ field: FormatField) throws(FormatError) {
        guard count <= remaining / length else { throw .truncated(field) }
    }

    func expectEnd(_ field: FormatField) throws(FormatError) {
        guard remaining == 0 else { throw .invalid(field) }
    }
}
