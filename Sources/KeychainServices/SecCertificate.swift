// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultFormat

/// A certificate: its DER bytes, and what they say. Whether they may be believed, a SecTrust finds out.
public final class SecCertificate: NSObject, @unchecked Sendable {
    let data: Data
    // No type of another module: those who import this one may not know it.
    private let content: Content

    /// - Returns: nil when the bytes are not one certificate, as RFC 5280 has it.
    init?(_ data: Data) {
        guard let fields = CertificateFields(Array(data).span) else { return nil }
        self.data = data
        content = Content(fields)
    }

    var fields: CertificateFields { content.fields }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecCertificate)?.data == data }

    override public var hash: Int { data.hashValue }

    /// The summary is the certificate's own text: with its control characters escaped.
    override public var description: String {
        "<SecCertificate \((fields.subjectSummary ?? "").debugDescription), \(data.count) bytes>"
    }
}

private final class Content {
    let fields: CertificateFields

    init(_ fields: CertificateFields) { self.fields = fields }
}

/// - Returns: nil when the data is no certificate in DER. That its algorithms or extensions are not known is no reason.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    SecCertificate(Data(referencing: data))
}

/// The DER bytes.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.data as NSData }
