// SPDX-License-Identifier: Apache-2.0

/// The contents of a certificate, without any judgement of their truth.
///
/// Size: the properties are fields of RFC 5280, 4.1, and the extensions that Apple's calls return.
package struct CertificateFields: Sendable {
    /// 1 to 3.
    package let version: Int
    /// The content of the INTEGER as encoded, with a leading zero byte if there is one: 1 to 37 bytes.
    package let serialNumber: [UInt8]
    /// As ``DistinguishedName/normalized(wholeName:)``; `nil` if the field is not a name.
    package let normalizedIssuer: [UInt8]?
    package let normalizedSubject: [UInt8]?
    /// Seconds since the beginning of 2001, UTC, as in Apple's interfaces.
    package let notBefore: Double
    package let notAfter: Double
    /// `nil` if the key is not of a supported kind.
    package let publicKey: SubjectPublicKey?
    /// The content of the public key's BIT STRING: for the kinds of ``publicKey``, the external representation.
    package let publicKeyBits: [UInt8]
    /// `nil` if the extension is missing or unreadable.
    package let subjectKeyID: [UInt8]?
    /// See ``DistinguishedName/summary(of:alternative:)``.
    package let subjectSummary: String?
    /// The last common name of the subject.
    package let commonName: String?
    /// The RFC 822 names of the extension, then those of the subject.
    package let emailAddresses: [String]
    /// The DNS names of the extension.
    package let dnsNames: [String]

    /// - Parameter der: exactly one Certificate.
    /// - Returns: `nil` if its structure is invalid or a time is invalid. Unknown algorithms and extensions are
    ///   accepted, as are unreadable names.
    package init?(_ der: Span<UInt8>) {
        var outer = DERReader(der)
        guard let whole = outer.take(DERTag.sequence, of: der), outer.isAtEnd else { return nil }
        var parts = DERReader(whole)
        guard let signed = parts.take(DERTag.sequence, of: der), AlgorithmIdentifier(&parts, of: der) != nil,
            parts.takeBits(of: der) != nil, parts.isAtEnd
        else { return nil }

        var reader = DERReader(signed)
        guard let version = CertificateFields.version(&reader, of: der),
            let serial = reader.take(DERTag.integer, of: der), (1...37).contains(serial.count),
            AlgorithmIdentifier(&reader, of: der) != nil, let issuer = reader.take(DERTag.sequence, of: der),
            let validity = reader.take(DERTag.sequence, of: der), let subject = reader.take(DERTag.sequence, of: der),
            let keyInfo = reader.take(DERTag.sequence, of: der).flatMap({ SubjectPublicKeyInfo($0, of: der) })
        else { return nil }
        // Two unique identifiers, which are obsolete.
        _ = reader.take(0x81, of: der)
        _ = reader.take(0x82, of: der)
        let list = reader.take(0xa3, of: der)
        guard reader.isAtEnd, let extensions = CertificateExtensions(list, of: der) else { return nil }
        var times = DERReader(validity)
        guard let first = times.element(of: der), let last = times.element(of: der), times.isAtEnd,
            let notBefore = DERTime.seconds(first, of: der), let notAfter = DERTime.seconds(last, of: der)
        else { return nil }

        self.version = version
        serialNumber = der.array(serial)
        (self.notBefore, self.notAfter) = (notBefore, notAfter)
        publicKey = keyInfo.key(of: der)
        publicKeyBits = der.array(keyInfo.bits)
        subjectKeyID = extensions.subjectKeyID
        dnsNames = extensions.dnsNames
        let name = DistinguishedName(subject, of: der)
        normalizedIssuer = DistinguishedName(issuer, of: der)?.normalized(of: der)
        normalizedSubject = name?.normalized(of: der)
        commonName = name?.texts(ObjectIDs.commonName, of: der).last
        emailAddresses = extensions.emailAddresses + (name?.texts(ObjectIDs.emailAddress, of: der) ?? [])
        subjectSummary = name?.summary(of: der, alternative: emailAddresses.first ?? dnsNames.first)
    }

    /// The version, 1 if absent; `nil` for an unknown one.
    private static func version(_ outer: inout DERReader, of bytes: Span<UInt8>) -> Int? {
        guard outer.tag(in: bytes) == 0xa0 else { return 1 }
        guard let content = outer.take(0xa0, of: bytes) else { return nil }
        var reader = DERReader(content)
        guard let number = reader.take(DERTag.integer, of: bytes), number.count == 1, reader.isAtEnd,
            bytes[number.lowerBound] < 3
        else { return nil }
        return Int(bytes[number.lowerBound]) + 1
    }
}
