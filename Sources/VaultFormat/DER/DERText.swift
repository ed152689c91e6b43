// SPDX-License-Identifier: Apache-2.0

/// Texts of the string types of X.680.
enum DERText {
    /// - Returns: `nil` if the element is not text or has bytes that its type does not allow.
    static func string(_ element: DERReader.Element, of bytes: Span<UInt8>) -> String? {
        let content = bytes.array(element.content)
        switch element.tag {
        case DERTag.utf8String: return String(validating: content, as: UTF8.self)
        case DERTag.printableString, DERTag.ia5String: return String(validating: content, as: Unicode.ASCII.self)
        // Texts marked as T.61 are Latin-1 in practice.
        case DERTag.t61String: return String(String.UnicodeScalarView(content.map(Unicode.Scalar.init)))
        case DERTag.bmpString: return units(content).flatMap { String(validating: $0, as: UTF16.self) }
        case DERTag.universalString: return units(content).flatMap { String(validating: $0, as: UTF32.self) }
        default: return nil
        }
    }

    /// The big-endian numbers in the bytes; `nil` if the last one is incomplete.
    private static func units<I: FixedWidthInteger>(_ content: [UInt8], _ type: I.Type = I.self) -> [I]? {
        let size = I.bitWidth / 8
        guard content.count % size == 0 else { return nil }
        return stride(from: 0, to: content.count, by: size).map { start in
            content[start..<start + size].reduce(0) { $0 << 8 | I($1) }
        }
    }
}
