// SPDX-License-Identifier: Apache-2.0

/// The extensions of a certificate that describe its subject. All others are skipped.
struct CertificateExtensions {
    private(set) var subjectKeyID: [UInt8]?
    /// The RFC 822 names and the DNS names among the subject's alternative names, in order.
    private(set) var emailAddresses: [String] = []
    private(set) var dnsNames: [String] = []

    /// - Parameter content: of the field with the tag [3]; `nil` in a certificate without it.
    /// - Returns: `nil` if it is not a list of extensions. An extension with an unreadable value counts as unknown; of
    ///   several of one kind the first counts.
    init?(_ content: Range<Int>?, of bytes: Span<UInt8>) {
        guard let content else { return }
        guard let list = CertificateExtensions.only(DERTag.sequence, content, of: bytes) else { return nil }
        var reader = DERReader(list)
        var names: Range<Int>?
        while !reader.isAtEnd {
            guard let part = reader.take(DERTag.sequence, of: bytes) else { return nil }
            var parts = DERReader(part)
            guard let type = parts.take(DERTag.objectIdentifier, of: bytes), !type.isEmpty else { return nil }
            // The critical flag. The default `false` need not be encoded, but some writers do.
            if parts.tag(in: bytes) == DERTag.boolean {
                guard let flag = parts.take(DERTag.boolean, of: bytes), flag.count == 1 else { return nil }
            }
            guard let value = parts.take(DERTag.octetString, of: bytes), parts.isAtEnd else { return nil }
            switch bytes.array(type) {
            case ObjectIDs.subjectKeyID where subjectKeyID == nil:
                subjectKeyID = CertificateExtensions.only(DERTag.octetString, value, of: bytes).map { bytes.array($0) }
            case ObjectIDs.subjectAlternativeName where names == nil:
                names = CertificateExtensions.only(DERTag.sequence, value, of: bytes)
            default: break
            }
        }
        if let names { takeNames(names, of: bytes) }
    }

    /// The content of the single element in the range.
    private static func only(_ tag: UInt8, _ range: Range<Int>, of bytes: Span<UInt8>) -> Range<Int>? {
        var reader = DERReader(range)
        guard let content = reader.take(tag, of: bytes), reader.isAtEnd else { return nil }
        return content
    }

    /// Keeps none of the names if any is malformed.
    private mutating func takeNames(_ range: Range<Int>, of bytes: Span<UInt8>) {
        var reader = DERReader(range)
        var (emailAddresses, dnsNames): ([String], [String]) = ([], [])
        while !reader.isAtEnd {
            guard let name = reader.element(of: bytes) else { return }
            guard let text = String(validating: bytes.array(name.content), as: UTF8.self) else { continue }
            switch name.tag {
            case 0x81: emailAddresses.append(text)
            case 0x82: dnsNames.append(text)
            default: break
            }
        }
        (self.emailAddresses, self.dnsNames) = (emailAddresses, dnsNames)
    }
}
