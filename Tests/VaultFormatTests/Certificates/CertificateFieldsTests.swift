// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// The fields of a certificate.
struct CertificateFieldsTests {
    typealias Builder = CertificateBuilder

    private func fields(_ change: (inout Builder) -> Void) throws -> CertificateFields {
        try #require(CertificateFields(Builder.made(change)))
    }

    @Test func `an extension that cannot be read is as one that is not there`() throws {
        for value: [UInt8] in [[], [0x04], [0x04, 0x01], [0x04, 0x01, 0x01, 0x00], [0x05, 0x00]] {
            let fields = try fields { $0.extensions = Builder.extensions([(Builder.subjectKeyID, value)]) }
            #expect(fields.subjectKeyID == nil)
        }
        let host = Builder.element(0x82, "host")
        for value: [UInt8] in [
            [], [0x05, 0x00], host, Builder.element(0x30, host, [0x82]), Builder.element(0x30, host) + [0x00],
            Builder.element(0x30, host, [0x81, 0x05, 0x61]), Builder.element(0x31, host),
        ] {
            let fields = try fields { $0.extensions = Builder.extensions([(Builder.alternativeName, value)]) }
            #expect(fields.dnsNames == [] && fields.emailAddresses == [])
        }
    }

    @Test func `of alternative names hosts and addresses are kept, each as it is written`() throws {
        let fields = try fields {
            $0.subject = Builder.name([(Builder.address, 0x16, "c@subject"), (Builder.address, 0x0c, "d@subject")])
            $0.extensions = Builder.extensions([
                ([0x2a], [0xff]),
                Builder.names([
                    (0x82, "a.example"), (0x87, "\u{7F}\u{0}\u{0}\u{1}"), (0x81, "a@names"), (0xa0, ""),
                    (0x82, "*.example"), (0x81, "B@Names"), (0x86, "https://example.org"),
                ]), Builder.names([(0x82, "second")]),
            ])
        }
        #expect(fields.dnsNames == ["a.example", "*.example"])
        #expect(fields.emailAddresses == ["a@names", "B@Names", "c@subject", "d@subject"])
    }

    @Test func `a name that is no text is left out`() throws {
        let odd = Builder.element(0x82, [0xff])
        let value = Builder.element(0x30, odd, Builder.element(0x82, "host"), Builder.element(0x81, [0xc3]))
        let fields = try fields { $0.extensions = Builder.extensions([(Builder.alternativeName, value)]) }
        #expect(fields.dnsNames == ["host"] && fields.emailAddresses == [])
    }

    @Test func `versions are 1 to 3, and 1 where none is said`() throws {
        #expect(try fields { $0.version = [] }.version == 1)
        for version in 1...3 {
            #expect(try fields { $0.version[4] = UInt8(version - 1) }.version == version)
        }
    }

    @Test(
        arguments: [
            (0x17, "010101000000Z", 0), (0x17, "010101000001Z", 1), (0x17, "001231235959Z", -1),
            (0x17, "500101000000Z", -1_609_459_200), (0x17, "491231235959Z", 1_546_300_799),
            (0x17, "240229123456Z", 730_902_896), (0x18, "20500101000000Z", 1_546_300_800),
            (0x18, "19700101000000Z", -978_307_200), (0x18, "99991231235959Z", 252_423_993_599),
            (0x18, "00010101000000Z", -63_113_904_000), (0x18, "00000229000000Z", -63_140_428_800),
            (0x18, "20000229000000Z", -26_524_800),
        ] as [(UInt8, String, Double)])
    func `times count from 2001`(tag: UInt8, text: String, seconds: Double) throws {
        let fields = try fields { $0.validity = Builder.validity(Builder.time(tag, text), Builder.time(tag, text)) }
        #expect(fields.notBefore == seconds && fields.notAfter == seconds)
    }

    @Test func `keys of three curves and of RSA are taken, others are none`() throws {
        let null: [UInt8] = [0x05, 0x00]
        let rsa = Builder.element(0x30, [0x02, 0x02, 0x00, 0xb5, 0x02, 0x01, 0x03])
        func curve(_ identifier: [UInt8]) -> [UInt8] { Builder.element(0x06, identifier) }
        let (point, other) = (Builder.point(65), Builder.ecPublicKey)
        let rows: [(keyInfo: [UInt8], key: SubjectPublicKey?, bits: [UInt8])] = [
            (Builder.keyInfo(other, curve(Builder.p256), point), .ec(bits: 256, point: point), point),
            (
                Builder.keyInfo(other, curve(Builder.p384), Builder.point(97)),
                .ec(bits: 384, point: Builder.point(97)), Builder.point(97)
            ),
            (
                Builder.keyInfo(other, curve(Builder.p521), Builder.point(133)),
                .ec(bits: 521, point: Builder.point(133)), Builder.point(133)
            ),
            (Builder.keyInfo(Builder.rsa, null, rsa), .rsa(pkcs1: rsa), rsa),
            (Builder.keyInfo(Builder.rsa, [], rsa), .rsa(pkcs1: rsa), rsa),
            (Builder.keyInfo(Builder.rsa, [0x05, 0x01, 0x00], rsa), nil, rsa),
            (Builder.keyInfo(Builder.rsa, curve(Builder.p256), rsa), nil, rsa),
            (Builder.keyInfo(other, curve(Builder.p256), Builder.point(64)), nil, Builder.point(64)),
            (Builder.keyInfo(other, curve(Builder.p256), Builder.point(66)), nil, Builder.point(66)),
            (Builder.keyInfo(other, curve(Builder.p384), point), nil, point),
            (Builder.keyInfo(other, curve(Builder.p256), [0x02] + point[1...]), nil, [0x02] + point[1...]),
            (Builder.keyInfo(other, curve(Builder.p256), Array(point[..<33])), nil, Array(point[..<33])),
            (Builder.keyInfo(other, [], point), nil, point), (Builder.keyInfo(other, null, point), nil, point),
            // P-256K1, and Ed25519.
            (Builder.keyInfo(other, curve([0x2b, 0x81, 0x04, 0x00, 0x0a]), point), nil, point),
            (Builder.keyInfo([0x2b, 0x65, 0x70], [], Array(point[..<32])), nil, Array(point[..<32])),
            (Builder.keyInfo(other, curve(Builder.p256), []), nil, []),
        ]
        for row in rows {
            let fields = try fields { $0.keyInfo = row.keyInfo }
            #expect(fields.publicKey == row.key && fields.publicKeyBits == row.bits)
            #expect(SubjectPublicKey(row.keyInfo) == row.key)
            #expect(SubjectPublicKey(row.keyInfo + [0x00]) == nil)
        }
        for bytes in [[], rsa, point, Builder.made()] { #expect(SubjectPublicKey(bytes) == nil) }
    }

    @Test func `the fields of a certificate come out as they went in`() throws {
        let fields = try fields { _ in }
        #expect(fields.version == 3 && fields.serialNumber == [0x00, 0x80])
        #expect(fields.normalizedIssuer == Array(Builder.name([(Builder.commonName, 0x13, "ISSUER")]).dropFirst(2)))
        #expect(fields.normalizedSubject == Array(Builder.name([(Builder.commonName, 0x0c, "Subject")]).dropFirst(2)))
        #expect(fields.subjectKeyID == [1, 2, 3, 4] && fields.subjectSummary == "Subject")
    }
}
