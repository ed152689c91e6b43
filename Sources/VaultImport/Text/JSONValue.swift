// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A value of a JSON text (RFC 8259) that stays in locked memory: Foundation's decoder would make a `String` of each
/// secret.
package struct JSONValue {
    fileprivate indirect enum Kind {
        case null, boolean(Bool), number, string
        case array([Node])
        case object([(key: String, value: Node)])
    }

    fileprivate struct Node {
        let kind: Kind
        let range: Range<Int>
    }

    private let document: Document
    private let node: Node

    fileprivate init(_ document: Document, _ node: Node) { (self.document, self.node) = (document, node) }

    /// - Throws: `.malformed` with a line.
    package init(_ document: Document) throws(ImportError) {
        self.document = document
        node = try document.bytes.withBytes { bytes throws(ImportError) in
            var parser = JSONParser(document, document.start)
            let node = try parser.value(bytes, depth: 0)
            parser.skipBlanks(bytes)
            guard parser.offset == bytes.count else { throw parser.failure("something follows the end") }
            return node
        }
    }

    /// A member of an object, which is no null.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = node.kind, let member = members.first(where: { $0.key == key }) else {
            return nil
        }
        if case .null = member.value.kind { return nil }
        return JSONValue(document, member.value)
    }

    /// The elements of an array; none of anything else.
    package var elements: [JSONValue] {
        guard case .array(let elements) = node.kind else { return [] }
        return elements.map { JSONValue(document, $0) }
    }

    /// The members of an object; none of anything else.
    package var members: [(key: String, value: JSONValue)] {
        guard case .object(let members) = node.kind else { return [] }
        return members.map { ($0.key, JSONValue(document, $0.value)) }
    }

    package var isObject: Bool { if case .object = node.kind { true } else { false } }
    package var isArray: Bool { if case .array = node.kind { true } else { false } }
    package var isString: Bool { if case .string = node.kind { true } else { false } }

    /// Where a string lies between its quotes, as it is written.
    var stringRange: Range<Int>? { isString ? node.range : nil }

    package var boolean: Bool? { if case .boolean(let value) = node.kind { value } else { nil } }

    /// A number that is an integer of 64 bits.
    package var integer: Int? { if case .number = node.kind { Int(document.text(node.range)) } else { nil } }

    /// A string, or a number or a truth as it is written; for what is no secret.
    package var text: String? {
        switch node.kind {
        case .string:
            document.bytes.withBytes { bytes in
                String(decoding: JSONParser.unescaped(bytes, node.range) ?? bytes.array(node.range), as: UTF8.self)
            }
        case .number, .boolean: document.text(node.range)
        default: nil
        }
    }

    /// A string, as a secret; a number or a truth as it is written. Nil for what is neither, and for an empty string.
    package func secret() throws(ImportError) -> Secret? {
        switch node.kind {
        case .string:
            guard !node.range.isEmpty else { return nil }
            return try secured { () throws(CryptoError) in
                var buffer = try SecretBuffer(capacity: node.range.count)
                try document.bytes.withBytes { bytes throws(CryptoError) in
                    try JSONParser.unescape(bytes, node.range) { byte throws(CryptoError) in try buffer.append(byte) }
                }
                return Secret(try buffer.take())
            }
        case .number, .boolean: return try document.secret(node.range)
        default: return nil
        }
    }

    /// The JSON text of the value as it came.
    func source() throws(ImportError) -> Secret {
        let range = isString ? node.range.lowerBound - 1..<node.range.upperBound + 1 : node.range
        return try document.secret(range)
    }

    var line: Int { document.line(at: node.range.lowerBound) }
}

/// Reads values front to back; never traps, and goes no deeper than what any product writes.
private struct JSONParser {
    private static let depthLimit = 64
    let document: Document
    var offset: Int

    init(_ document: Document, _ offset: Int) { (self.document, self.offset) = (document, offset) }

    func failure(_ flaw: String) -> ImportError { .line(document.line(at: offset), flaw) }

    mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while offset < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[offset]) { offset += 1 }
    }

    mutating func value(_ bytes: Span<UInt8>, depth: Int) throws(ImportError) -> JSONValue.Node {
        guard depth < JSONParser.depthLimit else { throw failure("the values are nested too deeply") }
        skipBlanks(bytes)
        guard offset < bytes.count else { throw failure("the text ends early") }
        let start = offset
        switch bytes[offset] {
        case UInt8(ascii: "{"):
            let members = try members(bytes, depth: depth)
            return JSONValue.Node(kind: .object(members), range: start..<offset)
        case UInt8(ascii: "["):
            let elements = try elements(bytes, depth: depth)
            return JSONValue.Node(kind: .array(elements), range: start..<offset)
        case UInt8(ascii: "\""): return JSONValue.Node(kind: .string, range: try string(bytes))
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
            return JSONValue.Node(kind: .number, range: start..<offset)
        }
    }

    private mutating func members(
        _ bytes: Span<UInt8>, depth: Int
    ) throws(ImportError) -> [(key: String, value: JSONValue.Node)] {
        var members: [(key: String, value: JSONValue.Node)] = []
        offset += 1
        skipBlanks(bytes)
        if take("}", bytes) { return members }
        while true {
            skipBlanks(bytes)
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { throw failure("a name is missing") }
            let range = try string(bytes)
            let key = String(decoding: JSONParser.unescaped(bytes, range) ?? bytes.array(range), as: UTF8.self)
            skipBlanks(bytes)
            guard take(":", bytes) else { throw failure("a colon is missing") }
            members.append((key, try value(bytes, depth: depth + 1)))
            skipBlanks(bytes)
            if take(",", bytes) { continue }
            guard take("}", bytes) else { throw failure("an object does not end") }
            return members
        }
    }

    private mutating func elements(_ bytes: Span<UInt8>, depth: Int) throws(ImportError) -> [JSONValue.Node] {
        var elements: [JSONValue.Node] = []
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
        _ word: StaticString, _ kind: JSONValue.Kind, _ bytes: Span<UInt8>
    ) throws(ImportError) -> JSONValue.Node {
        let text = Array("\(word)".utf8)
        let start = offset
        guard bytes.count - offset >= text.count, zip(offset..., text).allSatisfy({ bytes[$0] == $1 }) else {
            throw failure("a value is missing")
        }
        offset += text.count
        return JSONValue.Node(kind: kind, range: start..<offset)
    }

    /// Steps over a string and says where it lies between its quotes.
    private mutating func string(_ bytes: Span<UInt8>) throws(ImportError) -> Range<Int> {
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

    static func isNumber(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, range.count <= 64 else { return false }
        let text = String(decoding: bytes.array(range), as: UTF8.self)
        return text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(text) != nil
            && !text.hasPrefix("+")
    }

    /// What the escape at a backslash means, and how many bytes it has. Nil: nothing.
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
            // A pair of units, or half of one, which stands for what cannot be said.
            guard unit < 0xdc00, index + 6 < bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                let low = self.unit(bytes, index + 6), (0xdc00..<0xe000).contains(low)
            else { return ("\u{fffd}", 6) }
            let value = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00)
            return Unicode.Scalar(value).map { ($0, 12) }
        default: return nil
        }
    }

    /// The number of `\uXXXX`.
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

    /// Hands on what a string means, byte by byte.
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

    /// Nil: there is no escape in it.
    static func unescaped(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8]? {
        guard bytes.firstIndex(of: UInt8(ascii: "\\"), in: range) != nil else { return nil }
        var output: [UInt8] = []
        unescape(bytes, range) { output.append($0) }
        return output
    }
}
