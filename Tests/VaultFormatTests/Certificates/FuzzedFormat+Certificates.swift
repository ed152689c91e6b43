// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultFormat

/// Only parts of a certificate are parsed, and none is written, so the parsed fields are checked for consistency.
extension FuzzedFormat {
    static var certificates: [[UInt8]] {
        let table = (try? Vectors.table("certificates/openssl.txt")) ?? [:]
        return [CertificateBuilder.made()]
            + table.keys.sorted().compactMap { table[$0].map([UInt8].init(hexadecimal:)) }
    }

    static var names: [[UInt8]] {
        let values: [(type: [UInt8], tag: UInt8, text: String)] = [
            (CertificateBuilder.commonName, 0x13, "  a \t b"), (CertificateBuilder.unit, 0x0c, "é"),
            (CertificateBuilder.address, 0x1e, "\0a"), (CertificateBuilder.text, 0x1c, "\0\0\0a"),
        ]
        return [CertificateBuilder.name(values), CertificateBuilder.name([]), CertificateBuilder.name([values[0]])]
    }

    func holdsCertificate(_ bytes: [UInt8]) -> Bool {
        guard let fields = CertificateFields(bytes) else { return true }
        let keyIsItsBits =
            switch fields.publicKey {
            case .rsa(let pkcs1): pkcs1 == fields.publicKeyBits
            case .ec(let bits, let point): point == fields.publicKeyBits && point.count == 1 + 2 * ((bits + 7) / 8)
            case nil: true
            }
        // The years 0 to 9999.
        let years = -63_145_526_400.0...252_423_993_599
        return keyIsItsBits && (1...3).contains(fields.version) && (1...37).contains(fields.serialNumber.count)
            && years.contains(fields.notBefore) && years.contains(fields.notAfter)
            && [fields.normalizedIssuer, fields.normalizedSubject].allSatisfy { $0.map(isNormalized) ?? true }
            && CertificateFields(bytes + [0]) == nil && CertificateFields(bytes.dropLast()) == nil
    }

    func holdsName(_ bytes: [UInt8]) -> Bool {
        guard let form = DistinguishedName.normalized(bytes) else { return true }
        return form.count < bytes.count && isNormalized(form)
    }

    private func isNormalized(_ form: [UInt8]) -> Bool {
        DistinguishedName.normalized(CertificateBuilder.element(0x30, form)) == form
    }
}
