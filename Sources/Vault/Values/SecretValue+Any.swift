// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

// Conversion between values and untyped objects: those of property lists and of JSONSerialization.

extension SecretValue {
    /// Makes a value of an object of any type of property lists or JSON: text, numbers, bools, data, dates, URLs (as
    /// their text), nil, and arrays and dictionaries of these. Classes of Foundation (`NSString`, `NSNumber`, `NSNull`
    /// …) are accepted as well.
    ///
    /// - Throws: `.unrepresentable` with the path to an object of another type, or a dictionary whose keys are not
    ///   text; `.tooDeep`; `.tooLarge`.
    public init(any object: Any) throws(ValueFormatError) {
        var left = SecretValue.mostObjects
        self = try SecretValue.made(of: object, [], &left)
    }

    private static func made(
        of object: Any, _ path: [Step], _ left: inout Int
    ) throws(ValueFormatError) -> SecretValue {
        guard path.count <= deepest else { throw .tooDeep }
        guard left > 0 else { throw .tooLarge }
        left -= 1
        switch object {
        case let value as SecretValue: return value
        case let scalar as any ValueScalar: return scalar.secretValue
        case let url as URL: return .string(url.absoluteString)
        case let elements as [Any]:
            var array: [SecretValue] = []
            for (index, element) in elements.enumerated() {
                array.append(try made(of: element, path + [.index(index)], &left))
            }
            return .array(array)
        case let members as [String: Any]:
            var dictionary: [String: SecretValue] = [:]
            for (key, member) in members { dictionary[key] = try made(of: member, path + [.key(key)], &left) }
            return .dictionary(dictionary)
        default:
            if let optional = object as? any OptionalValue, optional.isNil { return .null }
            guard let value = SecretValue(bridged: object) else { throw .unrepresentable(path: path.path) }
            return value
        }
    }

    /// Converts an object of a Foundation class, without linking Foundation here: in a program that links it, the casts
    /// to Swift types succeed. A number casts to every type that it fits, so its class and its text decide.
    private init?(bridged object: Any) {
        guard type(of: object) is AnyClass else { return nil }
        let (name, text) = (String(describing: type(of: object)), String(describing: object))
        if name == "NSNull" {
            self = .null
        } else if name == "__NSCFBoolean", let bool = object as? Bool {
            self = .bool(bool)
        } else if let integer = object as? Int64, text.utf8.allSatisfy({ $0 == 0x2D || (0x30...0x39).contains($0) }) {
            self = .integer(integer)
        } else if let integer = object as? UInt64, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            self = .unsigned(integer)
        } else if let real = object as? Double {
            self = .real(real)
        } else if let string = object as? String {
            self = .string(string)
        } else if let data = object as? Data {
            self = .data(data)
        } else if let date = object as? Date {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// The value as an object of a Swift type: `Bool`, `Int`, `UInt`, `Double`, `String`, `Data`, `Date`, `[Any]` or
    /// `[String: Any]`; `nil` for null, also inside arrays and dictionaries.
    public var any: Any? {
        switch self {
        case .null: nil
        case .bool(let bool): bool
        case .integer(let integer): Int(integer)
        case .unsigned(let integer): UInt(integer)
        case .real(let real): real
        case .string(let string): string
        case .data(let data): data
        case .date(let date): date
        case .array(let elements): elements.map { $0.any as Any }
        case .dictionary(let members): members.mapValues { $0.any as Any }
        }
    }
}

protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    var isNil: Bool { self == nil }
}
