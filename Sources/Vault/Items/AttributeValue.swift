// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultFormat

/// The value of an attribute, in the type that the caller chose.
public enum AttributeValue: Hashable, Sendable {
    /// Text. A decimal number in canonical form is accepted where a number is expected.
    case string(String)
    /// Bytes, which are accepted as text where they are UTF-8.
    case data([UInt8])
    /// An integer, signed.
    case number(Int64)
    /// A non-integer number.
    case real(Double)
    /// Becomes the number 0 or 1 where a number is expected, and is refused elsewhere.
    case bool(Bool)
    /// A point in time, for the creation and the modification date.
    case date(Date)

    /// The text of a string, or of data that is UTF-8.
    public var text: String? {
        switch self {
        case .string(let string): string
        case .data(let data): String(validating: data, as: UTF8.self)
        default: nil
        }
    }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension AttributeValue {
    init(_ encoded: EncodedValue) {
        switch encoded {
        case .string(let string): self = .string(string)
        case .data(let data): self = .data(data)
        case .integer(let integer): self = .number(integer)
        case .date(let date): self = .date(Date(timeIntervalSinceReferenceDate: date))
        case .real(let real): self = .real(real)
        }
    }

    /// The stored form of the value for an attribute of this kind; `nil` if the kind does not accept it.
    func encoded(as kind: AttributeKind) -> EncodedValue? {
        switch kind {
        case .blob:
            switch self {
            case .string(let string): .string(string)
            case .data(let data): .data(data)
            case .number(let number): .integer(number)
            case .real(let real): AttributeValue.encoded(real)
            case .bool, .date: nil
            }
        case .string, .accessibility: text.map(EncodedValue.string)
        case .accessControl: if case .data(let data) = self { .data(data) } else { nil }
        case .data:
            switch self {
            case .data(let data): .data(data)
            case .string(let string): .data(Array(string.utf8))
            case .number(let number): Int32(exactly: number).map { .data(AttributeValue.fourBytes($0)) }
            case .real, .bool, .date: nil
            }
        case .number, .flag:
            switch self {
            case .number(let number): .integer(number)
            case .real(let real): AttributeValue.encoded(real)
            case .bool(let bool): .integer(bool ? 1 : 0)
            // Only canonical decimals are numbers: not "080", not "+80", not "".
            case .string(let string):
                Int32(string).flatMap { String($0) == string ? .integer(Int64($0)) : nil } ?? .string(string)
            case .data, .date: nil
            }
        case .date:
            if case .date(let date) = self, date.timeIntervalSinceReferenceDate.isFinite {
                .date(date.timeIntervalSinceReferenceDate)
            } else {
                nil
            }
        case .digest: if case .data(let data) = self, data.count == 20 { .data(data) } else { nil }
        case .identifier: if case .data(let data) = self, data.isEmpty || data.count == 16 { .data(data) } else { nil }
        }
    }

    private static func encoded(_ real: Double) -> EncodedValue? {
        guard real.isFinite else { return nil }
        return Int64(exactly: real).map(EncodedValue.integer) ?? .real(real)
    }

    /// The four bytes, in machine order, as which Apple's systems store a number where data is expected.
    static func fourBytes(_ number: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: UInt32(bitPattern: number))
        return bytes
    }
}
