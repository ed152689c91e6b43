// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// Encodes objects in the format of `NSKeyedArchiver`.
///
/// Foundation's own archiver (swift-corelibs-foundation of Swift 6.3.1) terminates the process on an object without
/// `NSSecureCoding`, on a class whose name is not `Module.Class`, and on a chain of objects deeper than the stack. Its
/// tables are keyed by `hash` and `isEqual(_:)`, which contradict each other in its own classes: two `NSNull`, or a
/// text composed and decomposed, terminate the process now and then. Here an object is its address, Foundation's values
/// and collections are taken apart by hand, and only other classes encode themselves.
final class SecureArchiver: NSCoder {
    /// The objects of the archive, after "$null".
    private var objects: [SecretValue] = ["$null"]
    /// The number of each encoded object.
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var classNumbers: [String: Int] = [:]
    /// Keeps every encoded object alive, since another object may get the address of a released one.
    private var kept: [NSObject] = []
    /// The members of the object being encoded.
    private var members: [String: SecretValue] = [:]
    /// The objects whose parts are being encoded.
    private var open: Set<Int> = []
    private var isRefused = false

    static func data(of object: any NSObject & NSSecureCoding) throws(SecureArchiveError) -> Data {
        let archiver = SecureArchiver()
        let root = archiver.reference(to: object)
        guard !archiver.isRefused else { throw .notEncodable }
        let archive: SecretValue = [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": [NSKeyedArchiveRootObjectKey: root],
            "$objects": .array(archiver.objects),
        ]
        do throws(ValueFormatError) { return try archive.archive() } catch { throw .notEncodable }
    }

    @discardableResult
    private func refuse() -> SecretValue {
        isRefused = true
        return .archivedObject(0)
    }

    // MARK: Objects

    /// Encodes an object unless that is done, and returns the reference to it.
    private func reference(to value: Any?) -> SecretValue {
        guard let value, !isRefused else { return .archivedObject(0) }
        guard let object = value as? NSObject else { return refuse() }
        if let encoded = reference(toEncoded: object) { return encoded }
        guard open.count < SecretValue.deepest else { return refuse() }
        let number = objects.count
        numbers[ObjectIdentifier(object)] = number
        kept.append(object)
        objects.append("$null")
        open.insert(number)
        objects[number] = encoded(object)
        open.remove(number)
        return .archivedObject(number)
    }

    /// Returns `nil` if the object is not encoded. An object that contains itself could not be read again.
    private func reference(toEncoded object: NSObject) -> SecretValue? {
        guard let number = numbers[ObjectIdentifier(object)] else { return nil }
        return open.contains(number) ? refuse() : .archivedObject(number)
    }

    private func encoded(_ object: NSObject) -> SecretValue {
        let named: AnyClass = object.classForKeyedArchiver ?? type(of: object)
        switch object {
        case is NSDecimalNumber: return refuse()
        case let string as NSString where named == NSString.self: return .string(string.description)
        case let data as NSData where named == NSData.self: return .data(Data(referencing: data))
        case let number as NSNumber where named == NSNumber.self: return SecretValue(archiving: number)
        default: break
        }
        let classReference = classReference(named)
        if !SecureUnarchiver.name(of: named).contains("."), let members = foundationMembers(of: object) {
            return .dictionary(members.merging(["$class": classReference]) { $1 })
        }
        guard let coding = object as? any NSSecureCoding, type(of: coding).supportsSecureCoding else { return refuse() }
        let outer = members
        members = [:]
        defer { members = outer }
        coding.encode(with: self)
        members["$class"] = classReference
        return .dictionary(members)
    }

    /// The members of Foundation's collections, and of those values that encode themselves with `NSKeyedArchiver` only.
    private func foundationMembers(of object: NSObject) -> [String: SecretValue]? {
        func list(_ elements: some Sequence<Any>) -> SecretValue { .array(elements.map { reference(to: $0) }) }
        return switch object {
        case let array as NSArray: ["NS.objects": list(array)]
        case let set as NSSet: ["NS.objects": list(set)]
        case let dictionary as NSDictionary:
            ["NS.keys": list(dictionary.allKeys), "NS.objects": list(dictionary.allValues)]
        case let date as NSDate: ["NS.time": .real(date.timeIntervalSinceReferenceDate)]
        case let data as NSMutableData: ["NS.data": .data(Data(referencing: data))]
        case let string as NSMutableString: ["NS.string": .string(string.description)]
        case is NSNull: [:]
        default: nil
        }
    }

    /// Encodes the description of a class unless that is done, and returns the reference to it.
    private func classReference(_ type: AnyClass) -> SecretValue {
        var names: [String] = []
        var next: AnyClass? = type
        while let type = next {
            // Only a class at the top level of a module has a name that a reader can look up.
            guard String(reflecting: type).utf8.count(where: { $0 == UInt8(ascii: ".") }) == 1 else { return refuse() }
            names.append(SecureUnarchiver.name(of: type))
            next = _getSuperclass(type)
        }
        if let number = classNumbers[names[0]] { return .archivedObject(number) }
        classNumbers[names[0]] = objects.count
        objects.append(["$classname": .string(names[0]), "$classes": .array(names.map { .string($0) })])
        return .archivedObject(objects.count - 1)
    }

    // MARK: What a class calls while it encodes itself

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }

    private func set(_ value: SecretValue, _ key: String) { members[SecureUnarchiver.member(key)] = value }

    override func encode(_ object: Any?, forKey key: String) { set(reference(to: object), key) }

    override func encodeConditionalObject(_ object: Any?, forKey key: String) {
        if let object = object as? NSObject, let encoded = reference(toEncoded: object) { set(encoded, key) }
    }

    override func encode(_ bool: Bool, forKey key: String) { set(.bool(bool), key) }
    override func encode(_ integer: Int32, forKey key: String) { set(.integer(Int64(integer)), key) }
    override func encode(_ integer: Int64, forKey key: String) { set(.integer(integer), key) }
    override func encode(_ integer: Int, forKey key: String) { set(.integer(Int64(integer)), key) }
    override func encode(_ real: Float, forKey key: String) { set(.real(Double(real)), key) }
    override func encode(_ real: Double, forKey key: String) { set(.real(real), key) }

    override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
        set(.data(unsafe Data(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : length))), key)
    }

    // Without keys nothing can be found again by a reader with a list of classes.
    override func encode(_ object: Any?) { refuse() }
    override func encode(_ data: Data) { refuse() }
    override func encodePropertyList(_ list: Any) { refuse() }
    override func encodeValue(ofObjCType type: UnsafePointer<Int8>, at address: UnsafeRawPointer) { refuse() }
    override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) { refuse() }
}

extension SecretValue {
    /// A number with the type that `NSKeyedArchiver` writes.
    fileprivate init(archiving number: NSNumber) {
        if isBoolean(number) {
            self = .bool(number.boolValue)
            return
        }
        switch unsafe UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): self = .real(number.doubleValue)
        case UInt8(ascii: "Q"): self = SecretValue(number.uint64Value) ?? .unsigned(number.uint64Value)
        default: self = .integer(number.int64Value)
        }
    }
}
