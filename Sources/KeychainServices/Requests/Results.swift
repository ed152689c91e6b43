// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// The shapes of the results, which depend on the combination of requested kinds.
extension Request.Results {
    /// Returns the result of SecItemAdd: exactly the requested kinds.
    ///
    /// - Parameter data: the stored bytes, as the caller's object.
    func added(_ item: FoundItem, _ data: NSData?) -> AnyObject? {
        if isSingle { return single(item, data) }
        var dictionary = ResultDictionary()
        if contains(.attributes) { dictionary.add(item.attributes) }
        complete(&dictionary, item, data)
        return dictionary.object
    }

    /// Returns SecItemCopyMatching's result for one item; `nil` for none. The query must have returned secrets if
    /// ``Request/needsSecret``.
    func found(_ item: FoundItem) -> AnyObject? {
        if isSingle { return single(item, nil) }
        // Every combination of kinds includes the attributes.
        var dictionary = ResultDictionary()
        let attributes = item.attributes
        dictionary.add(attributes)
        if attributes[.tombstone] == nil { dictionary.add(kSecAttrTombstone, 0 as NSNumber) }
        if attributes[.multiUser] == nil { dictionary.add(kSecAttrMultiUser, NSData()) }
        if attributes[.accessControl] == nil, let accessibility = item.accessibility {
            dictionary.add(kSecAttrAccessControl, SecAccessControl(encoded: AccessControl(accessibility).encoded))
        }
        complete(&dictionary, item, nil)
        return dictionary.object
    }

    /// Whether at most one kind was requested, and not the attributes.
    var isSingle: Bool { !contains(.attributes) && rawValue & (rawValue - 1) == 0 }

    private func single(_ item: FoundItem, _ data: NSData?) -> AnyObject? {
        switch self {
        case .data: data ?? item.data
        case .persistentReference: item.persistentReference
        case .reference: item.object
        default: nil
        }
    }

    private func complete(_ dictionary: inout ResultDictionary, _ item: FoundItem, _ data: NSData?) {
        if contains(.data) { dictionary.add(kSecValueData, data ?? item.data) }
        if contains(.persistentReference) { dictionary.add(kSecValuePersistentRef, item.persistentReference) }
        if contains(.reference) {
            dictionary.add(kSecClass, item.className as NSString)
            dictionary.add(kSecValueRef, item.object)
        }
    }
}

/// A dictionary made of Foundation's own objects: one that is bridged from Swift takes three times as long.
struct ResultDictionary {
    private var keys: [NSObject] = []
    private var objects: [AnyObject] = []

    @safe private static nonisolated(unsafe) let names = Dictionary(
        uniqueKeysWithValues: Attribute.allCases.map { ($0, $0.name as NSString) })

    mutating func add(_ key: NSString, _ object: AnyObject?) {
        guard let object else { return }
        keys.append(key)
        objects.append(object)
    }

    /// Adds the attributes with Apple's names, in the types that the caller gave them.
    mutating func add(_ attributes: [Attribute: AttributeValue]) {
        keys.reserveCapacity(attributes.count + 5)
        objects.reserveCapacity(attributes.count + 5)
        for (attribute, value) in attributes {
            guard let name = ResultDictionary.names[attribute] else { continue }
            let object: AnyObject =
                switch (attribute, value) {
                case (.accessControl, .data(let bytes)): SecAccessControl(encoded: bytes)
                case (_, .string(let string)): string as NSString
                case (_, .data(let bytes)): Data(bytes) as NSData
                case (_, .number(let number)): NSNumber(value: number)
                case (_, .real(let real)): NSNumber(value: real)
                case (_, .bool(let bool)): NSNumber(value: bool)
                case (_, .date(let date)): date as NSDate
                }
            add(name, object)
        }
    }

    // Both arrays have `count` elements.
    var object: NSDictionary { unsafe NSDictionary(objects: objects, forKeys: keys, count: keys.count) }
}
