// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// Certificates written by OpenSSL, compared with OpenSSL's own output for them:
///
///     p256: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -utf8
///         -set_serial 0xf3a1b2c3d4e5f60718 -subj '/C=DE/O=Größe  GmbH/CN=first/CN=second'
///         -addext 'subjectAltName=DNS:vault.example,email:ada@example.org,IP:127.0.0.1'
///     p384: … P-384 … -days 20000 -set_serial 1 -subj '/O=Some  Org/OU=a unit/emailAddress=ada@example.org'
///     p521: … P-521 … -set_serial 0x80 -subj '/' -addext 'subjectAltName=critical,DNS:vault.example'
///     rsa: … rsa:2048 … -set_serial 0x7f -subj '/CN=rsa+description=for a test/OU=unit' -multivalue-rdn
///     ed25519-v1: openssl req -new -newkey ed25519 … -subj '/CN=ed', openssl x509 -req … -set_serial 5
struct OpenSSLCertificateTests {
    private func fields(_ name: String) throws -> CertificateFields {
        let digits = try #require(try Vectors.table("certificates/openssl.txt")[name])
        return try #require(CertificateFields([UInt8](hexadecimal: digits)))
    }

    @Test func `a certificate with everything`() throws {
        let fields = try fields("p256")
        #expect(fields.version == 3 && fields.serialNumber.hexadecimal == "00f3a1b2c3d4e5f60718")
        #expect(fields.subjectSummary == "second, first" && fields.commonName == "second")
        #expect(fields.emailAddresses == ["ada@example.org"] && fields.dnsNames == ["vault.example"])
        #expect(fields.subjectKeyID?.hexadecimal == "03c7013f00db89620e3092413f2d78dd66277391")
        #expect(fields.notBefore == 817_152_990 && fields.notAfter == 848_688_990)
        guard case .ec(bits: 256, let point) = fields.publicKey else { throw Missing() }
        #expect(point == fields.publicKeyBits && point.count == 65)
        // Only the country is a PrintableString, already in capitals.
        let subject = CertificateBuilder.name([
            ([0x55, 0x04, 0x06], 0x13, "DE"), (CertificateBuilder.organization, 0x0c, "Größe  GmbH"),
            (CertificateBuilder.commonName, 0x0c, "first"), (CertificateBuilder.commonName, 0x0c, "second"),
        ])
        #expect(fields.normalizedSubject == Array(subject.dropFirst(2)))
        #expect(fields.normalizedIssuer == fields.normalizedSubject)
    }

    @Test func `one that ends in the second half of the century`() throws {
        let fields = try fields("p384")
        #expect(fields.notBefore == 817_152_990 && fields.notAfter == 2_545_152_990 && fields.serialNumber == [1])
        #expect(fields.subjectSummary == "ada@example.org" && fields.commonName == nil)
        guard case .ec(bits: 384, _) = fields.publicKey else { throw Missing() }
    }

    @Test func `one that has no subject but a host`() throws {
        let fields = try fields("p521")
        #expect(fields.normalizedSubject == [] && fields.subjectSummary == "vault.example")
        #expect(fields.serialNumber == [0x00, 0x80] && fields.commonName == nil && fields.emailAddresses == [])
        guard case .ec(bits: 521, _) = fields.publicKey else { throw Missing() }
    }

    @Test func `one with two attributes in a set`() throws {
        let fields = try fields("rsa")
        #expect(fields.subjectSummary == "rsa (for a test)" && fields.commonName == "rsa")
        #expect(fields.serialNumber == [0x7f])
        guard case .rsa(let pkcs1) = fields.publicKey else { throw Missing() }
        #expect(pkcs1 == fields.publicKeyBits && pkcs1.count == 270)
    }

    @Test func `one of the first version, with a key of another kind`() throws {
        let fields = try fields("ed25519-v1")
        #expect(fields.version == 1 && fields.subjectKeyID == nil && fields.subjectSummary == "ed")
        #expect(fields.publicKey == nil && fields.publicKeyBits.count == 32)
    }

    private struct Missing: Error {}
}
