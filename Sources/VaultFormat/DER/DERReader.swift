// SPDX-License-Identifier: Apache-2.0

/// Reads DER elements (X.690) with tags below 31 and lengths in their shortest form. Keeps only ranges: the bytes,
/// which may be secret, stay in place and are lent to every call.
package struct DERReader: Sendable {
    private var next: Int
    private let end: Int

    /// An element: its tag, its content, and its start.
    package struct Element: Hashable, Sendable {
        package let tag: UInt8
        package let content: Range<Int>
        package let start: Int

        /// The tag, the length and the content.
        package var whole: Range<Int> { start..<content.upperBound }
    }

    /// - Parameter range: the part of the bytes that may be read.
    package init(_ range: Range<Int>) { (next, end) = (range.lowerBound, range.upperBound) }

    package init(_ bytes: Span<UInt8>) { self.init(0..<bytes.count) }

    package var isAtEnd: Bool { next == end }

    /// The tag of the next element; `nil` at the end.
    package func tag(in bytes: Span<UInt8>) -> UInt8? { next < end ? bytes[next] : nil }

    /// The next element of any kind; `nil` if it is not DER or exceeds the end.
    package mutating func element(of bytes: Span<UInt8>) -> Element? {
        var place = next
        func byte() -> UInt8? {
            guard place < end else { return nil }
            defer { place += 1 }
            return bytes[place]
        }
        guard let tag = byte(), tag & 0x1f != 0x1f, var length = byte().map(Int.init) else { return nil }
        if length >= 0x80 {
            let octets = length - 0x80
            guard (1...4).contains(octets), end - place >= octets, bytes[place] != 0 else { return nil }
            length = 0
            for _ in 0..<octets { length = length << 8 | Int(byte() ?? 0) }
            guard length >= 0x80 else { return nil }
        }
        guard length <= end - place else { return nil }
        let element = Element(tag: tag, content: place..<place + length, start: next)
        next = place + length
        return element
    }

    /// The content of the next element. Returns `nil` if it has another tag, without advancing, or is not DER.
    package mutating func take(_ tag: UInt8, of bytes: Span<UInt8>) -> Range<Int>? {
        guard self.tag(in: bytes) == tag else { return nil }
        return element(of: bytes)?.content
    }

    /// Reads a nonnegative INTEGER in its shortest form. Returns the range of its bytes without the zero byte that
    /// keeps it from being negative; empty for zero.
    package mutating func takeNumber(of bytes: Span<UInt8>) -> Range<Int>? {
        guard let content = take(DERTag.integer, of: bytes), let first = content.first, bytes[first] < 0x80 else {
            return nil
        }
        guard bytes[first] == 0 else { return content }
        guard content.count == 1 || bytes[first + 1] >= 0x80 else { return nil }
        return content.dropFirst()
    }

    /// The content of the next element, a BIT STRING of whole bytes.
    package mutating func takeBits(of bytes: Span<UInt8>) -> Range<Int>? {
        guard let content = take(DERTag.bitString, of: bytes), let unused = content.first, bytes[unused] == 0 else {
            return nil
        }
        return content.dropFirst()
    }
}

/// The tags of X.690 in use.
package enum DERTag {
    package static let boolean: UInt8 = 0x01
    package static let integer: UInt8 = 0x02
    package static let bitString: UInt8 = 0x03
    package static let octetString: UInt8 = 0x04
    package static let null: UInt8 = 0x05
    package static let objectIdentifier: UInt8 = 0x06
    package static let utf8String: UInt8 = 0x0c
    package static let printableString: UInt8 = 0x13
    package static let t61String: UInt8 = 0x14
    package static let ia5String: UInt8 = 0x16
    package static let utcTime: UInt8 = 0x17
    package static let generalizedTime: UInt8 = 0x18
    package static let universalString: UInt8 = 0x1c
    package static let bmpString: UInt8 = 0x1e
    package static let sequence: UInt8 = 0x30
    package static let set: UInt8 = 0x31
}
