// SPDX-License-Identifier: Apache-2.0

/// Percent encoding (RFC 3986, section 2.1), which libassuan's protocol uses as well.
package enum PercentCoding {
    private static let percent = UInt8(ascii: "%")

    /// Writes every byte as `%XX` but letters, digits, `-._~` and the given ones.
    package static func encoded(_ text: String, keeping others: String = "") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte in
            isUnreserved(byte) || others.utf8.contains(byte)
                ? [byte] : [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// Returns the decoded text; `nil` for an incomplete escape, or bytes that are not UTF-8.
    package static func decoded(_ text: some StringProtocol) -> String? {
        let encoded = Array(text.utf8)
        var bytes: [UInt8] = []
        let isComplete = decode(encoded.span) { bytes.append($0) }
        return isComplete ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// Returns the decoded text; incomplete escapes stay as they are, and invalid UTF-8 becomes U+FFFD.
    package static func repaired(_ text: some StringProtocol) -> String {
        let encoded = Array(text.utf8)
        var bytes: [UInt8] = []
        decode(encoded.span) { bytes.append($0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Passes on the decoded bytes, one by one. Incomplete escapes stay as they are.
    ///
    /// - Returns: whether all escapes are complete.
    @discardableResult
    package static func decode<E: Error>(_ text: Span<UInt8>, _ write: (UInt8) throws(E) -> Void) throws(E) -> Bool {
        var isComplete = true
        var index = 0
        while index < text.count {
            if text[index] != percent {
                try write(text[index])
            } else if index + 2 < text.count, let high = digit(text[index + 1]), let low = digit(text[index + 2]) {
                try write(high << 4 | low)
                index += 2
            } else {
                isComplete = false
                try write(percent)
            }
            index += 1
        }
        return isComplete
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
        return hexadecimalValue(of: isCapital ? byte | 0x20 : byte)
    }
}
