// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat

/// XML property lists, in UTF-8: the ten elements of Apple's document type, comments, CDATA and the five named entities
/// of XML. Entities cannot be defined by a document, and none is fetched.
///
/// Programs that use the library need no libexpat, which only the import of KeePass files loads: those are streamed and
/// of any size, while a property list is in memory and has ten kinds of elements.
struct XMLPropertyListReader {
    private let bytes: [UInt8]
    private var offset = 0
    private var left = SecretValue.mostObjects

    static func read(_ bytes: [UInt8]) throws(ValueFormatError) -> SecretValue {
        var reader = XMLPropertyListReader(bytes)
        return try reader.document()
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var flaw: ValueFormatError { .malformed(offset: offset) }

    private mutating func document() throws(ValueFormatError) -> SecretValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
        let root = try tag()
        guard root.name == "plist", !root.isEnd, !root.isEmpty else { throw flaw }
        let value = try value(of: try tag(), depth: 0)
        try end(of: "plist")
        try skipMisc()
        guard offset == bytes.count else { throw flaw }
        return value
    }

    private struct Tag {
        let name: String
        /// `</name>`
        let isEnd: Bool
        /// `<name/>`
        let isEmpty: Bool
    }

    // MARK: Between the elements

    private func isHere(_ text: String) -> Bool {
        bytes.count - offset >= text.utf8.count && zip(bytes[offset...], text.utf8).allSatisfy { $0 == $1 }
    }

    private mutating func skip(behind text: String) throws(ValueFormatError) {
        let start = offset
        while offset < bytes.count {
            if isHere(text) { return offset += text.utf8.count }
            offset += 1
        }
        throw .malformed(offset: start)
    }

    /// White space, comments, the declaration and the document type.
    private mutating func skipMisc() throws(ValueFormatError) {
        while offset < bytes.count {
            if Self.isSpace(bytes[offset]) {
                offset += 1
            } else if isHere("<!--") {
                try skip(behind: "-->")
            } else if isHere("<?") {
                try skip(behind: "?>")
            } else if isHere("<!DOCTYPE") {
                let start = offset
                try skip(behind: ">")
                // Entities defined here could expand without bound.
                if bytes[start..<offset].contains(UInt8(ascii: "[")) { throw .malformed(offset: start) }
            } else {
                return
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private mutating func tag() throws(ValueFormatError) -> Tag {
        try skipMisc()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "<") else { throw flaw }
        offset += 1
        let isEnd = offset < bytes.count && bytes[offset] == UInt8(ascii: "/")
        if isEnd { offset += 1 }
        let start = offset
        while offset < bytes.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[offset]) { offset += 1 }
        let name = String(decoding: bytes[start..<offset], as: UTF8.self)
        // Attributes are ignored: that of `plist` is its version.
        let attributes = offset
        while offset < bytes.count, bytes[offset] != UInt8(ascii: ">") {
            guard bytes[offset] != UInt8(ascii: "<") else { throw flaw }
            offset += 1
        }
        guard offset < bytes.count, !name.isEmpty else { throw flaw }
        let isEmpty = offset > attributes && bytes[offset - 1] == UInt8(ascii: "/")
        let rest = bytes[attributes..<(isEmpty ? offset - 1 : offset)]
        guard name == "plist" || rest.allSatisfy(Self.isSpace), !isEnd || !isEmpty else { throw flaw }
        offset += 1
        return Tag(name: name, isEnd: isEnd, isEmpty: isEmpty)
    }

    private mutating func end(of name: String) throws(ValueFormatError) {
        let tag = try tag()
        guard tag.isEnd, tag.name == name else { throw flaw }
    }

    // MARK: The elements

    private mutating func value(of tag: Tag, depth: Int) throws(ValueFormatError) -> SecretValue {
        guard depth <= SecretValue.deepest else { throw .tooDeep }
        guard left > 0 else { throw .tooLarge }
        left -= 1
        guard !tag.isEnd else { throw flaw }
        switch tag.name {
        case "true", "false":
            if !tag.isEmpty { try end(of: tag.name) }
            return .bool(tag.name == "true")
        case "array":
            var array: [SecretValue] = []
            if tag.isEmpty { return .array([]) }
            while true {
                let next = try self.tag()
                if next.isEnd, next.name == "array" { return .array(array) }
                array.append(try value(of: next, depth: depth + 1))
            }
        case "dict":
            var dictionary: [String: SecretValue] = [:]
            if tag.isEmpty { return .dictionary([:]) }
            while true {
                let next = try self.tag()
                if next.isEnd, next.name == "dict" { return .dictionary(dictionary) }
                guard next.name == "key", !next.isEnd else { throw flaw }
                let key = try text(of: next)
                // A duplicate key would lose a value.
                guard dictionary.updateValue(try value(of: try self.tag(), depth: depth + 1), forKey: key) == nil else {
                    throw flaw
                }
            }
        case "string": return .string(try text(of: tag))
        case "integer": return try integer(Self.trimmed(try text(of: tag)))
        case "real":
            guard let real = Self.real(Self.trimmed(try text(of: tag))) else { throw flaw }
            return .real(real)
        case "date":
            guard let date = try? Date.ISO8601FormatStyle().parse(Self.trimmed(try text(of: tag))) else { throw flaw }
            return .date(date)
        case "data":
            let digits = try text(of: tag).utf8.filter { !Self.isSpace($0) }
            guard let data = Data(base64Encoded: Data(digits)) else { throw flaw }
            return .data(data)
        default: throw flaw
        }
    }

    private static func trimmed(_ text: String) -> String {
        let bytes = text.utf8.drop(while: isSpace)
        return String(decoding: bytes.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }

    private func integer(_ text: String) throws(ValueFormatError) -> SecretValue {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative || text.hasPrefix("+") ? String(text.dropFirst()) : text
        let isHexadecimal = digits.lowercased().hasPrefix("0x")
        let number = isHexadecimal ? String(digits.dropFirst(2)) : digits
        guard number.utf8.first.map({ $0 != 0x2B && $0 != 0x2D }) ?? false,
            let magnitude = UInt64(number, radix: isHexadecimal ? 16 : 10)
        else { throw flaw }
        guard isNegative else { return SecretValue(magnitude) ?? .unsigned(magnitude) }
        guard magnitude <= UInt64(1) << 63 else { throw flaw }
        return .integer(Int64(bitPattern: 0 &- magnitude))
    }

    private static func real(_ text: String) -> Double? {
        switch text.lowercased() {
        case "nan": .nan
        case "inf", "+inf", "infinity", "+infinity": .infinity
        case "-inf", "-infinity": -.infinity
        default: Double(text)
        }
    }

    /// The characters up to the end tag.
    private mutating func text(of tag: Tag) throws(ValueFormatError) -> String {
        if tag.isEmpty { return "" }
        var content: [UInt8] = []
        while offset < bytes.count {
            if isHere("<![CDATA[") {
                let start = offset + 9
                try skip(behind: "]]>")
                content += bytes[start..<offset - 3]
            } else if isHere("<!--") {
                try skip(behind: "-->")
            } else if bytes[offset] == UInt8(ascii: "<") {
                try end(of: tag.name)
                guard let text = String(validating: content, as: UTF8.self) else { throw flaw }
                return text
            } else if bytes[offset] == UInt8(ascii: "&") {
                content += String(try entity()).utf8
            } else if bytes[offset] == 0x0D {
                // XML normalizes line ends (XML 1.0, 2.11).
                content.append(0x0A)
                offset += isHere("\r\n") ? 2 : 1
            } else {
                content.append(bytes[offset])
                offset += 1
            }
        }
        throw flaw
    }

    private mutating func entity() throws(ValueFormatError) -> Character {
        let start = offset
        let window = bytes[offset..<min(bytes.count, offset + 12)]
        guard let end = window.firstIndex(of: UInt8(ascii: ";")) else { throw flaw }
        offset = end + 1
        let name = String(decoding: bytes[start + 1..<end], as: UTF8.self)
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number =
                name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst(), radix: 10)
            guard name.hasPrefix("#"), let number, number > 0, let scalar = Unicode.Scalar(number) else {
                throw .malformed(offset: start)
            }
            return Character(scalar)
        }
    }
}

