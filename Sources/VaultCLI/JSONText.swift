// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Makes JSON (RFC 8259) safe for a terminal: control characters become equivalent `\u` escapes.
enum JSONText {
    private static let digits = Array("0123456789abcdef".utf8)

    /// - Parameter text: JSON in UTF-8 whose strings have no control characters below U+0020, as written by every
    ///   encoder.
    static func escaped(_ text: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] >= 0x7f, let (scalar, length) = text.scalar(at: index) else {
                output.append(text[index])
                index += 1
                continue
            }
            if scalar.isObeyed { output += escape(scalar) } else { output += text.array(index..<index + length) }
            index += length
        }
        return output
    }

    /// Returns one escape, or two for characters beyond U+FFFF.
    static func escape(_ scalar: Unicode.Scalar) -> [UInt8] {
        scalar.utf16.flatMap { unit in
            Array("\\u".utf8) + [12, 8, 4, 0].map { digits[Int(unit >> UInt16($0) & 15)] }
        }
    }
}
