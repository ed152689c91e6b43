// SPDX-License-Identifier: Apache-2.0

/// A value of the part of CBOR (RFC 8949) that CTAP2 allows, without tags and floating-point numbers.
package indirect enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// The number −1 − n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// The order of the pairs is that of the encoded keys, whatever their order here.
    case map([Pair])
    case boolean(Bool)
    case null

    package struct Pair: Hashable, Sendable {
        package let key: CBORValue
        package let value: CBORValue

        package init(_ key: CBORValue, _ value: CBORValue) { (self.key, self.value) = (key, value) }
    }

    package init(_ number: Int) { self = number < 0 ? .negative(UInt64(~number)) : .unsigned(UInt64(number)) }

    /// A map whose keys are texts.
    package init(_ members: KeyValuePairs<String, CBORValue>) {
        self = .map(members.map { Pair(.text($0.key), $0.value) })
    }

    /// The value of a key of a map; `nil` for another kind of value.
    package subscript(key: CBORValue) -> CBORValue? {
        guard case .map(let pairs) = self else { return nil }
        return pairs.first { $0.key == key }?.value
    }

    package subscript(key: Int) -> CBORValue? { self[CBORValue(key)] }

    package subscript(key: String) -> CBORValue? { self[.text(key)] }

    /// The content of a byte string; `nil` for another kind of value.
    package var byteString: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}

/// The major types of RFC 8949, 3.1, in the upper three bits of a head.
enum CBORMajor {
    static let unsigned: UInt8 = 0 << 5
    static let negative: UInt8 = 1 << 5
    static let bytes: UInt8 = 2 << 5
    static let text: UInt8 = 3 << 5
    static let array: UInt8 = 4 << 5
    static let map: UInt8 = 5 << 5
    static let simple: UInt8 = 7 << 5

    static let mask: UInt8 = 7 << 5
}

/// The simple values of RFC 8949, 3.3.
enum CBORSimple {
    static let no: UInt8 = CBORMajor.simple | 20
    static let yes: UInt8 = CBORMajor.simple | 21
    static let null: UInt8 = CBORMajor.simple | 22
}
