// SPDX-License-Identifier: Apache-2.0

extension CBORValue {
    /// The canonical encoding (CTAP 2.1, 8): heads in their shortest form, definite lengths, the keys of a map in the
    /// order of their encoded bytes.
    ///
    /// The keys of each map must differ: a reader refuses duplicates.
    package var encoded: [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }

    /// Appends the canonical encoding.
    package func append(to output: inout [UInt8]) {
        switch self {
        case .unsigned(let number): CBORValue.appendHead(CBORMajor.unsigned, number, to: &output)
        case .negative(let number): CBORValue.appendHead(CBORMajor.negative, number, to: &output)
        case .bytes(let bytes):
            CBORValue.appendHead(CBORMajor.bytes, UInt64(bytes.count), to: &output)
            output += bytes
        case .text(let text):
            CBORValue.appendHead(CBORMajor.text, UInt64(text.utf8.count), to: &output)
            output += text.utf8
        case .array(let values):
            CBORValue.appendHead(CBORMajor.array, UInt64(values.count), to: &output)
            for value in values { value.append(to: &output) }
        case .map(let pairs):
            CBORValue.appendHead(CBORMajor.map, UInt64(pairs.count), to: &output)
            let sorted = pairs.map { (key: $0.key.encoded, value: $0.value) }
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            for (key, value) in sorted {
                output += key
                value.append(to: &output)
            }
        case .boolean(let flag): output.append(flag ? CBORSimple.yes : CBORSimple.no)
        case .null: output.append(CBORSimple.null)
        }
    }

    /// Appends a major type and its argument (RFC 8949, 3): the argument in the lower five bits up to 23, else in 1, 2,
    /// 4 or 8 bytes, big-endian.
    private static func appendHead(_ major: UInt8, _ argument: UInt64, to output: inout [UInt8]) {
        let (information, length): (UInt8, Int) =
            switch argument {
            case ..<24: (UInt8(argument), 0)
            case ...0xff: (24, 1)
            case ...0xffff: (25, 2)
            case ...0xffff_ffff: (26, 4)
            default: (27, 8)
            }
        output.append(major | information)
        for place in (0..<length).reversed() { output.append(UInt8(truncatingIfNeeded: argument >> (8 * place))) }
    }
}