/// Writes XML property lists in the format of Apple's tools: a tab per level, keys sorted.
struct XMLPropertyListWriter {
    private var text = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    static func write(_ value: SecretValue) throws(ValueFormatError) -> String {
        _ = try value.checkedCount()
        var writer = XMLPropertyListWriter()
        try writer.append(value, [])
        return writer.text + "</plist>\n"
    }

    private mutating func line(_ level: Int, _ content: String) {
        text += String(repeating: "\t", count: level) + content + "\n"
    }

    private mutating func append(_ value: SecretValue, _ path: [SecretValue.Step]) throws(ValueFormatError) {
        let level = path.count
        switch value {
        case .null: throw .unrepresentable(path: path.path)
        case .bool(let bool): line(level, bool ? "<true/>" : "<false/>")
        case .integer(let integer): line(level, "<integer>\(integer)</integer>")
        case .unsigned(let integer): line(level, "<integer>\(integer)</integer>")
        case .real(let real): line(level, "<real>\(XMLPropertyListWriter.text(of: real))</real>")
        case .date(let date): line(level, "<date>\(date.formatted(.iso8601))</date>")
        case .data(let data): line(level, "<data>\(data.base64EncodedString())</data>")
        case .string(let string):
            line(level, "<string>\(try XMLPropertyListWriter.escaped(string, path))</string>")
        case .array(let array):
            guard !array.isEmpty else { return line(level, "<array/>") }
            line(level, "<array>")
            for (index, element) in array.enumerated() { try append(element, path + [.index(index)]) }
            line(level, "</array>")
        case .dictionary(let dictionary):
            guard !dictionary.isEmpty else { return line(level, "<dict/>") }
            line(level, "<dict>")
            for (key, member) in dictionary.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                line(level + 1, "<key>\(try XMLPropertyListWriter.escaped(key, path + [.key(key)]))</key>")
                try append(member, path + [.key(key)])
            }
            line(level, "</dict>")
        }
    }

    private static func text(of real: Double) -> String {
        real.isNaN ? "nan" : real.isInfinite ? (real < 0 ? "-inf" : "+inf") : "\(real)"
    }

    /// - Throws: for a character that XML does not allow even in escaped form (XML 1.0, 2.2).
    private static func escaped(_ string: String, _ path: [SecretValue.Step]) throws(ValueFormatError) -> String {
        var output = ""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\r": output += "&#13;"
            case "\t", "\n": output.unicodeScalars.append(scalar)
            case "\0"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": throw .unrepresentable(path: path.path)
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}
