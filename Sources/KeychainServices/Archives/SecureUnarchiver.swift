// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// Decodes archives of `NSKeyedArchiver`.
///
/// Foundation's own unarchiver (swift-corelibs-foundation of Swift 6.3.1) terminates the process on a class that is not
/// allowed, and reads beyond its arrays if a dictionary has fewer keys than values. Here an inconsistent archive is an
/// error: Foundation's collections are assembled by hand, and only classes of the caller's list decode themselves.
final class SecureUnarchiver: NSCoder {
    private let objects: [SecretValue]
    private var decoded: [Int: Any] = [:]
    /// The objects being decoded, to refuse one that contains itself.
    private var inProgress: Set<Int> = []
    /// The members of the object being decoded.
    private var members: [String: SecretValue] = [:]
    private(set) var flaw: SecureArchiveError?

    private init(_ objects: [SecretValue]) { self.objects = objects }

    /// - Parameter key: the key of the object among the top-level objects of the archive.
    static func object(
        from data: Data, allowing classes: [AnyClass], _ key: String
    ) throws(SecureArchiveError) -> Any? {
        let archive: SecretValue
        do throws(ValueFormatError) { archive = try SecretValue(archive: data) } catch { throw .malformed }
        guard archive["$archiver"].string == "NSKeyedArchiver", let objects = archive["$objects"].array,
            objects.first?.string == "$null"
        else { throw .malformed }
        let unarchiver = SecureUnarchiver(objects)
        let root = unarchiver.object(archive["$top"][key], allowing: classes)
        if let flaw = unarchiver.flaw { throw flaw }
        return root
    }

    @discardableResult
    private func fail(_ flaw: SecureArchiveError) -> Any? {
        self.flaw = self.flaw ?? flaw
        return nil
    }

    // MARK: Objects

    /// Returns the referenced object; `nil` if there is none, or on error.
    private func object(_ reference: SecretValue, allowing classes: [AnyClass]) -> Any? {
        guard flaw == nil, let number = reference.archivedObject else { return nil }
        guard number != 0 else { return nil }
        guard objects.indices.contains(number) else { return fail(.malformed) }
        guard let object = decoded[number] ?? decode(number, allowing: classes) else { return nil }
        guard let typed = object as? NSObject, isAllowed(typed, classes) else {
            return fail(.notAllowed(Self.name(of: type(of: object as AnyObject))))
        }
        decoded[number] = object
        return object
    }

    private func isAllowed(_ object: NSObject, _ classes: [AnyClass]) -> Bool {
        func isInstance<Class: AnyObject>(_ type: Class.Type) -> Bool { object is Class }
        return classes.contains { isInstance($0) }
    }

    private func decode(_ number: Int, allowing classes: [AnyClass]) -> Any? {
        switch objects[number] {
        case .string(let string): return NSString(string: string)
        case .bool(let bool): return NSNumber(value: bool)
        case .integer(let integer): return NSNumber(value: integer)
        case .unsigned(let integer): return NSNumber(value: integer)
        case .real(let real): return NSNumber(value: real)
        case .data(let data): return NSData(data: data)
        case .date(let date): return NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        case .null, .array: return fail(.malformed)
        case .dictionary(let members): return decode(number, members, allowing: classes)
        }
    }

    private func decode(_ number: Int, _ members: [String: SecretValue], allowing classes: [AnyClass]) -> Any? {
        guard let place = members["$class"]?.archivedObject, objects.indices.contains(place),
            let name = objects[place]["$classname"].string
        else { return fail(.malformed) }
        guard inProgress.count < SecretValue.deepest, inProgress.insert(number).inserted else {
            return fail(.malformed)
        }
        let outer = self.members
        self.members = members
        defer {
            self.members = outer
            inProgress.remove(number)
        }
        // The class comes from the caller's list: the archive's name is never used to look up a class.
        if let collection = foundationObject(name, members, allowing: classes) { return collection }
        guard flaw == nil else { return nil }
        guard
            let type = classes.first(where: { SecureUnarchiver.name(of: $0) == name })
                as? any (NSObject & NSSecureCoding).Type
        else { return fail(.notAllowed(name)) }
        guard let object = type.init(coder: self) else { return fail(.malformed) }
        return object
    }

    /// Returns the name like `NSStringFromClass`, which terminates the process on a nested class.
    static func name(of type: AnyClass) -> String {
        let name = String(reflecting: type)
        return name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
    }

