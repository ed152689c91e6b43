// SPDX-License-Identifier: Apache-2.0
public import Dispatch
public import Foundation

/// What came out of an evaluation, with the values of Apple's SecTrust.h. Here it is one of `unspecified`, which means
/// that the certificate is trusted, the two failures, and `otherError`.
public enum SecTrustResultType: UInt32, Sendable {
    case invalid = 0
    case proceed = 1
    case confirm = 2
    case deny = 3
    case unspecified = 4
    case recoverableTrustFailure = 5
    case fatalTrustFailure = 6
    case otherError = 7
}

public typealias SecTrustCallback = (SecTrust, SecTrustResultType) -> Void
public typealias SecTrustWithErrorCallback = (SecTrust, Bool, CFError?) -> Void

/// Judges the certificate.
///
/// - Parameter error: gets nil when it is trusted, and else why not: a status in the domain `NSOSStatusErrorDomain`,
///   for the worst of all errors.
/// - Returns: whether it is trusted.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let verdict = trust.judged()
    // The caller's pointer is valid for the length of the call.
    unsafe error?.pointee = verdict.error
    return verdict.error == nil
}

/// Judges the certificate.
///
/// - Returns: errSecSuccess, also when it is not trusted; errSecUnimplemented without libcrypto, errSecAllocate.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    // The caller's pointer is valid for the length of the call.
    unsafe SecTrustGetTrustResult(trust, result)
}

/// Judges the certificate on a queue, on which the callback is called.
///
/// - Parameter queue: nil: one of the system's.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping SecTrustCallback
) -> OSStatus {
    let callback = Callback(result)
    (queue ?? .global()).async { callback.body(trust, trust.judged().result) }
    return errSecSuccess
}

/// Judges the certificate on a queue, on which the callback is called, as ``SecTrustEvaluateWithError(_:_:)``.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping SecTrustWithErrorCallback
) -> OSStatus {
    let callback = Callback(result)
    queue.async {
        let error = trust.judged().error
        callback.body(trust, error == nil, error)
    }
    return errSecSuccess
}

/// What is called once, on the queue that the caller chose for it.
private struct Callback<Body>: @unchecked Sendable {
    let body: Body

    init(_ body: Body) { self.body = body }
}

/// - Returns: as ``SecTrustEvaluate(_:_:)``.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    let verdict = trust.judged()
    // The caller's pointer is valid for the length of the call.
    unsafe result.pointee = verdict.result
    return verdict.failure ?? errSecSuccess
}

/// The judged certificate's key; nothing is judged for it.
///
/// - Returns: nil for another key than one of RSA, P-256, P-384 and P-521.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { SecCertificateCopyKey(trust.asked.judged) }

/// As ``SecTrustCopyKey(_:)``.
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

/// The certificates from the judged one on, to the anchor or as far as they lead.
///
/// - Returns: nil when nothing could be judged.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    let verdict = trust.judged()
    return verdict.failure == nil ? verdict.chain as NSArray : nil
}

/// How many certificates the chain has.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.judged().chain.count }

/// - Parameter ix: 0 is the judged certificate, for which nothing is judged.
/// - Returns: nil outside the chain.
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    if ix == 0 { return trust.asked.judged }
    let chain = trust.judged().chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

/// - Returns: `kSecTrustResultValue`, and `kSecTrustEvaluationDate`, when the certificates were to be valid.
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    let verdict = trust.judged()
    return [
        kSecTrustResultValue: NSNumber(value: verdict.result.rawValue),
        kSecTrustEvaluationDate: NSDate(timeIntervalSinceReferenceDate: verdict.date),
    ]
}

/// Nothing here is trusted in spite of an error.
///
/// - Returns: nil.
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? { nil }

/// Nothing here is trusted in spite of an error.
///
/// - Returns: false.
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool { false }
