// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// The shapes of what the calls give back, which depend on what was asked for together.
extension Request.Results {
    /// What SecItemAdd gives back: exactly what was asked for.
    ///
    /// - Parameter data: the bytes that were stored, as the caller gave them.
    func added(_ item: Item, _ data: NSData?) -> AnyObject? {
        if isSingle { return single(item, data) }
        var dictionary = contains(.attributes) ? item.dictionary : [:]
        complete(&dictionary, item, data)
        return dictionary as NSDictionary
    }

    /// What SecItemCopyMatching gives back for one item; the query asked for secrets if ``needsSecret(of:)``. Nil: nothing.
    func found(_ item: Item) -> AnyObject? {
        let data = item.data
        if isSingle { return single(item, data) }
        // Whatever is asked for together brings the attributes with it, and these some that Apple's systems always have.
        var dictionary = item.dictionary
        dictionary["tomb"] = dictionary["tomb"] ?? 0
        dictionary["musr"] = dictionary["musr"] ?? Data()
        dictionary["accc"] = dictionary["accc"] ?? item.accessibility.map { SecAccessControl(encoded: AccessControl($0).encoded) }
        complete(&dictionary, item, data)
        return dictionary as NSDictionary
    }

    func needsSecret(of itemClass: ItemClass?) -> Bool { contains(.data) || contains(.reference) && itemClass == .certificate }

    /// Whether one thing alone was asked for that is no dictionary, or nothing.
    var isSingle: Bool { !contains(.attributes) && rawValue & (rawValue - 1) == 0 }

    private func single(_ item: Item, _ data: NSData?) -> AnyObject? {
        switch self {
        case .data: data
        case .persistentReference: item.persistentReference.map { $0 as NSData }
        case .reference: item.certificate(data)
        default: nil
        }
    }

    private func complete(_ dictionary: inout [String: Any], _ item: Item, _ data: NSData?) {
        if contains(.data) { dictionary["v_Data"] = data }
        if contains(.persistentReference) { dictionary["v_PersistentRef"] = item.persistentReference }
        if contains(.reference) {
            dictionary["class"] = item.itemClass.rawValue
            dictionary["v_Ref"] = item.certificate(data)
        }
    }
}

extension Item {
    /// The secret, which leaves its protection here, once, because Apple's signature says so.
    fileprivate var data: NSData? {
        secret?.withBytes { bytes in
            // The bytes are there for the length of the call, and copied in it.
            unsafe bytes.withUnsafeBytes { unsafe NSData(bytes: $0.baseAddress, length: $0.count) }
        }
    }

    fileprivate var persistentReference: Data? { record.map { Data($0.persistentReference) } }

    fileprivate var accessibility: Accessibility? { attributes[.accessible]?.text.flatMap(Accessibility.init) }

    /// Passwords have no object of their own on Apple's systems either.
    fileprivate func certificate(_ data: NSData?) -> SecCertificate? {
        itemClass == .certificate ? data.flatMap { SecCertificate($0 as Data) } : nil
    }

    /// The attributes under Apple's names, each in the type that the caller gave it.
    fileprivate var dictionary: [String: Any] {
        var dictionary: [String: Any] = [:]
        for (attribute, value) in attributes {
            dictionary[attribute.name] =
                switch (attribute, value) {
                case (.accessControl, .data(let bytes)): SecAccessControl(encoded: bytes)
                case (_, .string(let string)): string
                case (_, .data(let bytes)): Data(bytes)
                case (_, .number(let number)): NSNumber(value: number)
                case (_, .real(let real)): NSNumber(value: real)
                case (_, .bool(let bool)): NSNumber(value: bool)
                case (_, .date(let date)): date
                }
        }
        return dictionary
    }
}
