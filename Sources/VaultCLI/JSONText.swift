// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Makes JSON (RFC 8259) safe for a terminal: control characters become equivalent `\u` escapes.
enum JSONText {
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
            output += scalar.isObeyed ? JSONEscapes.escape(scalar) : text.array(index..<index + length)
            index += length
        }
        return output
    }
}
