// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A purpose for which a certificate is evaluated.
public final class SecPolicy: NSObject, @unchecked Sendable {
    /// The checks beyond the chain itself.
    enum Rule: Hashable {
        case basic
        /// - Parameters:
        ///   - isServer: whether the certificate is a server's, evaluated by its client.
        ///   - host: a name or an address; `nil` to not check it.
        case ssl(isServer: Bool, host: String?)
        case revocation(CFOptionFlags)
    }

    let rule: Rule

    init(_ rule: Rule) { self.rule = rule }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecPolicy)?.rule == rule }

    override public var hash: Int { rule.hashValue }
}

// The raw values of Apple's SecPolicy.c. `nonisolated(unsafe)`: see SecItemKeys.swift.

@safe nonisolated(unsafe) public let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"
@safe nonisolated(unsafe) public let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"
@safe nonisolated(unsafe) public let kSecPolicyAppleSSLServer: CFString = "1.2.840.113635.100.1.3.1"
@safe nonisolated(unsafe) public let kSecPolicyAppleSSLClient: CFString = "1.2.840.113635.100.1.3.2"
@safe nonisolated(unsafe) public let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"
@safe nonisolated(unsafe) public let kSecPolicyAppleRevocation: CFString = "1.2.840.113635.100.1.21"
// Names without a policy here: `SecPolicyCreateWithProperties` returns `nil` for them.
@safe nonisolated(unsafe) public let kSecPolicyAppleEAP: CFString = "1.2.840.113635.100.1.9"
@safe nonisolated(unsafe) public let kSecPolicyAppleIPsec: CFString = "1.2.840.113635.100.1.11"
@safe nonisolated(unsafe) public let kSecPolicyAppleCodeSigning: CFString = "1.2.840.113635.100.1.16"
@safe nonisolated(unsafe) public let kSecPolicyAppleIDValidation: CFString = "1.2.840.113635.100.1.18"
@safe nonisolated(unsafe) public let kSecPolicyMacAppStoreReceipt: CFString = "1.2.840.113635.100.1.19"
@safe nonisolated(unsafe) public let kSecPolicyAppleTimeStamping: CFString = "1.2.840.113635.100.1.20"
@safe nonisolated(unsafe) public let kSecPolicyApplePassbookSigning: CFString = "1.2.840.113635.100.1.22"
@safe nonisolated(unsafe) public let kSecPolicyApplePayIssuerEncryption: CFString = "1.2.840.113635.100.1.39"

@safe nonisolated(unsafe) public let kSecPolicyOid: CFString = "SecPolicyOid"
@safe nonisolated(unsafe) public let kSecPolicyName: CFString = "SecPolicyName"
@safe nonisolated(unsafe) public let kSecPolicyClient: CFString = "SecPolicyClient"
@safe nonisolated(unsafe) public let kSecPolicyRevocationFlags: CFString = "SecPolicyRevocationFlags"

public let kSecRevocationOCSPMethod: CFOptionFlags = 1
public let kSecRevocationCRLMethod: CFOptionFlags = 2
public let kSecRevocationPreferCRL: CFOptionFlags = 4
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 8
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 16
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = 3

/// Returns the policy for a valid chain, for any purpose: RSA of 1,024 bits or more, and no SHA-1.
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basic) }

/// Returns the policy for a certificate of TLS: RSA of 2,048 bits or more.
///
/// - Parameters:
///   - server: whether the certificate is a server's, rather than a client's.
///   - hostname: a name or an address that a subject alternative name must match; the common name is ignored. `nil` to
///     not check it.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(.ssl(isServer: server, host: hostname.map { $0 as String }))
}

/// Returns a revocation policy. The network is never used, so a policy that requires a positive response always fails,
/// and others have no effect.
///
/// - Parameter revocationFlags: one or more of `kSecRevocation…`.
/// - Returns: `nil` without flags.
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    revocationFlags == 0 ? nil : SecPolicy(.revocation(revocationFlags))
}

/// - Parameters:
///   - policyIdentifier: `kSecPolicyApple…`.
///   - properties: `kSecPolicyName`, a string, and `kSecPolicyClient`, a Boolean, of TLS; `kSecPolicyRevocationFlags`.
/// - Returns: `nil` for policies other than the basic one, TLS and revocation, and for properties of other types.
public func SecPolicyCreateWithProperties(_ policyIdentifier: CFTypeRef, _ properties: CFDictionary?) -> SecPolicy? {
    let name = properties?[kSecPolicyName], client = properties?[kSecPolicyClient]
    guard name == nil || name is NSString, client == nil || client is NSNumber else { return nil }
    let host = name as? NSString
    switch policyIdentifier as? NSString {
    case kSecPolicyAppleX509Basic: return SecPolicyCreateBasicX509()
    case kSecPolicyAppleSSL: return SecPolicyCreateSSL(!((client as? NSNumber)?.boolValue ?? false), host)
    case kSecPolicyAppleSSLServer: return SecPolicyCreateSSL(true, host)
    case kSecPolicyAppleSSLClient: return SecPolicyCreateSSL(false, host)
    case kSecPolicyAppleRevocation:
        let flags = properties?[kSecPolicyRevocationFlags] as? NSNumber
        return SecPolicyCreateRevocation(flags?.uintValue ?? 0)
    default: return nil
    }
}

/// Returns the parameters of the policy, as for ``SecPolicyCreateWithProperties(_:_:)``, with `kSecPolicyOid`.
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let properties = NSMutableDictionary()
    switch policyRef.rule {
    case .basic: properties[kSecPolicyOid] = kSecPolicyAppleX509Basic
    case .ssl(let isServer, let host):
        properties[kSecPolicyOid] = kSecPolicyAppleSSL
        if let host { properties[kSecPolicyName] = host as NSString }
        if !isServer { properties[kSecPolicyClient] = NSNumber(value: true) }
    case .revocation(let flags):
        properties[kSecPolicyOid] = kSecPolicyAppleRevocation
        properties[kSecPolicyRevocationFlags] = NSNumber(value: flags)
    }
    return properties
}
