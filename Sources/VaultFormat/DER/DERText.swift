// SPDX-License-Identifier: Apache-2.0

/// Texts of X.680's string types.
enum DERText {
    /// - Returns: nil for what is no text, and for bytes that the type does not have.
    static func string(_ element: DERReader.Element, of bytes: Span<UInt8>) -> String? {
        let content = bytes.array(element.content)
        switch element.tag {
        case DERTag.utf8String: return String(validating: content, as: UTF8.self)
        case DERTag.printableString, DERTag.ia5String: return String(validating: content, as: Unicode.ASCII.self)
        // What is written as T.61 is Latin-1 everywhere.
        case DERTag.t61String: return String(String.UnicodeScalarView(content.map(Unicode.Scalar.init)))
        case DERTag.bmpString: return units(content).flatMap { String(validating: $0, as: UTF16.self) }
        case DERTag.universalString: return units(content).flatMap { String(validating: $0, as: UTF32.self) }
        default: return nil
        }
    }

    /// The big-endian numbers that the bytes are made of. Nil: a part of one is missing.
    private static func units<I: FixedWidthInteger>(_ content: [UInt8], _ type: I.Type = I.self) -> [I]? {
        let size = I.bitWidth / 8
        guard content.count % size == 0 else { return nil }
        return stride(from: 0, to: content.count, by: size).map { start in
            content[start..<start + size].reduce(0) { $0 << 8 | I($1) }
        }
    }
}
