// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// A value of any shape that a property list or JSON can have, including null.
///
/// Accessors never trap or guess: `int` is set only for an integer, `lenientInt` also for `"12"`, `12.0` and `true`.
/// Missing parts are `nil` at any depth: `settings["servers"][2]["port"].int`.
public enum SecretValue: Hashable, Sendable {
    /// JSON's null. Property lists have none.
    case null
    /// A truth value, distinct from the numbers 0 and 1.
    case bool(Bool)
    /// An integer of at most 64 bits, signed.
    case integer(Int64)
    /// An integer beyond `Int64.max`.
    case unsigned(UInt64)
    /// A number that is not an integer of 64 bits. A property list also has integral ones, which JSON does not tell
    /// from integers.
    case real(Double)
    /// Text.
    case string(String)
    /// Bytes. JSON has none.
    case data(Data)
    /// A point in time. JSON has none.
    case date(Date)
    /// An ordered list.
    case array([SecretValue])
    /// Values by key, without an order.
    case dictionary([String: SecretValue])
}

extension SecretValue {
    /// An integer in its canonical case; `nil` if it needs more than 64 bits.
    public init?(_ integer: some BinaryInteger) {
        if let value = Int64(exactly: integer) {
            self = .integer(value)
        } else if let value = UInt64(exactly: integer) {
            self = .unsigned(value)
        } else {
            return nil
        }
    }

    // MARK: Exact

    /// Whether the value is null, which differs from an absent part.
    public var isNull: Bool { self == .null }

    /// The truth value; `nil` for any other case.
    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    /// The integer; `nil` for any other case.
    public var int: Int? { if case .integer(let integer) = self { Int(exactly: integer) } else { nil } }

    /// The integer, if it is not negative; `nil` for any other case.
    public var uint: UInt? {
        switch self {
        case .integer(let integer): UInt(exactly: integer)
        case .unsigned(let integer): UInt(exactly: integer)
        default: nil
        }
    }

    /// The number with a fraction; `nil` for any other case, integers included.
    public var real: Double? { if case .real(let real) = self { real } else { nil } }

    /// The text; `nil` for any other case.
    public var string: String? { if case .string(let string) = self { string } else { nil } }

    /// The bytes; `nil` for any other case.
    public var data: Data? { if case .data(let data) = self { data } else { nil } }

    /// The point in time; `nil` for any other case.
    public var date: Date? { if case .date(let date) = self { date } else { nil } }

    /// The list; `nil` for any other case.
    public var array: [SecretValue]? { if case .array(let array) = self { array } else { nil } }

    /// The values by key; `nil` for any other case.
    public var dictionary: [String: SecretValue]? {
        if case .dictionary(let dictionary) = self { dictionary } else { nil }
    }

    // MARK: Lenient

    /// Accepts `0` and `1` as well, and the words yes, no, true, false, 0 and 1 in any case.
    public var lenientBool: Bool? {
        switch self {
        case .bool(let bool): bool
        case .integer(0), .real(0): false
        case .integer(1), .real(1): true
        case .string(let string):
            switch string.lowercased() {
            case "yes", "true", "1": true
            case "no", "false", "0": false
            default: nil
            }
        default: nil
        }
    }

    /// Accepts an integral real, an integral text and a bool as well.
    public var lenientInt: Int? {
        switch self {
        case .integer(let integer): Int(exactly: integer)
        case .real(let real): Int(exactly: real)
        case .string(let string): Int(string) ?? Double(string).flatMap { Int(exactly: $0) }
        case .bool(let bool): bool ? 1 : 0
        default: nil
        }
    }

