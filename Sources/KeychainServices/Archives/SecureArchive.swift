// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault

/// The reason why an archive was not stored or read. Never contains content.
public enum SecureArchiveError: Error, Equatable, Sendable {
    /// The status of the corresponding `SecItem…` call, such as errSecInteractionNotAllowed for a locked vault.
    case status(OSStatus)
    /// The archive contains an object of a class that is not on the list, or its root object is of another class than
    /// requested: the name of that class.
    case notAllowed(String)
    /// Not an archive, or an inconsistent one: a dangling reference, an object that contains itself, keys without
    /// values.
    case malformed
    /// The object, or one that it references, does not conform to `NSSecureCoding`, is of a class that an archive
    /// cannot name (a nested, private or generic one), is nested deeper than 128 levels, contains itself, or encodes a
    /// value without a key.
    case notEncodable
}

/// Objects of `NSSecureCoding` in the vault, one generic password each.
///
/// Reading takes a list of classes, like `NSKeyedUnarchiver`; unlike with Foundation's on Linux, an archive with other
/// classes, or a damaged one, is an error.
public enum SecureArchive {
    private static let contentType = "application/x-nskeyedarchive"

    /// Stores an object, replacing an existing one.
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

    /// Reads an object; returns `nil` if there is none.
    ///
    /// - Parameter classes: further classes that the object may reference. For collections, list those of their
    ///   elements too.
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

    /// Removes an object; returns `false` if there was none.
    @discardableResult
    public static func remove(service: String, account: String = "") throws(SecureArchiveError) -> Bool {
        var count = 0
        try perform { store throws(VaultError) in
            count = try store.deleteAll(Query(.genericPassword, service: service, account: account))
        }
        return count > 0
    }

    /// Returns an archive in the format of `NSKeyedArchiver`.
    ///
    /// - Throws: `.notEncodable`, in cases in which Foundation on Linux terminates the process.
    public static func archived(_ object: any NSObject & NSSecureCoding) throws(SecureArchiveError) -> Data {
        try SecureArchiver.data(of: object)
    }

    /// Reads an object from an archive, binary or XML, which may come from another program.
    ///
    /// - Parameter key: the key of the object in the archive; by default that of the root object.
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

    private static func perform(_ call: (any ItemStore) throws(VaultError) -> Void) throws(SecureArchiveError) {
        let status = DefaultStore.perform(hasFlaw: false) { _ in
        } _: { store throws(VaultError) in
            try call(store)
        }
        guard status == errSecSuccess else { throw .status(status) }
    }
}
