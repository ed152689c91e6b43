// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A text in locked memory. Parsers represent its parts as ranges, converted only when needed: to text if not secret,
/// else to a secret.
package struct Document: Sendable {
    let bytes: Secret
    /// The start of the text, after a byte order mark.
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

    func text(_ range: Range<Int>) -> String {
        bytes.withBytes { String(decoding: $0.array(range), as: UTF8.self) }
    }

    func secret(_ range: Range<Int>) throws(ImportError) -> Secret {
        try bytes.part(range)
    }

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

    /// The lines, without their ends.
    var lines: [Range<Int>] {
        bytes.withBytes { bytes in
            var lines: [Range<Int>] = []
            var start = start
            while start < bytes.count {
                let end = bytes.firstIndex(of: UInt8(ascii: "\n"), in: start..<bytes.count) ?? bytes.count
                let hasReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
                lines.append(start..<(hasReturn ? end - 1 : end))
                start = end + 1
            }
            return lines
        }
    }
}

extension Span<UInt8> {
    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// Returns the range without blanks and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}

extension Secret {
    /// The bytes as text, of which copies remain in memory: only for non-secrets.
    var plainText: String { withBytes { String(decoding: $0.array(0..<$0.count), as: UTF8.self) } }

    var isEmpty: Bool { count == 0 }

    func part(_ range: Range<Int>) throws(ImportError) -> Secret { try secured(Secret(try bytes.copy(of: range))) }

    /// Assembles a secret.
    ///
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

    /// Decodes base64; `nil` if invalid.
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

    /// Encodes as base64 for URLs without padding (RFC 4648, 5).
    func encodedBase64() throws(CryptoError) -> Secret {
        var text = try SecretBuffer(capacity: count * 4 / 3 + 4)
        try withBytes { bytes throws(CryptoError) in try text.append(base64: bytes) }
        return Secret(try text.take())
    }

    func encodedBase64URL() throws(CryptoError) -> Secret {
        var text = try SecretBuffer(capacity: (count * 4 + 2) / 3 + 2)
        try withBytes { bytes throws(CryptoError) in try text.append(base64URL: bytes) }
        return Secret(try text.take())
    }

    /// Makes a secret of text that was not secret at its source.
    convenience init(copying text: String) throws(CryptoError) {
        let bytes = Array(text.utf8)
        self.init(try SecretBytes(copying: bytes.span))
    }

    convenience init(plain text: String) throws(ImportError) {
        let bytes = Array(text.utf8)
        self.init(try secured(try SecretBytes(copying: bytes.span)))
    }

    /// Makes the text of a JSON value.
    convenience init(json value: JSONOutput) throws(ImportError) {
        do throws(CryptoError) {
            var json = try JSONWriter(capacity: 1024)
            try json.element(value)
            self.init(try json.take())
        } catch { throw .cryptography(error) }
    }
}