    /// Accepts an integer (rounded to the nearest real), a numeric text and a bool as well.
    public var lenientReal: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .unsigned(let integer): Double(integer)
        case .real(let real): real
        case .string(let string): Double(string)
        case .bool(let bool): bool ? 1 : 0
        default: nil
        }
    }

    /// Accepts a number, a bool, a date (RFC 3339, with milliseconds if nonzero) and UTF-8 data as well.
    public var lenientString: String? {
        switch self {
        case .string(let string): string
        case .integer(let integer): String(integer)
        case .unsigned(let integer): String(integer)
        case .real(let real): String(real)
        case .bool(let bool): String(bool)
        case .date(let date): SecretValue.text(of: date)
        case .data(let data): String(validating: data, as: UTF8.self)
        case .null, .array, .dictionary: nil
        }
    }

    static func text(of date: Date) -> String {
        let hasFraction = date.timeIntervalSinceReferenceDate.truncatingRemainder(dividingBy: 1) != 0
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
    }

    /// Accepts a text (RFC 3339) and seconds since 1970 as well.
    public var lenientDate: Date? {
        switch self {
        case .date(let date): return date
        case .integer(let seconds): return Date(timeIntervalSince1970: Double(seconds))
        case .real(let seconds): return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil
        case .string(let string):
            let whole = try? Date.ISO8601FormatStyle().parse(string)
            return whole ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(string))
        default: return nil
        }
    }

    // MARK: Parts

    /// The member of a dictionary. Setting one turns null into a dictionary and does nothing for any other shape; null
    /// removes the member.
    public subscript(key: String) -> SecretValue {
        get { dictionary?[key] ?? .null }
        set {
            guard var members = isNull ? [:] : dictionary else { return }
            // A conditional expression with `nil` and a value would make null of the `nil`.
            if newValue.isNull { members.removeValue(forKey: key) } else { members[key] = newValue }
            self = .dictionary(members)
        }
    }

    /// The element of an array. Setting a missing element does nothing.
    public subscript(index: Int) -> SecretValue {
        get {
            guard let array, array.indices.contains(index) else { return .null }
            return array[index]
        }
        set {
            guard var array, array.indices.contains(index) else { return }
            array[index] = newValue
            self = .array(array)
        }
    }

    /// The part at a path of keys and indexes, such as `["servers", 2, "port"]`.
    public subscript(path: [Step]) -> SecretValue {
        get { path.reduce(self) { value, step in value[step] } }
        set {
            guard let step = path.first else { return self = newValue }
            self[step][Array(path.dropFirst())] = newValue
        }
    }

    private subscript(step: Step) -> SecretValue {
        get {
            switch step {
            case .key(let key): self[key]
            case .index(let index): self[index]
            }
        }
        set {
            switch step {
            case .key(let key): self[key] = newValue
            case .index(let index): self[index] = newValue
            }
        }
    }

    /// A step into a value: a key or an index.
    public enum Step: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        /// The value of a key in a dictionary.
        case key(String)
        /// An element of an array, from 0.
        case index(Int)

        public init(stringLiteral key: String) { self = .key(key) }
        public init(integerLiteral index: Int) { self = .index(index) }
    }
}

extension [SecretValue.Step] {
    /// The path in the form used by errors: `servers[2].port`.
    var path: String {
        reduce("") { path, step in
            switch step {
            case .key(let key): path.isEmpty ? key : path + "." + key
            case .index(let index): path + "[\(index)]"
            }
        }
    }
}

extension SecretValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: SecretValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, SecretValue)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
}

/// The flaw of a property list or a JSON text, or the reason why a value cannot be converted to one. Contains no
/// content.
public enum ValueFormatError: Error, Equatable, Sendable {
    /// Neither a binary nor an XML property list.
    case notAPropertyList
    /// The list ends too early or is inconsistent at this byte.
    case malformed(offset: Int)
    /// Nested deeper than ``SecretValue/deepest``, or an object that contains itself.
    case tooDeep
    /// More objects than ``SecretValue/mostObjects``, including objects that few bytes expand to.
    case tooLarge
    /// A shape that the format cannot represent: a null in a property list, or a number that JSON does not allow.
    case unrepresentable(path: String)
    /// Not a JSON text.
    case notJSON
}

extension ValueFormatError: LocalizedError {
    /// The flaw as a sentence, without content of the value.
    public var errorDescription: String? {
        switch self {
        case .notAPropertyList: "This is no property list."
        case .malformed(let offset): "The property list is damaged at byte \(offset)."
        case .tooDeep: "The value is nested deeper than \(SecretValue.deepest) levels, or contains itself."
        case .tooLarge: "The value has more than \(SecretValue.mostObjects) parts."
        case .unrepresentable(let path): "The format cannot say what is at '\(path)'."
        case .notJSON: "This is no JSON text."
        }
    }
}

extension SecretValue {
    /// The maximum nesting of arrays and dictionaries.
    public static let deepest = 128
    /// The maximum number of parts of a value.
    public static let mostObjects = 1 << 20
}
