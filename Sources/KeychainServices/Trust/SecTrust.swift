// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A certificate that is to be judged, with what is known about it.
///
/// It is judged when a result is first asked for, and again after a change. Anchors are those of the caller, or of the
/// system; nothing is asked of a network.
public final class SecTrust: NSObject, @unchecked Sendable {
    private let lock = NSLock()
    private var question: TrustQuestion
    private var verdict: TrustVerdict?

    init(_ question: TrustQuestion) { self.question = question }

    /// What is known.
    var asked: TrustQuestion { lock.withLock { question } }

    func change(_ body: (inout TrustQuestion) -> Void) {
        lock.withLock {
            body(&question)
            verdict = nil
        }
    }

    /// What came out. Another thread that asks meanwhile waits for the same.
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
///   - certificates: the one to be judged, or an array of it and of those that may lead from it to an anchor. More than
///     100 are not looked at.
///   - policies: one, or an array; nil is the basic policy.
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
    // The caller's pointer is valid for the length of the call.
    unsafe trust.pointee = SecTrust(question)
    return errSecSuccess
}

/// One object of the type, or an array of such objects. Nil: there is another one.
private func objects<T>(_ value: CFTypeRef, _ type: T.Type) -> [T]? {
    if let object = value as? T { return [object] }
    guard let array = value as? NSArray else { return nil }
    let found = array.compactMap { $0 as? T }
    return found.count == array.count ? found : nil
}

/// - Parameter policies: one, or an array.
/// - Returns: errSecSuccess; errSecParam for other objects.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, SecPolicy.self) else { return errSecParam }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    // The caller's pointer is valid for the length of the call.
    unsafe policies.pointee = trust.asked.policies as NSArray
    return errSecSuccess
}

/// Says which certificates end a chain, roots or not; the system's do not any more.
///
/// - Parameter anchorCertificates: nil: the system's alone.
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

/// Whether the anchors of ``SecTrustSetAnchorCertificates(_:_:)`` are all, or are beside the system's.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.trustsSystem = !anchorCertificatesOnly }
    return errSecSuccess
}

/// - Parameter anchors: gets nil when the system's alone count.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // The caller's pointer is valid for the length of the call.
    unsafe anchors.pointee = trust.asked.anchors.map { $0 as NSArray }
    return errSecSuccess
}

/// Says when the certificates must be valid, in the place of now.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = verifyDate.timeIntervalSinceReferenceDate
    trust.change { $0.date = date }
    return errSecSuccess
}

/// When the certificates must be valid, in seconds since 2001.
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    trust.asked.date ?? Date().timeIntervalSinceReferenceDate
}

/// Is remembered, and has no effect: nothing is asked of a network.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.mayFetch = allowFetch }
    return errSecSuccess
}

@discardableResult
public func SecTrustGetNetworkFetchAllowed(
    _ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<DarwinBoolean>
) -> OSStatus {
    // The caller's pointer is valid for the length of the call.
    unsafe allowFetch.pointee = DarwinBoolean(trust.asked.mayFetch)
    return errSecSuccess
}
