// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault

/// The conditions for reading an item: when, and with which consent of the user.
public final class SecAccessControl: NSObject, @unchecked Sendable {
    // No type of another module, which modules that import this one may not know.
    let encoded: [UInt8]

    init(encoded: [UInt8]) { self.encoded = encoded }

    /// Whether the vault's passphrase satisfies all constraints, if any.
    package var isMetByPassphrase: Bool { AccessControl(parsing: encoded)?.isMetByPassphrase ?? false }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecAccessControl)?.encoded == encoded }

    override public var hash: Int { encoded.hashValue }
}

/// The constraints on the user, with the bits of Apple's `SecAccessControlCreateFlags`.
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
///   - flags: without any, the item is protected by its accessibility only. `.userPresence`, `.devicePasscode`, and
///     sets that `.or` makes the latter satisfy, make each reading of a password or key ask for the vault's passphrase;
///     `.privateKeyUsage` alone, for a key, asks for nothing. `SecItemAdd` and `SecItemUpdate` refuse other flags with
///     errSecUnimplemented: no fingerprint would be checked here, and the item would be less secure than it claims.
///   - error: receives a retained error with the domain `NSOSStatusErrorDomain` and the code errSecParam.
/// - Returns: `nil` for another protection or a combination of flags that Apple's systems refuse.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    guard let accessibility = (protection as? String).flatMap(Accessibility.init), flags.isPossible else {
        let refusal = NSError(
            domain: NSOSStatusErrorDomain, code: Int(errSecParam),
            userInfo: [NSLocalizedDescriptionKey: "no access control has this protection and these flags together"])
        // The caller's pointer is valid for the duration of the call.
        unsafe error?.pointee = Unmanaged.passRetained(refusal)
        return nil
    }
    return SecAccessControl(encoded: AccessControl(accessibility, constraints: UInt64(flags.rawValue)).encoded)
}
