// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultFormat

/// A dictionary of one of the four calls, parsed by the spelling of its keys, like Apple's SecDbQuery.c.
///
/// A part that the engine cannot represent becomes the request's flaw, which is ordered among the engine's own errors.
///
/// Size: the properties are the groups of keys that a call may have.
struct Request {
    enum Call { case add, copyMatching, update, delete }

    struct Results: OptionSet {
        let rawValue: Int
        static let data = Results(rawValue: 1)
        static let attributes = Results(rawValue: 2)
        static let reference = Results(rawValue: 4)
        static let persistentReference = Results(rawValue: 8)
    }

    private let call: Call
    private var givenClass: ItemClass?
    private(set) var attributes: [Attribute: AttributeValue] = [:]
    private(set) var data: NSData?
    private(set) var results: Results = []
    private(set) var limit: Query.Limit?
    private(set) var flaw: VaultError?
    /// The error that Apple's library reports before it calls its daemon, which checks the access groups first.
    private(set) var refusal: VaultError?
    /// The object that stands for attributes, if any.
    private(set) var reference: ItemReference?
    /// Whether the request is for identities, which are pairs of items.
    private(set) var isOfIdentities = false
    private var persistentReference: [UInt8]?
    private var conditions: Set<Query.MatchCondition> = []
    private(set) var filter = CertificateFilter()
    private var hostOrSubdomain: String?
    private var leavesTombstones: Bool?
    private(set) var people = People()

    init(_ dictionary: NSDictionary, for call: Call) {
        self.call = call
        var className: String?
        attributes.reserveCapacity(min(dictionary.count, 16))
        for (key, value) in dictionary.entries {
            do throws(VaultError) { try take(key, value, &className) } catch { flaw = flaw ?? error }
        }
        if dictionary.count > 128 { flaw = .parameter(.key("")) }
        let named = className ?? referencedClassName ?? (reference?.identity == nil ? nil : "idnt")
        isOfIdentities = givenClass == nil && named == "idnt"
        if isOfIdentities, call == .add, reference?.identity == nil { flaw = flaw ?? .unimplemented }
        if let error = classFlaw(className) { flaw = error }
        if let reference { expand(reference) }
        // Apple's order: flaws in the rest of the query take precedence.
        if call == .update, !results.isEmpty { flaw = flaw ?? .parameter(.key("r_")) }
    }

    private mutating func take(_ key: Any, _ value: Any, _ className: inout String?) throws(VaultError) {
        guard let name = (key as? NSString).map({ $0 as String }) else {
            throw key is NSNumber ? .noSuchAttribute("\(key)") : .parameter(.key(""))
        }
        let spelling = name.utf8
        guard spelling.count > 1 else { throw .parameter(.key(name)) }
        if spelling.count == 4 {
            do throws(VaultError) { try takeAttribute(name, value, into: &attributes) } catch {
                if name == "clip" || name == "accc" { refusal = error }
                throw error
            }
        } else {
            switch spelling.first {
            case UInt8(ascii: "c") where name == "class":
                className = (value as? NSString).map { $0 as String }
                givenClass = className.flatMap(ItemClass.init)
            case UInt8(ascii: "r"): try takeResult(name, value)
            case UInt8(ascii: "v"): try takeValue(name, value)
            case UInt8(ascii: "m"): try takeMatch(name, value)
            case UInt8(ascii: "u"): try takeUse(name, value)
            case UInt8(ascii: "f"): break
            default: throw .parameter(.key(name))
            }
        }
    }

    /// Adds the attributes of the object, except those that the caller has given.
    private mutating func expand(_ reference: ItemReference) {
        do throws(VaultError) {
            attributes.merge(try reference.attributes(isQuery: call != .add)) { given, _ in given }
        } catch { flaw = flaw ?? error }
    }

    private func classFlaw(_ name: String?) -> VaultError? {
        guard givenClass == nil else { return nil }
        // A class other than a string counts as missing; a reference implies a class.
        guard let name else { return persistentReference == nil && reference == nil ? .parameter(.classMissing) : nil }
        return name == "idnt" ? nil : .noSuchClass
    }

