// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultFormat

/// What a person calls the certificate: its subject's common name, else an address or a host, else what there is.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.fields.subjectSummary.map { $0 as NSString }
}

/// Hands out the common name of the subject, the last one if there are several.
///
/// - Parameter commonName: untouched when there is none.
/// - Returns: errSecSuccess, or errSecInternal when there is none.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.fields.commonName else { return errSecInternal }
    // The caller's pointer is valid for the length of the call.
    unsafe commonName.pointee = name as NSString
    return errSecSuccess
}

/// Hands out the RFC 822 names of the subject.
///
/// - Parameter emailAddresses: gets an array of strings, which may be empty: the alternative names, then the addresses
///   within the subject's name.
/// - Returns: errSecSuccess.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    // The caller's pointer is valid for the length of the call.
    unsafe emailAddresses.pointee = certificate.fields.emailAddresses.map { $0 as NSString } as NSArray
    return errSecSuccess
}

/// The serial number as it is encoded, big-endian, with the zero byte that may lead it.
///
/// - Parameter error: untouched: every certificate has one.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    Data(certificate.fields.serialNumber) as NSData
}

/// As ``SecCertificateCopySerialNumberData(_:_:)``.
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// The issuer's name in the form of `kSecAttrIssuer`, with the SEQUENCE around it.
///
/// - Returns: nil when the certificate has something else in the place of the name.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.normalizedIssuer.map(sequence)
}

/// The subject's name in the form of `kSecAttrSubject`, with the SEQUENCE around it.
///
/// - Returns: nil when the certificate has something else in the place of the name.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.fields.normalizedSubject.map(sequence)
}

private func sequence(_ content: [UInt8]) -> NSData {
    var writer = DERWriter()
    writer.put(DERTag.sequence, content)
    return Data(writer.bytes) as NSData
}

/// The first moment at which the certificate counts.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.fields.notBefore)
}

/// The last moment at which the certificate counts.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.fields.notAfter)
}

/// The public key.
///
/// - Returns: nil unless it is one of RSA, or on P-256, P-384 or P-521.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    switch certificate.fields.publicKey {
    case .rsa(let pkcs1): SecKey.publicKey(pkcs1, isRSA: true)
    case .ec(_, let point): SecKey.publicKey(point, isRSA: false)
    case nil: nil
    }
}

/// As ``SecCertificateCopyKey(_:)``.
public func SecCertificateCopyPublicKey(_ certificate: SecCertificate) -> SecKey? { SecCertificateCopyKey(certificate) }
