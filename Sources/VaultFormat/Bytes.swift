// SPDX-License-Identifier: Apache-2.0

/// Reads integers and runs of bytes from an array, front to back; never traps on short input.
public struct ByteReader {
    public let bytes: [UInt8]
    public private(set) var offset: Int
    private let end: Int

    public init(_ bytes: [UInt8]) { self.init(bytes, bytes.indices) }

    /// Reads the bytes of the range alone.
    public init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    public var remaining: Int { end - offset }

    /// Steps over `count` bytes and returns where they lie.
    public mutating func take(_ count: Int, _ field: FormatField) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= remaining else { throw .truncated(field) }
        defer { offset += count }
        return offset..<offset + count
    }

    public mutating func integer<I: FixedWidthInteger & UnsignedInteger>(_ type: I.Type, _ field: FormatField) throws(FormatError) -> I {
        let range = try take(MemoryLayout<I>.size, field)
        return bytes.span.integer(at: range.lowerBound)
    }
}

extension Span<UInt8> {
    /// The little-endian integer at `offset`; the caller has checked that it is there.
    @inlinable @inline(__always)
    public func integer<I: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: I.Type = I.self) -> I {
        // One check of the bounds for all of its bytes.
        let bytes = extracting(offset..<offset + MemoryLayout<I>.size)
        var value: I = 0
        for index in 0..<MemoryLayout<I>.size { value |= I(truncatingIfNeeded: bytes[index]) << I(truncatingIfNeeded: 8 * index) }
        return value
    }

    /// Whether every byte of the range is zero.
    @inlinable public func isZero(_ range: Range<Int>) -> Bool {
        for index in range where self[index] != 0 { return false }
        return true
    }

    /// A copy of the bytes in the range.
    @inlinable public func array(_ range: Range<Int>) -> [UInt8] {
        var output: [UInt8] = []
        output.append(extracting(range))
        return output
    }

    /// A copy of sixteen bytes.
    @inlinable public func sixteen(at offset: Int) -> [16 of UInt8] { .init { self[offset + $0] } }

    /// Whether both spans hold the same bytes.
    @inlinable public func elementsEqual(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}

extension [UInt8] {
    @inlinable public mutating func append<I: FixedWidthInteger & UnsignedInteger>(integer value: I) {
        for index in 0..<MemoryLayout<I>.size { append(UInt8(truncatingIfNeeded: value >> I(8 * index))) }
    }

    @inlinable public mutating func append(_ bytes: Span<UInt8>) {
        // For nothing the standard library writes to the empty array that all threads share.
        guard !bytes.isEmpty else { return }
        append(addingCapacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }

    @inlinable public mutating func append<let n: Int>(_ bytes: [n of UInt8]) { append(bytes.span) }

    @inlinable public mutating func appendZeros(_ count: Int) { append(contentsOf: repeatElement(0, count: count)) }
}
