// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A text in locked memory. Parsers represent its parts as ranges, converted only when needed: to text if not secret,
/// else to a secret.
package struct Document: Sendable {
    let bytes: Secret
    let start: Int

    package var content: Secret { bytes }

    var count: Int { bytes.count }

    /// - Throws: `.malformed` with the line of invalid UTF-8.
    package init(_ bytes: Secret) throws(ImportError) {
        self.bytes = bytes
        let hasMark = bytes.withBytes { $0.count >= 3 && $0[0] == 0xef && $0[1] == 0xbb && $0[2] == 0xbf }
        start = hasMark ? 3 : 0
        let flaw = bytes.withBytes { span -> Int? in
            do throws(UTF8.ValidationError) { _ = try UTF8Span(validating: span) } catch {
                return error.byteOffsets.lowerBound
            }
            return nil
        }
        if let flaw { throw .line(line(at: flaw), "the text is not UTF-8") }
    }

    /// Returns the line number of a byte, from 1.
    func line(at offset: Int) -> Int {
        bytes.withBytes { bytes in
            1 + (0..<min(offset, bytes.count)).reduce(0) { $0 + (bytes[$1] == UInt8(ascii: "\n") ? 1 : 0) }
        }
    }

    func text(_ range: Range<Int>) -> String { bytes.withBytes { $0.text(range) } }

    func secret(_ range: Range<Int>) throws(ImportError) -> Secret { try bytes.part(range) }

    subscript(index: Int) -> UInt8 { bytes.withBytes { $0[index] } }

    func firstIndex(of character: Unicode.Scalar, in range: Range<Int>) -> Int? {
        bytes.withBytes { $0.firstIndex(of: UInt8(ascii: character), in: range) }
    }

    /// Returns the range without blanks and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> { bytes.withBytes { $0.trimmed(range) } }

    func starts(_ range: Range<Int>, with text: String) -> Bool { bytes.withBytes { $0.starts(range, with: text) } }

    /// Returns a text in which a backslash stands in front of literal characters; one at the end is itself literal.
    func unescaped(_ range: Range<Int>) throws(ImportError) -> Secret {
        try .assembled(capacity: range.count) { buffer throws(CryptoError) in
            try bytes.withBytes { bytes throws(CryptoError) in
                var index = range.lowerBound
                while index < range.upperBound {
                    if bytes[index] == UInt8(ascii: "\\"), index + 1 < range.upperBound { index += 1 }
                    try buffer.append(bytes[index])
                    index += 1
                }
            }
        }
    }

    struct Line {
        let number: Int
        let range: Range<Int>
        /// The text without blanks at its ends.
        let text: Range<Int>
        let whole: Range<Int>

        var place: String { "line \(number)" }
    }

    var lines: [Line] {
        bytes.withBytes { bytes in
            var lines: [Line] = []
            var start = start
            while start < bytes.count {
                let end = bytes.firstIndex(of: UInt8(ascii: "\n"), in: start..<bytes.count) ?? bytes.count
                let hasReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
                let range = start..<(hasReturn ? end - 1 : end)
                let next = min(end + 1, bytes.count)
                lines.append(
                    Line(number: lines.count + 1, range: range, text: bytes.trimmed(range), whole: start..<next))
                start = next
            }
            return lines
        }
    }

    /// Returns whether a line is blank, or a comment that begins with `#` at its beginning, or behind blanks as well.
    func isIdle(_ line: Line, indented: Bool = true) -> Bool {
        let text = indented ? line.text : line.range
        return line.text.isEmpty || self[text.lowerBound] == UInt8(ascii: "#")
    }
}

extension Span<UInt8> {
    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? { range.first { self[$0] == byte } }

    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }

    func starts(_ range: Range<Int>, with text: String) -> Bool {
        range.count >= text.utf8.count && zip(range.lowerBound..., text.utf8).allSatisfy { self[$0] == $1 }
    }
}

extension UInt8 {
    /// Whether the byte is a blank, a tab or a part of a line end.
    var isBlank: Bool { [0x20, 0x09, 0x0a, 0x0d].contains(self) }
}

extension SecretBuffer {
    mutating func append(_ secret: Secret) throws(CryptoError) {
        try secret.withBytes { bytes throws(CryptoError) in try append(bytes) }
    }
}

extension Secret {
    /// The bytes as text, of which copies remain in memory: only for non-secrets.
    var plainText: String { withBytes { $0.text(0..<$0.count) } }

    var isEmpty: Bool { count == 0 }

    var isUTF8: Bool { withBytes { $0.isUTF8 } }

    func starts(with text: String) -> Bool { withBytes { $0.starts(0..<$0.count, with: text) } }

    func part(_ range: Range<Int>) throws(ImportError) -> Secret { try secured(Secret(try bytes.copy(of: range))) }

    /// - Parameter capacity: the expected number of bytes.
    static func assembled(
        capacity: Int = 256, _ write: (inout SecretBuffer) throws(CryptoError) -> Void
    ) throws(ImportError) -> Secret {
        do throws(CryptoError) {
            var buffer = try SecretBuffer(capacity: capacity)
            try write(&buffer)
            return Secret(try buffer.take())
        } catch { throw .cryptography(error) }
    }

    static func decoding(base64 text: Span<UInt8>) throws(ImportError) -> Secret? {
        guard let bytes = try secured(try SecretBytes.decoding(base64: text)) else { return nil }
        return Secret(bytes)
    }

    func decodedBase64() throws(ImportError) -> Secret? {
        try withBytes { bytes throws(ImportError) in try Secret.decoding(base64: bytes) }
    }

    /// Decodes base64 for URLs without padding (RFC 4648, 5); `nil` if invalid.
    func decodedBase64URL() throws(ImportError) -> Secret? {
        try withBytes { text throws(ImportError) in
            guard let bytes = try secured(try SecretBytes.decoding(base64URL: text)) else { return nil }
            return Secret(bytes)
        }
    }

    /// Encodes as base64, also that for URLs without padding (RFC 4648, 4 and 5).
    func encodedBase64(forURL: Bool = false) throws(ImportError) -> Secret {
        try .assembled(capacity: count * 4 / 3 + 4) { text throws(CryptoError) in
            try withBytes { bytes throws(CryptoError) in
                if forURL { try text.append(base64URL: bytes) } else { try text.append(base64: bytes) }
            }
        }
    }

    convenience init(plain text: String) throws(ImportError) {
        let bytes = Array(text.utf8)
        self.init(try secured(try SecretBytes(copying: bytes.span)))
    }

    static func json(_ value: JSONOutput, isLine: Bool = false) throws(ImportError) -> Secret {
        do throws(CryptoError) {
            var json = try JSONWriter(capacity: 1024)
            try json.element(value)
            return try isLine ? json.line() : Secret(json.take())
        } catch { throw .cryptography(error) }
    }
}