    private mutating func takeResult(_ name: String, _ value: Any) throws(VaultError) {
        guard let number = value as? NSNumber, isBoolean(number) else { throw .parameter(.key(name)) }
        let result: Results
        switch name {
        case "r_Data": result = .data
        case "r_Attributes": result = .attributes
        case "r_Ref": result = .reference
        case "r_PersistentRef": result = .persistentReference
        default: throw .parameter(.key(name))
        }
        if number.boolValue { results.insert(result) }
    }

    private mutating func takeValue(_ name: String, _ value: Any) throws(VaultError) {
        switch name {
        case "v_Data":
            guard let bytes = value as? NSData else { throw .parameter(.key(name)) }
            data = bytes
        case "v_PersistentRef":
            guard call != .add, let bytes = value as? Data else { throw .parameter(.persistentReference) }
            persistentReference = Array(bytes)
        case "v_Ref":
            reference = ItemReference(value)
            guard reference != nil else { throw .parameter(.key(name)) }
        default: throw .parameter(.key(name))
        }
    }

    private mutating func takeMatch(_ name: String, _ value: Any) throws(VaultError) {
        // Apple's systems would report success and store nothing.
        guard call != .add else { throw .parameter(.matchKey) }
        switch name {
        case "m_Limit": limit = try Request.limit(value)
        case "m_Policy":
            guard let policy = value as? SecPolicy else { throw .parameter(.key(name)) }
            filter.policy = policy
            conditions.insert(.policy)
        case "m_Issuers":
            filter.issuers = (value as? [Any] ?? []).compactMap { name in
                (name as? NSData).flatMap { $0.withSpan { DistinguishedName.normalized(wholeName: $0) } }
            }
            conditions.insert(filter.issuers.isEmpty ? .withoutEffect : .issuers)
        case "m_HostOrSubdomainOfHost":
            guard let host = value as? String else { throw .parameter(.key(name)) }
            hostOrSubdomain = host
        case "m_EmailAddressIfPresent":
            guard let address = value as? String else { throw .parameter(.key(name)) }
            filter.emailAddress = address
            conditions.insert(.emailAddress)
        case "m_TrustedOnly":
            guard let number = value as? NSNumber, isBoolean(number) else { throw .parameter(.key(name)) }
            filter.isTrusted = number.boolValue
            conditions.insert(number.boolValue ? .trustedOnly : .withoutEffect)
        case "m_ValidOnDate":
            guard value is Date || value is NSNull else { throw .parameter(.key(name)) }
            filter.validOn = value as? Date ?? Date()
            conditions.insert(.validOnDate)
        default:
            guard isPropertyList(value) else { throw .parameter(.key(name)) }
            conditions.insert(.withoutEffect)
        }
    }

    private static func limit(_ value: Any) throws(VaultError) -> Query.Limit {
        switch value {
        case let name as String where name == "m_LimitOne": return .one
        case let name as String where name == "m_LimitAll": return .all
        case let number as NSNumber where !isBoolean(number):
            let count = number.intValue
            return count == 1 ? .one : .count(count)
        default: throw .parameter(.limit)
        }
    }

    private mutating func takeUse(_ name: String, _ value: Any) throws(VaultError) {
        switch name {
        case "u_AuthUI" where call != .copyMatching && value as? String == "u_AuthUIS":
            refusal = .parameter(.key(name))
            throw .parameter(.key(name))
        case "u_AuthUI", "u_OpPrompt", "u_NoAuthUI": try people.take(name, value)
        case "u_AuthCtx":
            guard !isPropertyList(value) else { throw .parameter(.key(name)) }
            try people.take(name, value)
        case "u_CredRef":
            guard value is Data else { throw .parameter(.key(name)) }
        case "u_Tomb":
            if let number = value as? NSNumber {
                leavesTombstones = number.boolValue
            } else if let text = value as? String {
                leavesTombstones = (text as NSString).boolValue
            } else {
                throw .parameter(.key(name))
            }
        case "u_UserIndependentKeychain": throw .unimplemented
        // These need an entitlement of Apple's own programs.
        case "u_SystemKeychain", "u_SystemKeychainAlways", "u_SyncBubbleKeychain": throw .accessGroupDenied
        default: throw .parameter(.key(name))
        }
    }
}

