// SPDX-License-Identifier: Apache-2.0

/// The escapes of JSON strings (RFC 8259, section 7).
package enum JSONEscapes {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns one `\u` escape, or two for characters beyond U+FFFF.
    package static func escape(_ scalar: Unicode.Scalar) -> [UInt8] {
        scalar.utf16.flatMap { unit in
            Array("\\u".utf8) + [12, 8, 4, 0].map { digits[Int(unit >> UInt16($0) & 15)] }
        }
    }
}

extension SecretBuffer {
    /// Appends UTF-8 as the content of a JSON string.
    ///
    /// - Parameter isObeyed: whether a character beyond ASCII is escaped as well, since a terminal would obey it; `nil`
    ///   escapes none of them.
    package mutating func append(
        escaping bytes: Span<UInt8>, _ isObeyed: ((Unicode.Scalar) -> Bool)? = nil
    ) throws(CryptoError) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): try append([UInt8(ascii: "\\"), byte])
            case UInt8(ascii: "\n"): try append("\\n")
            case 0..<0x20, 0x7f: try append(JSONEscapes.escape(Unicode.Scalar(byte)))
            case 0x20..<0x7f: try append(byte)
            default:
                guard let isObeyed else {
                    try append(byte)
                    continue
                }
                // Converted character by character, on the stack, never as a whole.
                guard let (scalar, length) = bytes.scalar(at: index - 1) else { continue }
                if isObeyed(scalar) {
                    try append(JSONEscapes.escape(scalar))
                } else {
                    try append(bytes.extracting(index - 1..<index - 1 + length))
                }
                index += length - 1
            }
        }
    }
}

extension Span<UInt8> {
    /// Returns the UTF-8 character at an index and its length in bytes; `nil` if there is none.
    package func scalar(at index: Int) -> (scalar: Unicode.Scalar, length: Int)? {
        let first = UInt32(self[index])
        let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
        guard index + length <= count else { return nil }
        var value = length == 1 ? first : first & (0x7f >> UInt32(length))
        for offset in 1..<max(length, 1) { value = value << 6 | UInt32(self[index + offset] & 0x3f) }
        return Unicode.Scalar(value).map { ($0, length) }
    }
}
