// SPDX-License-Identifier: Apache-2.0

/// A value of a JSON text (RFC 8259): its kind and position. The text itself is not copied, so it may be a secret: the
/// parser for all JSON that another program has written.
package struct JSONNode: Sendable {
    package indirect enum Kind: Sendable {
        case null, boolean(Bool), number, string
        case array([JSONNode])
        case object([(key: String, value: JSONNode)])
    }

    package let kind: Kind
    /// The range of the text; of a string, without its quotes but including escapes.
    package let range: Range<Int>

    /// Reads a text that is a single value.
    ///
    /// - Parameters:
    ///   - text: UTF-8.
    ///   - start: the offset at which it begins.
    package init(_ text: Span<UInt8>, from start: Int = 0) throws(JSONFlaw) {
        var parser = JSONParser(start)
        self = try parser.value(text, depth: 0)
        parser.skipBlanks(text)
        guard parser.offset == text.count else { throw parser.failure("something follows the end") }
    }

    fileprivate init(kind: Kind, range: Range<Int>) { (self.kind, self.range) = (kind, range) }

    /// The first member of an object with the name, if it is not null.
    package subscript(key: String) -> JSONNode? {
        guard case .object(let members) = kind, let member = members.first(where: { $0.key == key }) else { return nil }
        if case .null = member.value.kind { return nil }
        return member.value
    }

    package var isString: Bool { if case .string = kind { true } else { false } }

    package var isObject: Bool { if case .object = kind { true } else { false } }

    /// The elements of an array; empty for other kinds.
    package var elements: [JSONNode] { if case .array(let elements) = kind { elements } else { [] } }

    /// Passes on the unescaped bytes of a string, one by one.
    package func unescape<E: Error>(_ text: Span<UInt8>, _ write: (UInt8) throws(E) -> Void) throws(E) {
        try JSONParser.unescape(text, range, write)
    }

    /// The unescaped text of a string that is not secret.
    package func unescaped(_ text: Span<UInt8>) -> String {
        String(decoding: JSONParser.unescaped(text, range), as: UTF8.self)
    }
}

/// The position and reason of a JSON syntax error.
package struct JSONFlaw: Error, Equatable {
    package let offset: Int
    package let text: String
}

/// Parses values front to back; never traps, and limits nesting to more than any product writes.
private struct JSONParser {
    private static let depthLimit = 64
    var offset: Int

    init(_ offset: Int) { self.offset = offset }

    func failure(_ flaw: String) -> JSONFlaw { JSONFlaw(offset: offset, text: flaw) }

    mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while offset < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[offset]) { offset += 1 }
    }

    mutating func value(_ bytes: Span<UInt8>, depth: Int) throws(JSONFlaw) -> JSONNode {
        guard depth < JSONParser.depthLimit else { throw failure("the values are nested too deeply") }
        skipBlanks(bytes)
        guard offset < bytes.count else { throw failure("the text ends early") }
        let start = offset
        switch bytes[offset] {
        case UInt8(ascii: "{"):
            let members = try members(bytes, depth: depth)
            return JSONNode(kind: .object(members), range: start..<offset)
        case UInt8(ascii: "["):
            let elements = try elements(bytes, depth: depth)
            return JSONNode(kind: .array(elements), range: start..<offset)
        case UInt8(ascii: "\""): return JSONNode(kind: .string, range: try string(bytes))
        case UInt8(ascii: "t"): return try word("true", .boolean(true), bytes)
        case UInt8(ascii: "f"): return try word("false", .boolean(false), bytes)
        case UInt8(ascii: "n"): return try word("null", .null, bytes)
        default:
            let ends: [UInt8] = [0x20, 0x0a, 0x0d, 0x09] + Array(",]}".utf8)
            while offset < bytes.count, !ends.contains(bytes[offset]) { offset += 1 }
            guard JSONParser.isNumber(bytes, start..<offset) else {
                offset = start
                throw failure("a value is missing")
            }
            return JSONNode(kind: .number, range: start..<offset)
        }
    }

    private mutating func members(
        _ bytes: Span<UInt8>, depth: Int
    ) throws(JSONFlaw) -> [(key: String, value: JSONNode)] {
        var members: [(key: String, value: JSONNode)] = []
        offset += 1
        skipBlanks(bytes)
        if take("}", bytes) { return members }
        while true {
            skipBlanks(bytes)
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { throw failure("a name is missing") }
            let range = try string(bytes)
            let key = String(decoding: JSONParser.unescaped(bytes, range), as: UTF8.self)
            skipBlanks(bytes)
            guard take(":", bytes) else { throw failure("a colon is missing") }
            members.append((key, try value(bytes, depth: depth + 1)))
            skipBlanks(bytes)
            if take(",", bytes) { continue }
            guard take("}", bytes) else { throw failure("an object does not end") }
            return members
        }
    }

    private mutating func elements(_ bytes: Span<UInt8>, depth: Int) throws(JSONFlaw) -> [JSONNode] {
        var elements: [JSONNode] = []
        offset += 1
        skipBlanks(bytes)
        if take("]", bytes) { return elements }
        while true {
            elements.append(try value(bytes, depth: depth + 1))
            skipBlanks(bytes)
            if take(",", bytes) { continue }
            guard take("]", bytes) else { throw failure("an array does not end") }
            return elements
        }
    }

    private mutating func take(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func word(
        _ word: StaticString, _ kind: JSONNode.Kind, _ bytes: Span<UInt8>
    ) throws(JSONFlaw) -> JSONNode {
        let text = Array("\(word)".utf8)
        let start = offset
        guard bytes.count - offset >= text.count, zip(offset..., text).allSatisfy({ bytes[$0] == $1 }) else {
            throw failure("a value is missing")
        }
        offset += text.count
        return JSONNode(kind: kind, range: start..<offset)
    }

    /// Skips a string and returns the range between its quotes.
    private mutating func string(_ bytes: Span<UInt8>) throws(JSONFlaw) -> Range<Int> {
        let start = offset + 1
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                offset = index + 1
                return start..<index
            case UInt8(ascii: "\\"):
                let length = JSONParser.escape(bytes, index)?.length
                guard let length else {
                    offset = index
                    throw failure("an escape means nothing")
                }
                index += length
            case 0..<0x20:
                offset = index
                throw failure("a string has a control character")
            default: index += 1
            }
        }
        throw failure("a string does not end")
    }

    /// Whether the text is a number of RFC 8259, 6: digits before and after a point are required, leading zeros are not
    /// allowed.
    static func isNumber(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count <= 64 else { return false }
        var index = range.lowerBound
        func isOne(of characters: StaticString) -> Bool {
            index < range.upperBound && "\(characters)".utf8.contains(bytes[index])
        }
        /// Skips one or more digits.
        func digits() -> Bool {
            let start = index
            while isOne(of: "0123456789") { index += 1 }
            return index > start
        }
        if isOne(of: "-") { index += 1 }
        if isOne(of: "0") { index += 1 } else if !digits() { return false }
        if isOne(of: ".") {
            index += 1
            guard digits() else { return false }
        }
        if isOne(of: "eE") {
            index += 1
            if isOne(of: "+-") { index += 1 }
            guard digits() else { return false }
        }
        return index == range.upperBound
    }

    /// The scalar that an escape represents, and the escape's length in bytes; `nil` if invalid.
    private static func escape(_ bytes: Span<UInt8>, _ index: Int) -> (scalar: Unicode.Scalar, length: Int)? {
        guard index + 1 < bytes.count else { return nil }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""): return ("\"", 2)
        case UInt8(ascii: "\\"): return ("\\", 2)
        case UInt8(ascii: "/"): return ("/", 2)
        case UInt8(ascii: "b"): return ("\u{8}", 2)
        case UInt8(ascii: "f"): return ("\u{c}", 2)
        case UInt8(ascii: "n"): return ("\n", 2)
        case UInt8(ascii: "r"): return ("\r", 2)
        case UInt8(ascii: "t"): return ("\t", 2)
        case UInt8(ascii: "u"):
            guard let unit = unit(bytes, index) else { return nil }
            if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
            // A surrogate pair, or an unpaired surrogate, which becomes U+FFFD.
            guard unit < 0xdc00, index + 6 < bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                let low = self.unit(bytes, index + 6), (0xdc00..<0xe000).contains(low)
            else { return ("\u{fffd}", 6) }
            let value = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00)
            return Unicode.Scalar(value).map { ($0, 12) }
        default: return nil
        }
    }

    /// Returns the code unit of an escape sequence, `\u` and four hexadecimal digits.
    private static func unit(_ bytes: Span<UInt8>, _ index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index + 1] == UInt8(ascii: "u") else { return nil }
        var unit: UInt16 = 0
        for offset in 2..<6 {
            let byte = bytes[index + offset]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Passes on the unescaped bytes of a string, one by one.
    static func unescape<E: Error>(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ write: (UInt8) throws(E) -> Void
    ) throws(E) {
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == UInt8(ascii: "\\"), let (scalar, length) = escape(bytes, index) else {
                try write(bytes[index])
                index += 1
                continue
            }
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { try write(byte) }
            index += length
        }
    }

    static func unescaped(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        guard range.contains(where: { bytes[$0] == UInt8(ascii: "\\") }) else { return bytes.array(range) }
        var output: [UInt8] = []
        unescape(bytes, range) { output.append($0) }
        return output
    }
}
