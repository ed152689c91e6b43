// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A certificate with its private key.
public final class SecIdentity: NSObject, @unchecked Sendable {
    let certificate: SecCertificate
    let key: SecKey

    /// - Parameter key: the private key that matches the certificate's public key.
    init(certificate: SecCertificate, key: SecKey) { (self.certificate, self.key) = (certificate, key) }

    override public func isEqual(_ other: Any?) -> Bool {
        guard let other = other as? SecIdentity else { return false }
        return certificate.isEqual(other.certificate) && key.isEqual(other.key)
    }

    override public var hash: Int { certificate.hash }

    override public var description: String { "<SecIdentity \(certificate.description), \(key.description)>" }
}

/// - Returns: `nil` unless the private key matches the certificate's public key.
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.isPrivate, let publicKey = SecCertificateCopyKey(certificate),
        publicKey.isEqual(privateKey.publicKey)
    else { return nil }
    return SecIdentity(certificate: certificate, key: privateKey)
}

/// Finds the private key of a certificate in the vault.
///
/// - Parameters:
///   - keychainOrArray: ignored: there is one vault.
///   - identityRef: untouched on every error.
/// - Returns: errSecSuccess; errSecItemNotFound if no private key matches the certificate; otherwise as
///   ``SecItemCopyMatching(_:_:)``.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate,
    _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    do throws(StatusError) {
        let query: [String: Any] = [
            "class": kSecClassKey, "kcls": kSecAttrKeyClassPrivate, "klbl": Data(try certificateRef.publicKeyHash),
            "sync": kSecAttrSynchronizableAny, "r_Ref": true,
        ]
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess else { return status }
        guard let key = found as? SecKey else { return errSecItemNotFound }
        // The caller's pointer is valid for the duration of the call.
        unsafe identityRef.pointee = SecIdentity(certificate: certificateRef, key: key)
        return errSecSuccess
    } catch { return error.status }
}

@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe privateKeyRef.pointee = identityRef.key
    return errSecSuccess
}
