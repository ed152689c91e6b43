// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultFormat

/// A certificate: its DER bytes and parsed fields. Not yet trusted: a SecTrust evaluates it.
public final class SecCertificate: NSObject, @unchecked Sendable {
    let data: Data
    // No type of another module, which modules that import this one may not know.
    private let content: Content

    /// - Returns: `nil` if the bytes are not exactly one certificate (RFC 5280).
    init?(_ data: Data) {
        guard let fields = CertificateFields(Array(data).span) else { return nil }
        self.data = data
        content = Content(fields)
    }

    var fields: CertificateFields { content.fields }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecCertificate)?.data == data }

    override public var hash: Int { data.hashValue }

    /// The summary is the certificate's own text, so its control characters are escaped.
    override public var description: String {
        "<SecCertificate \((fields.subjectSummary ?? "").debugDescription), \(data.count) bytes>"
    }
}

private final class Content {
    let fields: CertificateFields

    init(_ fields: CertificateFields) { self.fields = fields }
}

/// - Returns: `nil` if the data is not a certificate in DER. Unknown algorithms or extensions are accepted.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    SecCertificate(Data(referencing: data))
}

/// Returns the DER bytes.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.data as NSData }
