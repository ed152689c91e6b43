// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultFormat

/// Returns a name for display: the subject's common name, else an address or a host, else another part.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.fields.subjectSummary.map { $0 as NSString }
}

/// Returns the common name of the subject, the last one if there are several.
///
/// - Parameter commonName: untouched if there is none.
/// - Returns: errSecSuccess, or errSecInternal if there is none.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.fields.commonName else { return errSecInternal }
    // The caller's pointer is valid for the duration of the call.
    unsafe commonName.pointee = name as NSString
    return errSecSuccess
}

/// Returns the RFC 822 names of the subject.
///
/// - Parameter emailAddresses: receives an array of strings, possibly empty: the alternative names, then the addresses
///   in the subject's name.
/// - Returns: errSecSuccess.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // The caller's pointer is valid for the duration of the call.
    unsafe emailAddresses.pointee = certificate.fields.emailAddresses.map { $0 as NSString } as NSArray
    return errSecSuccess
}

/// Returns the serial number as encoded, big-endian, including a leading zero byte.
///
/// - Parameter error: untouched: every certificate has a serial number.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    Data(certificate.fields.serialNumber) as NSData
}

/// Like ``SecCertificateCopySerialNumberData(_:_:)``.
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// Returns the issuer's name in the form of `kSecAttrIssuer`, with the outer SEQUENCE.
///
/// - Returns: `nil` if the certificate's issuer is not a valid name.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.normalizedIssuer.map(sequence)
}

/// Returns the subject's name in the form of `kSecAttrSubject`, with the outer SEQUENCE.
///
/// - Returns: `nil` if the certificate's subject is not a valid name.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.normalizedSubject.map(sequence)
}

private func sequence(_ content: [UInt8]) -> NSData {
    var writer = DERWriter()
    writer.put(DERTag.sequence, content)
    return Data(writer.bytes) as NSData
}

/// Returns the start of the validity period.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.fields.notBefore)
}

/// Returns the end of the validity period.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.fields.notAfter)
}

/// Returns the public key.
///
/// - Returns: `nil` unless the key is RSA, or on P-256, P-384 or P-521.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    switch certificate.fields.publicKey {
    case .rsa(let pkcs1): SecKey.publicKey(pkcs1, isRSA: true)
    case .ec(_, let point): SecKey.publicKey(point, isRSA: false)
    case nil: nil
    }
}

/// Like ``SecCertificateCopyKey(_:)``.
public func SecCertificateCopyPublicKey(_ certificate: SecCertificate) -> SecKey? { SecCertificateCopyKey(certificate) }
