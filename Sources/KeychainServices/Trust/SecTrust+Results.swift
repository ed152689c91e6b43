// SPDX-License-Identifier: Apache-2.0
public import Dispatch
public import Foundation

/// The result of an evaluation, with the values of Apple's SecTrust.h. Here either `unspecified`, which means that the
/// certificate is trusted, one of the two failures, or `otherError`.
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

/// Evaluates the certificate.
///
/// - Parameter error: receives `nil` if the certificate is trusted, otherwise the reason: the status of the worst flaw,
///   in the domain `NSOSStatusErrorDomain`.
/// - Returns: `true` if the certificate is trusted.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let verdict = trust.judged()
    // The caller's pointer is valid for the duration of the call.
    unsafe error?.pointee = verdict.error
    return verdict.error == nil
}

/// Evaluates the certificate.
///
/// - Returns: errSecSuccess, even if the certificate is not trusted; errSecUnimplemented without libcrypto,
///   errSecAllocate.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe SecTrustGetTrustResult(trust, result)
}

/// Evaluates the certificate on a queue, on which the callback is called.
///
/// - Parameter queue: `nil` for a global queue.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping SecTrustCallback
) -> OSStatus {
    let callback = Callback(result)
    (queue ?? .global()).async { callback.body(trust, trust.judged().result) }
    return errSecSuccess
}

/// Evaluates the certificate on a queue, on which the callback is called, like ``SecTrustEvaluateWithError(_:_:)``.
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

/// A callback that is called once, on the queue chosen by the caller.
struct Callback<Body>: @unchecked Sendable {
    let body: Body

    init(_ body: Body) { self.body = body }
}

/// - Returns: as ``SecTrustEvaluate(_:_:)``.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    let verdict = trust.judged()
    // The caller's pointer is valid for the duration of the call.
    unsafe result.pointee = verdict.result
    return verdict.failure ?? errSecSuccess
}

/// Returns the key of the certificate, without evaluating it.
///
/// - Returns: `nil` for a key other than RSA, P-256, P-384 or P-521.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { SecCertificateCopyKey(trust.asked.judged) }

/// Like ``SecTrustCopyKey(_:)``.
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

/// Returns the chain from the evaluated certificate to the anchor, or as far as it leads.
///
/// - Returns: `nil` if the evaluation failed.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    let verdict = trust.judged()
    return verdict.failure == nil ? verdict.chain as NSArray : nil
}

/// Returns the number of certificates in the chain.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.judged().chain.count }

/// - Parameter ix: 0 is the certificate itself, for which no evaluation is needed.
/// - Returns: `nil` outside the chain.
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    if ix == 0 { return trust.asked.judged }
    let chain = trust.judged().chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

/// - Returns: `kSecTrustResultValue`, and `kSecTrustEvaluationDate`, the date at which the certificates must be valid.
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    let verdict = trust.judged()
    return [
        kSecTrustResultValue: NSNumber(value: verdict.result.rawValue),
        kSecTrustEvaluationDate: NSDate(timeIntervalSinceReferenceDate: verdict.date),
    ]
}

@safe nonisolated(unsafe) public let kSecPropertyTypeTitle: CFString = "title"
@safe nonisolated(unsafe) public let kSecPropertyTypeError: CFString = "error"

/// Returns a dictionary for each certificate of the chain, from the evaluated one on.
///
/// - Returns: `kSecPropertyTypeTitle`, the certificate's summary if it has one, and `kSecPropertyTypeError`, the
///   reasons not to trust the certificate if there are any. `nil` if the evaluation failed.
public func SecTrustCopyProperties(_ trust: SecTrust) -> CFArray? {
    let verdict = trust.judged()
    guard verdict.failure == nil else { return nil }
    return zip(verdict.chain, verdict.reasons).map { certificate, reasons in
        let properties = NSMutableDictionary()
        if let title = SecCertificateCopySubjectSummary(certificate) { properties[kSecPropertyTypeTitle] = title }
        if !reasons.isEmpty { properties[kSecPropertyTypeError] = reasons.joined(separator: ", ") as NSString }
        return properties
    } as NSArray
}

/// Exceptions are not supported.
///
/// - Returns: `nil`.
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? { nil }

/// Exceptions are not supported.
///
/// - Returns: `false`.
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool { false }
