// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// A value of any shape that a property list or JSON can have, and null.
///
/// Reading one never traps and never guesses: `int` is there for an integer alone, `lenientInt` also for `"12"`, `12.0`
/// and `true`. What is not there is nil at any depth: `settings["servers"][2]["port"].int`.
public enum SecretValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// An integer beyond `Int64.max`.
    case unsigned(UInt64)
    case real(Double)
    case string(String)
    case data(Data)
    case date(Date)
    case array([SecretValue])
    case dictionary([String: SecretValue])
}

extension SecretValue {
    /// An integer in the one case that it belongs to. Nil: it needs more than 64 bits.
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

    public var isNull: Bool { self == .null }

    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

    public var int: Int? { if case .integer(let integer) = self { Int(exactly: integer) } else { nil } }

    public var uint: UInt? {
        switch self {
        case .integer(let integer): UInt(exactly: integer)
        case .unsigned(let integer): UInt(exactly: integer)
        default: nil
        }
    }

    public var real: Double? { if case .real(let real) = self { real } else { nil } }

    public var string: String? { if case .string(let string) = self { string } else { nil } }

    public var data: Data? { if case .data(let data) = self { data } else { nil } }

    public var date: Date? { if case .date(let date) = self { date } else { nil } }

    public var array: [SecretValue]? { if case .array(let array) = self { array } else { nil } }

    public var dictionary: [String: SecretValue]? {
        if case .dictionary(let dictionary) = self { dictionary } else { nil }
    }

    // MARK: Lenient

    /// Also `0` and `1`, and the words yes, no, true, false, 0 and 1, whatever their case.
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

    /// Also a real that is an integer, a text that is one, and a bool.
    public var lenientInt: Int? {
        switch self {
        case .integer(let integer): Int(exactly: integer)
        case .real(let real): Int(exactly: real)
        case .string(let string): Int(string) ?? Double(string).flatMap { Int(exactly: $0) }
        case .bool(let bool): bool ? 1 : 0
        default: nil
        }
    }

    /// Also an integer, as near as a real comes to it, a text that is a number, and a bool.
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

    /// Also a number, a bool, a date (RFC 3339, with milliseconds where there are any) and data that is UTF-8.
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

    /// Also a text (RFC 3339), and seconds since 1970.
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

    /// The member of a dictionary. Setting one makes a dictionary of null, and does nothing to any other shape; null
    /// removes the member.
    public subscript(key: String) -> SecretValue {
        get { dictionary?[key] ?? .null }
        set {
            guard var members = isNull ? [:] : dictionary else { return }
            // Not 'nil' in one expression with a value, which would be null.
            if newValue.isNull { members.removeValue(forKey: key) } else { members[key] = newValue }
            self = .dictionary(members)
        }
    }

    /// The element of an array. Setting one does nothing where there is none.
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

    /// What keys and indexes lead to, such as `["servers", 2, "port"]`.
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
        case key(String)
        case index(Int)

        public init(stringLiteral key: String) { self = .key(key) }
        public init(integerLiteral index: Int) { self = .index(index) }
    }
}

extension [SecretValue.Step] {
    /// As an error says it: `servers[2].port`.
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

/// What is wrong with a property list or a JSON text, or why a value cannot become one. None of it has content in it.
public enum ValueFormatError: Error, Equatable, Sendable {
    /// Neither a binary nor an XML property list.
    case notAPropertyList
    /// It ends too early, or says something impossible, at this byte.
    case malformed(offset: Int)
    /// Deeper than ``SecretValue/deepest``, or an object that is a part of itself.
    case tooDeep
    /// More objects than ``SecretValue/mostObjects``, also when few bytes unfold to so many.
    case tooLarge
    /// A shape that the format has not: a null in a property list, a number that JSON cannot say.
    case unrepresentable(path: String)
    /// No JSON text.
    case notJSON
}

extension ValueFormatError: LocalizedError {
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
    /// How deep arrays and dictionaries may lie in each other.
    public static let deepest = 128
    /// How many parts a value may have.
    public static let mostObjects = 1 << 20
}
