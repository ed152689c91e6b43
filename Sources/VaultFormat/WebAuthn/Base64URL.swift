// SPDX-License-Identifier: Apache-2.0

/// Base64 for URLs without padding (RFC 4648, 5), of bytes that are not secret.
package enum Base64URL {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encoded(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var (word, bits): (UInt32, UInt32) = (0, 0)
        for index in bytes.indices {
            word = word << 8 | UInt32(bytes[index])
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(digits[Int(word >> bits & 63)])
            }
            word &= (1 << bits) - 1
        }
        if bits > 0 { text.append(digits[Int(word << (6 - bits) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    package static func encoded(_ bytes: [UInt8]) -> String { encoded(bytes.span) }

    /// - Returns: `nil` for another character, padding, and a last character with unused bits other than 0: each byte
    ///   string has a single text, so that texts can be compared.
    package static func decoded(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var (word, bits): (UInt32, UInt32) = (0, 0)
        for index in text.indices {
            guard let value = value(of: text[index]) else { return nil }
            word = word << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: word >> bits))
            }
            word &= (1 << bits) - 1
        }
        return word == 0 ? bytes : nil
    }

    package static func decoded(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        return decoded(bytes.span)
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
