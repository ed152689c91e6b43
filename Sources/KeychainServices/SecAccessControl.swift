// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault

/// When an item can be read, and what its user must do for it.
public final class SecAccessControl: NSObject, @unchecked Sendable {
    // No type of another module: those who import this one may not know it.
    let encoded: [UInt8]

    init(encoded: [UInt8]) { self.encoded = encoded }

    /// Whether the passphrase of the vault is all that it demands, if anything.
    package var isMetByPassphrase: Bool { AccessControl(parsing: encoded)?.isMetByPassphrase ?? false }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecAccessControl)?.encoded == encoded }

    override public var hash: Int { encoded.hashValue }
}

/// What a user must do, with the bits of Apple's `SecAccessControlCreateFlags`.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    public let rawValue: CFOptionFlags

    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    public static let touchIDAny = biometryAny
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    public static let touchIDCurrentSet = biometryCurrentSet
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    public static let watch = companion
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    fileprivate var isPossible: Bool {
        if isSuperset(of: [.or, .and]) || isSuperset(of: [.biometryAny, .biometryCurrentSet]) { return false }
        return !contains(.userPresence) || isSubset(of: [.userPresence, .applicationPassword, .privateKeyUsage])
    }
}

/// Makes an access control.
///
/// - Parameters:
///   - protection: one of the `kSecAttrAccessible…` values.
///   - flags: without any, the item is protected by its accessibility alone. `.userPresence`, `.devicePasscode`, and
///     sets that `.or` lets the latter meet, make passwords and keys ask for the vault's passphrase each time they are
///     read; `.privateKeyUsage` alone, of a key, asks for nothing. An item with others is refused by `SecItemAdd` and
///     `SecItemUpdate`, errSecUnimplemented: nobody would ask for a fingerprint here, and the item would be less safe
///     than it says.
///   - error: gets an error, retained, with the domain `NSOSStatusErrorDomain` and the code errSecParam.
/// - Returns: nil for another protection or a combination of flags that Apple's systems refuse.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    guard let accessibility = (protection as? String).flatMap(Accessibility.init), flags.isPossible else {
        let refusal = NSError(
            domain: NSOSStatusErrorDomain, code: Int(errSecParam),
            userInfo: [NSLocalizedDescriptionKey: "no access control has this protection and these flags together"])
        // The caller's pointer is valid for the length of the call.
        unsafe error?.pointee = Unmanaged.passRetained(refusal)
        return nil
    }
    return SecAccessControl(encoded: AccessControl(accessibility, constraints: UInt64(flags.rawValue)).encoded)
}
