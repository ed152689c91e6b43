// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }
}

extension String {
    /// The text with the capitals A to Z in lower case, and nothing else changed. Unicode's lower case of the Kelvin
    /// sign U+212A is a k, and of other letters another name.
    package var foldedASCII: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        // Nearly all names have none.
        guard utf8.contains(where: capitals.contains) else { return self }
        return String(decoding: utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
