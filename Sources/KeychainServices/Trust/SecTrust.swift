// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A certificate to be evaluated, with the parameters of the evaluation.
///
/// The certificate is evaluated when a result is first requested, and again after a change. Anchors are the caller's,
/// or those of the system; the network is never used.
public final class SecTrust: NSObject, @unchecked Sendable {
    private let lock = NSLock()
    private var question: TrustQuestion
    private var verdict: TrustVerdict?

    init(_ question: TrustQuestion) { self.question = question }

    /// The parameters.
    var asked: TrustQuestion { lock.withLock { question } }

    func change(_ body: (inout TrustQuestion) -> Void) {
        lock.withLock {
            body(&question)
            verdict = nil
        }
    }

    /// Returns the result of the evaluation. Another thread that calls this meanwhile waits for the same result.
    func judged() -> TrustVerdict {
        lock.withLock {
            if let verdict { return verdict }
            let made = TrustVerdict(question)
            verdict = made
            return made
        }
    }
}

@safe nonisolated(unsafe) public let kSecTrustEvaluationDate: CFString = "TrustEvaluationDate"
@safe nonisolated(unsafe) public let kSecTrustExtendedValidation: CFString = "TrustExtendedValidation"
@safe nonisolated(unsafe) public let kSecTrustOrganizationName: CFString = "Organization"
@safe nonisolated(unsafe) public let kSecTrustResultValue: CFString = "TrustResultValue"
@safe nonisolated(unsafe) public let kSecTrustRevocationChecked: CFString = "TrustRevocationChecked"
@safe nonisolated(unsafe) public let kSecTrustRevocationValidUntilDate: CFString = "TrustExpirationDate"
@safe nonisolated(unsafe) public let kSecTrustCertificateTransparency: CFString = "TrustCertificateTransparency"

/// - Parameters:
///   - certificates: the certificate to evaluate, or an array that begins with it and continues with those that may
///     lead to an anchor. More than 100 are ignored.
///   - policies: a policy, or an array; `nil` for the basic policy.
///   - trust: untouched on every error.
/// - Returns: errSecSuccess; errSecParam for an empty array of certificates, and for other objects.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let certificates = objects(certificates, SecCertificate.self), let judged = certificates.first,
        let policies = policies.map({ objects($0, SecPolicy.self) }) ?? [SecPolicyCreateBasicX509()]
    else { return errSecParam }
    let question = TrustQuestion(judged: judged, others: Array(certificates.dropFirst()), policies: policies)
    // The caller's pointer is valid for the duration of the call.
    unsafe trust.pointee = SecTrust(question)
    return errSecSuccess
}

/// Returns an object of the type, or those of an array; `nil` if there is an object of another type.
private func objects<T>(_ value: CFTypeRef, _ type: T.Type) -> [T]? {
    if let object = value as? T { return [object] }
    guard let array = value as? NSArray else { return nil }
    let found = array.compactMap { $0 as? T }
    return found.count == array.count ? found : nil
}

/// - Parameter policies: a policy, or an array.
/// - Returns: errSecSuccess; errSecParam for other objects.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, SecPolicy.self) else { return errSecParam }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe policies.pointee = trust.asked.policies as NSArray
    return errSecSuccess
}

/// Sets the certificates that end a chain, roots or not, in place of the system's.
///
/// - Parameter anchorCertificates: `nil` for the system's only.
/// - Returns: errSecSuccess; errSecParam for other objects.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchorCertificates else {
        trust.change { ($0.anchors, $0.trustsSystem) = (nil, true) }
        return errSecSuccess
    }
    guard let anchors = objects(anchorCertificates, SecCertificate.self) else { return errSecParam }
    trust.change { ($0.anchors, $0.trustsSystem) = (anchors, false) }
    return errSecSuccess
}

/// Sets whether the anchors of ``SecTrustSetAnchorCertificates(_:_:)`` replace the system's or supplement them.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.trustsSystem = !anchorCertificatesOnly }
    return errSecSuccess
}

/// - Parameter anchors: receives `nil` if only the system's apply.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe anchors.pointee = trust.asked.anchors.map { $0 as NSArray }
    return errSecSuccess
}

/// Sets the time at which the certificates must be valid, in place of the current one.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = verifyDate.timeIntervalSinceReferenceDate
    trust.change { $0.date = date }
    return errSecSuccess
}

/// Returns the time at which the certificates must be valid, in seconds since 2001.
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    trust.asked.date ?? Date().timeIntervalSinceReferenceDate
}

/// Stores the setting, which has no effect: the network is never used.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.mayFetch = allowFetch }
    return errSecSuccess
}

@discardableResult
public func SecTrustGetNetworkFetchAllowed(
    _ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<DarwinBoolean>
) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe allowFetch.pointee = DarwinBoolean(trust.asked.mayFetch)
    return errSecSuccess
}
