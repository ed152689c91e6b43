// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The comparison form of values: equal bytes mean equal values.
enum MatchKey {
    /// Appends the key of a value.
    static func append(_ kind: AttributeKind, _ value: EncodedValue, to output: inout [UInt8]) {
        if case .integer(let integer) = value, comparesBytes(kind), let small = Int32(exactly: integer) {
            append(small, to: &output)
        } else {
            output.append(mark(kind, value.kind))
            value.appendPayload(to: &output)
        }
    }

    /// Appends the key of an encoded value.
    static func append(_ kind: AttributeKind, _ encodedKind: UInt8, _ payload: Span<UInt8>, to output: inout [UInt8]) {
        if comparesBytes(kind), encodedKind == 3, let small = Int32(exactly: Int64(bitPattern: payload.integer(at: 0)))
        {
            append(small, to: &output)
        } else {
            output.append(mark(kind, encodedKind))
            output.append(payload)
        }
    }

    /// Appends the key of an attribute of a record. Returns `false` if the record does not have the attribute.
    static func append(_ attribute: Attribute, of attributes: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        if let (encodedKind, range) = EncodedAttributes.payload(of: attribute.tag, in: attributes) {
            append(attribute.kind, encodedKind, attributes.extracting(range), to: &output)
        } else if let value = attribute.absentValue {
            append(attribute.kind, value, to: &output)
        } else {
            return false
        }
        return true
    }

    /// Whether an encoded value has this key.
    ///
    /// - Parameter payload: the value's encoded bytes.
    static func isKey(_ key: Span<UInt8>, of encodedKind: UInt8, _ payload: Span<UInt8>, kind: AttributeKind) -> Bool {
        if encodedKind != 3 || !comparesBytes(kind) {
            guard key.count == payload.count + 1, key[0] == mark(kind, encodedKind) else { return false }
            return key.extracting(1..<key.count).elementsEqual(payload)
        }
        var other: [UInt8] = []
        append(kind, encodedKind, payload, to: &other)
        return key.elementsEqual(other.span)
    }

    /// A number equals its four bytes, as on Apple's systems; a number that does not fit in four bytes equals only
    /// itself.
    private static func append(_ number: Int32, to output: inout [UInt8]) {
        output.append(0)
        output.append(integer: UInt32(bitPattern: number))
    }

    /// Where bytes are compared, strings and data of the same bytes are equal.
    private static func mark(_ kind: AttributeKind, _ encodedKind: UInt8) -> UInt8 {
        comparesBytes(kind) && encodedKind <= 2 ? 0 : encodedKind
    }

    private static func comparesBytes(_ kind: AttributeKind) -> Bool {
        switch kind {
        case .blob, .string, .data, .accessControl, .digest, .identifier, .accessibility: true
        case .number, .flag, .date: false
        }
    }
}
