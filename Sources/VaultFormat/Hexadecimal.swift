// SPDX-License-Identifier: Apache-2.0

/// Two lowercase digits per byte.
package func hexadecimal(_ bytes: [UInt8]) -> String {
    func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.count)
    for byte in bytes {
        digits.append(digit(byte >> 4))
        digits.append(digit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
}

/// The value of a lowercase digit.
package func hexadecimalValue(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
}

/// The bytes of pairs of digits; `nil` for anything that ``hexadecimal(_:)`` does not produce.
package func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = hexadecimalValue(of: digits[index]), let low = hexadecimalValue(of: digits[index + 1])
        else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}
