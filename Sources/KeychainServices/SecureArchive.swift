// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault

/// Why an archive was not stored or not read. None of it has content in it.
public enum SecureArchiveError: Error, Equatable, Sendable {
    /// What the `SecItem…` call of the same purpose answers, such as errSecInteractionNotAllowed for a locked vault.
    case status(OSStatus)
    /// The archive has an object of a class that is not on the list, or its first object is of another class than the
    /// one asked for: the name of that class.
    case notAllowed(String)
    /// It is no archive, or lies: a reference to nothing, an object that contains itself, keys without values.
    case malformed
    /// The object, or one that it refers to, is not of `NSSecureCoding`, is of a class that an archive cannot name (one
    /// inside of another, a private or a generic one), or lies deeper than 128 objects in each other.
    case notEncodable
}

/// Objects of `NSSecureCoding` in the vault, one generic password each.
///
/// Reading takes a list of classes, as `NSKeyedUnarchiver` does; unlike with Foundation's on Linux, an archive that has
/// others, or is damaged, is an error.
public enum SecureArchive {
    private static let contentType = "application/x-nskeyedarchive"

    /// Stores an object, whether there was one before or not.
    public static func set(
        _ object: any NSObject & NSSecureCoding, service: String, account: String = ""
    ) throws(SecureArchiveError) {
        let data = try archived(object)
        try perform { store throws(VaultError) in
            try store.set(
                Item(
                    .genericPassword(service: service, account: account), userAttributes: ["content-type": contentType],
                    secret: try Secret(copying: data)))
        }
    }

    /// Reads an object; nil when there is none.
    ///
    /// - Parameter classes: further ones that it may refer to. Collections want theirs and those of their elements.
    public static func object<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, allowing classes: [AnyClass] = [], service: String, account: String = ""
    ) throws(SecureArchiveError) -> Object? {
        var data: Data?
        try perform { store throws(VaultError) in
            var query = Query(.genericPassword, service: service, account: account)
            query.returnsSecrets = true
            data = try store.first(query)?.secretData()
        }
        return try data.map { data throws(SecureArchiveError) in try unarchived(data, of: type, allowing: classes) }
    }

    /// Removes an object. Returns false when there was none.
    @discardableResult
    public static func remove(service: String, account: String = "") throws(SecureArchiveError) -> Bool {
        var count = 0
        try perform { store throws(VaultError) in
            count = try store.deleteAll(Query(.genericPassword, service: service, account: account))
        }
        return count > 0
    }

    /// An archive as `NSKeyedArchiver` writes it.
    ///
    /// - Throws: `.notEncodable`, where Foundation on Linux ends the process.
    public static func archived(_ object: any NSObject & NSSecureCoding) throws(SecureArchiveError) -> Data {
        try SecureArchiver.data(of: object)
    }

    /// An object of an archive that another program may have written, binary or XML.
    ///
    /// - Parameter key: under which the archiver encoded the object; by default as the root object.
    public static func unarchived<Object: NSObject & NSSecureCoding>(
        _ data: Data, of type: Object.Type, allowing classes: [AnyClass] = [],
        forKey key: String = NSKeyedArchiveRootObjectKey
    ) throws(SecureArchiveError) -> Object {
        guard let object = try SecureUnarchiver.object(from: data, allowing: [type] + classes, key) else {
            throw .malformed
        }
        guard let typed = object as? Object else {
            throw .notAllowed(SecureUnarchiver.name(of: Swift.type(of: object as AnyObject)))
        }
        return typed
    }

    private static func perform(
        _ call: (any ItemStore) throws(VaultError) -> Void
    ) throws(SecureArchiveError) {
        let status = DefaultStore.perform(hasFlaw: false) { _ in
        } _: { store throws(VaultError) in
            try call(store)
        }
        guard status == errSecSuccess else { throw .status(status) }
    }
}
