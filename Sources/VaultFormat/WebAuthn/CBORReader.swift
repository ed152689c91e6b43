// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not a value in canonical CBOR.
package enum CBORFlaw: Error, Equatable, Sendable {
    case truncated
    /// A head that is longer than necessary, or has a reserved form.
    case longHead
    /// An indefinite length, a tag, a floating-point number, or an unknown simple value.
    case unsupported
    /// Keys of a map that are duplicate or not in ascending order.
    case keyOrder
    /// A text that is not UTF-8.
    case text
    /// More than four levels of arrays and maps.
    case tooDeep
    /// More than 64 KiB.
    case tooLong
    /// Bytes after the end of the value.
    case trailing
}

/// Reads canonical CBOR (CTAP 2.1, 8) front to back: exactly the bytes that ``CBORValue/encoded`` produces.
///
/// A length never causes an allocation: elements are counted against the remaining bytes first.
package struct CBORReader: Sendable {
    /// The maximum number of bytes; the largest credential has some 2 KiB.
    package static let longest = 64 << 10
    /// The maximum nesting of CTAP 2.1, 8.
    package static let deepest = 4

    package private(set) var offset: Int

    /// - Parameter offset: the position of the first value, within the bytes that are passed to each call.
    package init(at offset: Int = 0) { self.offset = offset }

    /// Reads bytes that are a single value.
    package static func read(_ bytes: Span<UInt8>) throws(CBORFlaw) -> CBORValue {
        var reader = CBORReader()
        let value = try reader.value(of: bytes)
        guard reader.offset == bytes.count else { throw .trailing }
        return value
    }

    /// Reads the next value.
    package mutating func value(of bytes: Span<UInt8>) throws(CBORFlaw) -> CBORValue {
        guard bytes.count - offset <= CBORReader.longest else { throw .tooLong }
        return try value(of: bytes, depth: 0)
    }

    private mutating func value(of bytes: Span<UInt8>, depth: Int) throws(CBORFlaw) -> CBORValue {
        guard offset < bytes.count else { throw .truncated }
        switch bytes[offset] & CBORMajor.mask {
        case CBORMajor.unsigned: return .unsigned(try argument(of: bytes))
        case CBORMajor.negative: return .negative(try argument(of: bytes))
        case CBORMajor.bytes: return .bytes(bytes.array(try string(of: bytes)))
        case CBORMajor.text:
            let place = try string(of: bytes)
            guard let text = try? UTF8Span(validating: bytes.extracting(place)) else { throw .text }
            return .text(String(copying: text))
        case CBORMajor.array:
            let count = try count(of: bytes, smallest: 1, depth: depth)
            var values: [CBORValue] = []
            for _ in 0..<count { values.append(try value(of: bytes, depth: depth + 1)) }
            return .array(values)
        case CBORMajor.map: return .map(try pairs(of: bytes, depth: depth))
        case CBORMajor.simple:
            let value: CBORValue
            switch bytes[offset] {
            case CBORSimple.no: value = .boolean(false)
            case CBORSimple.yes: value = .boolean(true)
            case CBORSimple.null: value = .null
            default: throw .unsupported
            }
            offset += 1
            return value
        default: throw .unsupported
        }
    }

    private mutating func pairs(of bytes: Span<UInt8>, depth: Int) throws(CBORFlaw) -> [CBORValue.Pair] {
        let count = try count(of: bytes, smallest: 2, depth: depth)
        var pairs: [CBORValue.Pair] = []
        var last = offset..<offset
        for index in 0..<count {
            let start = offset
            let key = try value(of: bytes, depth: depth + 1)
            let place = start..<offset
            guard index == 0 || CBORReader.precedes(last, place, of: bytes) else { throw .keyOrder }
            last = place
            pairs.append(CBORValue.Pair(key, try value(of: bytes, depth: depth + 1)))
        }
        return pairs
    }

    private static func precedes(_ first: Range<Int>, _ second: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        for place in 0..<min(first.count, second.count) {
            let (a, b) = (bytes[first.lowerBound + place], bytes[second.lowerBound + place])
            if a != b { return a < b }
        }
        return first.count < second.count
    }

    /// Reads the head of an array or a map.
    ///
    /// - Parameter smallest: the minimum length of an element in bytes.
    private mutating func count(of bytes: Span<UInt8>, smallest: Int, depth: Int) throws(CBORFlaw) -> Int {
        guard depth < CBORReader.deepest else { throw .tooDeep }
        let argument = try argument(of: bytes)
        guard argument <= UInt64((bytes.count - offset) / smallest) else { throw .truncated }
        return Int(argument)
    }

    /// Reads the head of a string and skips the string; returns its range.
    private mutating func string(of bytes: Span<UInt8>) throws(CBORFlaw) -> Range<Int> {
        let argument = try argument(of: bytes)
        guard argument <= UInt64(bytes.count - offset) else { throw .truncated }
        defer { offset += Int(argument) }
        return offset..<offset + Int(argument)
    }

    private mutating func argument(of bytes: Span<UInt8>) throws(CBORFlaw) -> UInt64 {
        let information = bytes[offset] & ~CBORMajor.mask
        let length: Int
        switch information {
        case ..<24: length = 0
        case 24...27: length = 1 << Int(information - 24)
        case 31: throw .unsupported
        default: throw .longHead
        }
        guard length < bytes.count - offset else { throw .truncated }
        offset += 1
        guard length > 0 else { return UInt64(information) }
        var argument: UInt64 = 0
        for _ in 0..<length {
            argument = argument << 8 | UInt64(bytes[offset])
            offset += 1
        }
        // The smallest number that does not fit into the next shorter form.
        let least: UInt64 = length == 1 ? 24 : 1 << UInt64(4 * length)
        guard argument >= least else { throw .longHead }
        return argument
    }
}