    private func foundationObject(
        _ name: String, _ members: [String: SecretValue], allowing classes: [AnyClass]
    ) -> NSObject? {
        func list(_ key: String) -> [NSObject]? {
            guard let references = members[key]?.array else { return nil }
            let objects = references.compactMap { object($0, allowing: classes) as? NSObject }
            return objects.count == references.count ? objects : nil
        }
        var made: NSObject?
        switch name {
        case "NSArray": made = list("NS.objects").map { NSArray(array: $0) }
        case "NSMutableArray": made = list("NS.objects").map { NSMutableArray(array: $0) }
        case "NSSet": made = list("NS.objects").map { NSSet(array: $0) }
        case "NSMutableSet": made = list("NS.objects").map { NSMutableSet(array: $0) }
        case "NSDictionary", "NSMutableDictionary":
            guard let keys = list("NS.keys"), let values = list("NS.objects"), keys.count == values.count else { break }
            let pairs = zip(keys, values).filter { $0.0 is NSString || $0.0 is NSNumber }
            let dictionary = Dictionary(pairs.map { ($0.0 as AnyHashable, $0.1 as Any) }) { $1 }
            guard dictionary.count == keys.count else { break }
            made =
                name == "NSDictionary"
                ? NSDictionary(dictionary: dictionary) : NSMutableDictionary(dictionary: dictionary)
        case "NSDate": made = members["NS.time"]?.lenientReal.map { NSDate(timeIntervalSinceReferenceDate: $0) }
        case "NSData": made = members["NS.data"]?.data.map { NSData(data: $0) }
        case "NSMutableData": made = members["NS.data"]?.data.map { NSMutableData(data: $0) }
        case "NSString", "NSMutableString": made = members["NS.string"]?.string.map { NSString(string: $0) }
        case "NSNull": made = NSNull()
        case "NSUUID":
            guard let bytes = members["NS.uuidbytes"]?.data, bytes.count == 16 else { break }
            let b = Array(bytes)
            made = NSUUID(
                uuidString: UUID(
                    uuid: (
                        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
                        b[15]
                    )
                ).uuidString)
        case "NSURL":
            let text = members["NS.relative"].flatMap { object($0, allowing: [NSString.self]) } as? NSString
            let base = members["NS.base"].flatMap { object($0, allowing: [NSURL.self]) } as? NSURL
            made = text.flatMap { NSURL(string: $0.description, relativeTo: base.flatMap { $0 as URL }) }
        default: return nil
        }
        if made == nil { fail(.malformed) }
        return made
    }

    // MARK: What a class asks for while it decodes itself

    /// Returns the key under which an archive holds the value that a class encodes with `key`; only the archiver's own
    /// keys begin with one "$".
    static func member(_ key: String) -> String { key.hasPrefix("$") ? "$" + key : key }

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }
    override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
    override var error: (any Error)? { flaw }

    override func failWithError(_ error: any Error) { fail(.malformed) }

    override func containsValue(forKey key: String) -> Bool { members[Self.member(key)] != nil }

    override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        members[Self.member(key)].flatMap { object($0, allowing: classes ?? []) }
    }

    override func decodeObject<Decoded: NSObject & NSCoding>(of type: Decoded.Type, forKey key: String) -> Decoded? {
        members[Self.member(key)].flatMap { object($0, allowing: [type]) } as? Decoded
    }

    /// Refused: without a class there is no list of allowed ones.
    override func decodeObject(forKey key: String) -> Any? {
        members[Self.member(key)]?.archivedObject == 0 ? nil : fail(.notAllowed("any class"))
    }

    override func decodeBool(forKey key: String) -> Bool { value(key) { $0.bool } ?? false }
    override func decodeCInt(forKey key: String) -> Int32 { Int32(exactly: integer(key)) ?? overflow() }
    override func decodeInt32(forKey key: String) -> Int32 { Int32(exactly: integer(key)) ?? overflow() }
    override func decodeInt64(forKey key: String) -> Int64 { Int64(integer(key)) }
    override func decodeInteger(forKey key: String) -> Int { integer(key) }
    override func decodeFloat(forKey key: String) -> Float { Float(decodeDouble(forKey: key)) }
    override func decodeDouble(forKey key: String) -> Double { value(key) { $0.real ?? $0.int.map(Double.init) } ?? 0 }
    override func decodePropertyList(forKey key: String) -> Any? { fail(.notAllowed("any class")) }

    private func integer(_ key: String) -> Int { value(key) { $0.int } ?? 0 }

    private func overflow() -> Int32 {
        fail(.malformed)
        return 0
    }

    /// Returns the value; `nil` if absent; a value of another type is an error.
    private func value<Value>(_ key: String, _ take: (SecretValue) -> Value?) -> Value? {
        guard let member = members[Self.member(key)] else { return nil }
        guard let value = take(member) else {
            fail(.malformed)
            return nil
        }
        return value
    }

    override func withDecodedUnsafeBufferPointer<Result>(
        forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
        guard let data = value(key, { $0.data }) else { return try body(nil) }
        // The bytes live as long as the array, which outlives the body.
        return try unsafe Array(data).withUnsafeBufferPointer { try unsafe body($0) }
    }
}