extension Request {
    /// Whether `kSecValueRef` is an identity.
    var isByIdentity: Bool { reference?.identity != nil }

    /// The class, which a persistent reference may imply.
    var itemClass: ItemClass? { givenClass ?? reference?.itemClass ?? referencedClassName.flatMap(ItemClass.init) }

    /// Whether the results are certificates or identities.
    var isOfCertificates: Bool { isOfIdentities || itemClass == .certificate }

    private var referencedClassName: String? {
        persistentReference.map { String(decoding: $0.prefix(4), as: UTF8.self) }
    }

    /// The query for the engine.
    var query: Query {
        var query = Query(givenClass ?? reference?.itemClass, attributes: attributes, limit: limit)
        query.synchronizableAny = false
        query.findsIdentities = isOfIdentities
        query.persistentReference = persistentReference
        // Conditions on certificates are checked here, with their bytes; in changes the engine refuses them.
        query.conditions = isOfCertificates && call == .copyMatching ? [] : conditions
        query.hostOrSubdomain = hostOrSubdomain
        query.leavesTombstones = leavesTombstones
        query.presence = people.presence
        return query
    }
}

extension NSDictionary {
    /// The keys and values in the same order, as the dictionary's own objects. Iterating the dictionary itself bridges
    /// each of them, which takes longer than the rest of a call.
    var entries: Zip2Sequence<[Any], [Any]> { zip(allKeys, allValues) }
}

/// Reads an attribute with a four-character key.
func takeAttribute(_ name: String, _ value: Any, into attributes: inout [Attribute: AttributeValue]) throws(VaultError)
{
    guard let attribute = Attribute(name: name) else {
        switch name {
        case "nleg": return
        // Columns of Apple's database that callers cannot use, and app clips.
        case "data", "v_pk", "clip": throw .parameter(.key(name))
        // These need entitlements that only Apple's own programs have.
        case "ggrp", "sysb", "pcss", "pcsk", "pcsi", "binn", "bini", "bin0", "bin1", "bin2", "bin3":
            throw .accessGroupDenied
        case "UUID": throw .unimplemented
        default: throw .noSuchAttribute(name)
        }
    }
    switch (attribute, value) {
    case (.accessControl, let control as SecAccessControl): attributes[attribute] = .data(control.encoded)
    case (.accessControl, _): throw .parameter(.attributeValue(name))
    case (.issuer, _):
        guard let issuer = value as? NSData else { throw .parameter(.attributeValue(name)) }
        // The name as in a certificate, or already normalized as it is stored.
        attributes[attribute] = .data(
            issuer.withSpan { DistinguishedName.normalized(wholeName: $0) } ?? Array(issuer as Data))
    case (.multiUser, is NSNull): attributes[attribute] = .data([])
    default:
        guard let value = AttributeValue(value) else { throw .parameter(.attributeValue(name)) }
        attributes[attribute] = value
    }
}

extension AttributeValue {
    /// Fails for a value of a type that no attribute takes.
    fileprivate init?(_ value: Any) {
        switch value {
        case let string as NSString: self = .string(string as String)
        case let data as NSData: self = .data(Array(data as Data))
        case let number as NSNumber:
            if isBoolean(number) {
                self = .bool(number.boolValue)
            } else if let integer = Int64(exactly: number) {
                self = .number(integer)
            } else if unsafe number.objCType.pointee == CChar(UInt8(ascii: "Q")) {
                // A larger number would be rounded.
                return nil
            } else {
                self = .real(number.doubleValue)
            }
        case let date as NSDate: self = .date(date as Date)
        default: return nil
        }
    }
}

/// Returns whether the value is of a type that Apple's calls pass on to their daemon.
private func isPropertyList(_ value: Any) -> Bool {
    switch value {
    case is NSString, is NSData, is NSNumber, is NSDate, is NSArray, is NSDictionary, is NSNull: true
    default: false
    }
}
