// SPDX-License-Identifier: Apache-2.0
import VaultFormat

/// A certificate in parts, each a DER encoding, so that a test can malform a single part.
struct CertificateBuilder {
    var version = element(0xa0, [0x02, 0x01, 0x02])
    var serial: [UInt8] = [0x02, 0x02, 0x00, 0x80]
    var algorithm = ecdsa
    var issuer = name([(commonName, 0x13, "Issuer")])
    var validity = validity(time(0x17, "240229235959Z"), time(0x18, "20500101000000Z"))
    var subject = name([(commonName, 0x0c, "Subject")])
    var keyInfo = keyInfo(ecPublicKey, element(0x06, p256), point(65))
    /// The fields with the tags [1] and [2].
    var identifiers: [UInt8] = []
    /// The field with the tag [3].
    var extensions: [UInt8] = extensions([(subjectKeyID, element(0x04, [1, 2, 3, 4]))])
    var outerAlgorithm = ecdsa
    var signature = element(0x03, [0x00, 0x30, 0x00])

    var signed: [UInt8] {
        CertificateBuilder.element(
            0x30, version, serial, algorithm, issuer, validity, subject, keyInfo, identifiers, extensions)
    }

    var bytes: [UInt8] { CertificateBuilder.element(0x30, signed, outerAlgorithm, signature) }

    /// Returns a valid certificate, except for the changes of the body.
    static func made(_ change: (inout CertificateBuilder) -> Void = { _ in }) -> [UInt8] {
        var builder = CertificateBuilder()
        change(&builder)
        return builder.bytes
    }

    // Contents of object identifiers.
    static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    static let organization: [UInt8] = [0x55, 0x04, 0x0a]
    static let unit: [UInt8] = [0x55, 0x04, 0x0b]
    static let text: [UInt8] = [0x55, 0x04, 0x0d]
    static let address: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01]
    static let subjectKeyID: [UInt8] = [0x55, 0x1d, 0x0e]
    static let alternativeName: [UInt8] = [0x55, 0x1d, 0x11]
    static let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    static let rsa: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
    static let p521: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x23]

    static let ecdsa = element(0x30, element(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))

    static func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
        var writer = DERWriter()
        writer.put(tag, content.flatMap { $0 })
        return writer.bytes
    }

    static func element(_ tag: UInt8, _ text: String) -> [UInt8] { element(tag, Array(text.utf8)) }

    /// Returns a name with each attribute in a set of its own.
    static func name(_ attributes: [(type: [UInt8], tag: UInt8, text: String)]) -> [UInt8] {
        element(0x30, attributes.flatMap { element(0x31, attribute($0.type, element($0.tag, $0.text))) })
    }

    static func attribute(_ type: [UInt8], _ value: [UInt8]) -> [UInt8] { element(0x30, element(0x06, type), value) }

    static func time(_ tag: UInt8, _ text: String) -> [UInt8] { element(tag, text) }

    static func validity(_ first: [UInt8], _ last: [UInt8]) -> [UInt8] { element(0x30, first, last) }

    static func keyInfo(_ algorithm: [UInt8], _ parameters: [UInt8], _ bits: [UInt8]) -> [UInt8] {
        element(0x30, element(0x30, element(0x06, algorithm), parameters), element(0x03, [0x00] + bits))
    }

    /// Returns bytes in the form of an uncompressed point.
    static func point(_ count: Int) -> [UInt8] { [0x04] + (1..<count).map { UInt8(truncatingIfNeeded: $0) } }

    static func extensions(_ list: [(type: [UInt8], value: [UInt8])]) -> [UInt8] {
        element(
            0xa3, element(0x30, list.flatMap { element(0x30, element(0x06, $0.type), element(0x04, $0.value)) }))
    }

    /// Returns the extension of alternative names.
    static func names(_ names: [(tag: UInt8, text: String)]) -> ([UInt8], [UInt8]) {
        (alternativeName, element(0x30, names.flatMap { element($0.tag, $0.text) }))
    }
}

extension CertificateFields {
    init?(_ bytes: [UInt8]) { self.init(bytes.span) }
}

extension SubjectPublicKey {
    init?(_ bytes: [UInt8]) { self.init(bytes.span) }
}

extension DistinguishedName {
    static func normalized(_ name: [UInt8]) -> [UInt8]? { normalized(wholeName: name.span) }
}
