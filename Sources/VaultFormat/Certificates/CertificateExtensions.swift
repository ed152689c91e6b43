// SPDX-License-Identifier: Apache-2.0

/// What the extensions of a certificate say of its subject. All others are stepped over.
struct CertificateExtensions {
    private(set) var subjectKeyID: [UInt8]?
    /// The RFC 822 names and the DNS names among the subject's alternative names, in their order.
    private(set) var emailAddresses: [String] = []
    private(set) var dnsNames: [String] = []

    /// - Parameter content: of the field with the tag [3]; nil in a certificate without it.
    /// - Returns: nil when it is no list of extensions. One whose own value cannot be read is as one that is not known;
    ///   of two of one kind the first one counts.
    init?(_ content: Range<Int>?, of bytes: Span<UInt8>) {
        guard let content else { return }
        guard let list = CertificateExtensions.only(DERTag.sequence, content, of: bytes) else { return nil }
        var reader = DERReader(list)
        var names: Range<Int>?
        while !reader.isAtEnd {
            guard let part = reader.take(DERTag.sequence, of: bytes) else { return nil }
            var parts = DERReader(part)
            guard let type = parts.take(DERTag.objectIdentifier, of: bytes), !type.isEmpty else { return nil }
            // Whether it is critical. That it is not need not be said, and some writers say it.
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

    /// The content of the one element in the range.
    private static func only(_ tag: UInt8, _ range: Range<Int>, of bytes: Span<UInt8>) -> Range<Int>? {
        var reader = DERReader(range)
        guard let content = reader.take(tag, of: bytes), reader.isAtEnd else { return nil }
        return content
    }

    /// Keeps none of the names when one is no element.
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
