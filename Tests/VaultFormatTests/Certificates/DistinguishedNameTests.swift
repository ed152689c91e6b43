// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// Distinguished names: refusals, the normalized form, and the summary for people.
struct DistinguishedNameTests {
    typealias Builder = CertificateBuilder

    private static let sound = Builder.element(0x31, Builder.attribute(Builder.commonName, [0x0c, 0x01, 0x61]))

    private static let broken: [[UInt8]] = [
        [0x31, 0x00], sound + [0x31, 0x00], [0x31, 0x00] + sound, [0x30, 0x00], [0x05, 0x00], [0x31], [0x31, 0x80],
        sound + [0x00], sound + [0x05, 0x00], Builder.element(0x30, sound),
        Builder.element(0x31, [0x30, 0x00]), Builder.element(0x31, [0x05, 0x00]),
        Builder.element(0x31, Builder.element(0x30, [0x06, 0x03, 0x55, 0x04, 0x03])),
        Builder.element(0x31, Builder.element(0x30, [0x0c, 0x01, 0x61])),
        Builder.element(0x31, Builder.attribute([], [0x0c, 0x01, 0x61])),
        Builder.element(0x31, Builder.attribute(Builder.commonName, [0x0c, 0x01, 0x61, 0x05, 0x00])),
        Builder.element(0x31, Builder.attribute(Builder.commonName, [0x0c, 0x02, 0x61])),
        Builder.element(0x31, Builder.attribute(Builder.commonName, [0x0c, 0x81, 0x01, 0x61])),
        Builder.element(0x31, Builder.attribute(Builder.commonName, [0x1f, 0x81, 0x01, 0x61])),
        Builder.element(0x31, Builder.attribute(Builder.commonName, [0x0c, 0x01, 0x61]), [0x05, 0x00]),
    ]

    @Test(arguments: broken)
    func `a name with an empty set, or of something else, has no form and no text`(content: [UInt8]) {
        #expect(DistinguishedName.normalized(Builder.element(0x30, content)) == nil)
        let fields = CertificateFields(
            Builder.made {
                $0.issuer = Builder.element(0x30, content)
                $0.subject = Builder.element(0x30, content)
                $0.extensions = Builder.extensions([Builder.names([(0x82, "vault.example")])])
            })
        // The certificate itself is readable.
        #expect(fields != nil)
        #expect(fields?.normalizedIssuer == nil && fields?.normalizedSubject == nil)
        #expect(fields?.commonName == nil && fields?.subjectSummary == nil && fields?.emailAddresses == [])
        #expect(fields?.dnsNames == ["vault.example"])
    }

    @Test func `bytes that are no whole name have no form`() {
        let whole = Builder.element(0x30, DistinguishedNameTests.sound)
        #expect(DistinguishedName.normalized(whole) == DistinguishedNameTests.sound)
        for count in whole.indices { #expect(DistinguishedName.normalized(Array(whole[..<count])) == nil) }
        #expect(DistinguishedName.normalized(whole + [0x00]) == nil)
        #expect(DistinguishedName.normalized(DistinguishedNameTests.sound) == nil)
        #expect(DistinguishedName.normalized([0x30, 0x00]) == [])
    }

    /// The example of keys-reference.md, §8.
    @Test func `the form is Apple's`() {
        let name = """
            303d310b300906035504061302646531183016060355040a130f2020536f6d65200920204f726720203114301206035504030c0b4d69
            786564202043617365
            """
        let form = """
            3036310b30090603550406130244453111300f060355040a1308534f4d45204f52473114301206035504030c0b4d6978656420204361
            7365
            """
        let expected = Array([UInt8](hexadecimal: form).dropFirst(2))
        #expect(DistinguishedName.normalized([UInt8](hexadecimal: name)) == expected)
        #expect(DistinguishedName.normalized([UInt8](hexadecimal: form)) == expected)
        let fields = CertificateFields(Builder.made { $0.subject = [UInt8](hexadecimal: name) })
        #expect(fields?.normalizedSubject == expected)
    }

    @Test(arguments: [
        ("", ""), (" \t ", ""), ("a", "A"), ("  a", "A"), ("a\t", "A"), ("a \t b  c", "A B C"), ("AZ[`{az", "AZ[`{AZ"),
        ("a\u{0B}b\n", "A\u{0B}B\n"), ("É", "É"),
    ])
    func `of a PrintableString small letters and blanks change`(text: String, form: String) {
        let name = Builder.name([(Builder.unit, 0x13, text)])
        let expected = Array(Builder.name([(Builder.unit, 0x13, form)]).dropFirst(2))
        #expect(DistinguishedName.normalized(name) == expected)
    }

    @Test(arguments: [0x0c, 0x14, 0x16, 0x1c, 0x1e, 0x12, 0x04, 0x93, 0x33] as [UInt8])
    func `values of other types stay as they are`(tag: UInt8) {
        let name = Builder.name([(Builder.unit, tag, "  a  b  ")])
        #expect(DistinguishedName.normalized(name) == Array(name.dropFirst(2)))
    }

    @Test func `several attributes in one set stay in it, and lengths lose the bytes that they need no more`() {
        let long = String(repeating: "a  ", count: 100)
        let name = Builder.element(
            0x30,
            Builder.element(
                0x31, Builder.attribute(Builder.unit, Builder.element(0x13, long)),
                Builder.attribute(Builder.commonName, Builder.element(0x13, " b "))),
            Builder.element(0x31, Builder.attribute(Builder.commonName, Builder.element(0x13, long + "   "))))
        let short = String(repeating: "A ", count: 99) + "A"
        let form =
            Builder.element(
                0x31, Builder.attribute(Builder.unit, Builder.element(0x13, short)),
                Builder.attribute(Builder.commonName, Builder.element(0x13, "B")))
            + Builder.element(0x31, Builder.attribute(Builder.commonName, Builder.element(0x13, short)))
        #expect(DistinguishedName.normalized(name) == form)
    }

    struct Row: Sendable {
        let attributes: [(type: [UInt8], tag: UInt8, text: String)]
        var names: [(tag: UInt8, text: String)] = []
        let summary: String?
        let commonName: String?
    }

    private static let rows = [
        Row(
            attributes: [(Builder.commonName, 0x0c, "first"), (Builder.commonName, 0x0c, "second")],
            summary: "second, first", commonName: "second"),
        Row(
            attributes: [(Builder.unit, 0x0c, "unit"), (Builder.organization, 0x0c, "org")], summary: "unit",
            commonName: nil),
        Row(
            attributes: [(Builder.address, 0x16, "ada@example.org"), (Builder.organization, 0x0c, "org")],
            summary: "ada@example.org", commonName: nil),
        Row(
            attributes: [(Builder.organization, 0x0c, "org")], names: [(0x82, "vault.example")],
            summary: "vault.example", commonName: nil),
        Row(
            attributes: [(Builder.commonName, 0x0c, "CN"), (Builder.text, 0x0c, "description")],
            summary: "CN (description)", commonName: "CN"),
        Row(attributes: [], summary: nil, commonName: nil),
        // The order of precedence.
        Row(
            attributes: [(Builder.address, 0x16, "in@subject")], names: [(0x82, "host"), (0x81, "in@names")],
            summary: "in@names", commonName: nil),
        Row(
            attributes: [(Builder.organization, 0x0c, "org"), (Builder.commonName, 0x0c, "CN")],
            names: [(0x81, "in@names")], summary: "CN", commonName: "CN"),
        Row(
            attributes: [
                (Builder.organization, 0x0c, "a"), ([0x55, 0x04, 0x06], 0x13, "DE"), (Builder.organization, 0x0c, "b"),
            ], summary: "b, a", commonName: nil),
        Row(
            attributes: [([0x55, 0x04, 0x06], 0x13, "DE"), (Builder.text, 0x0c, "text")], summary: "text, DE",
            commonName: nil),
        // Values that are not text are skipped.
        Row(
            attributes: [(Builder.commonName, 0x04, "CN"), (Builder.unit, 0x0c, "unit")], summary: "unit",
            commonName: nil),
        Row(
            attributes: [(Builder.commonName, 0x0c, "CN"), (Builder.commonName, 0x1e, "odd")], summary: "CN",
            commonName: "CN"),
    ]

    @Test(arguments: rows.indices)
    func `a subject is called by the best that it has`(index: Int) throws {
        let row = DistinguishedNameTests.rows[index]
        let bytes = Builder.made {
            $0.subject = Builder.name(row.attributes)
            $0.extensions = row.names.isEmpty ? [] : Builder.extensions([Builder.names(row.names)])
        }
        let fields = try #require(CertificateFields(bytes))
        #expect(fields.subjectSummary == row.summary)
        #expect(fields.commonName == row.commonName)
    }

    @Test(
        arguments: [
            (0x0c, [0xc3, 0xa9], "é"), (0x0c, [0xe9], nil), (0x0c, [0xed, 0xa0, 0x80], nil), (0x0c, [], ""),
            (0x13, [0x61], "a"), (0x13, [0xe9], nil), (0x16, [0x40], "@"), (0x16, [0x80], nil),
            (0x14, [0x61, 0xe9, 0x80], "aé\u{80}"),
            (0x1e, [0x00, 0x61, 0x20, 0xac], "a€"), (0x1e, [0xd8, 0x3d, 0xde, 0x00], "😀"), (0x1e, [0x00], nil),
            (0x1e, [0xd8, 0x3d], nil), (0x1e, [0xde, 0x00, 0x00, 0x61], nil),
            (0x1c, [0x00, 0x01, 0xf6, 0x00], "😀"), (0x1c, [0x00, 0x11, 0x00, 0x00], nil),
            (0x1c, [0x00, 0x00, 0xd8, 0x00], nil), (0x1c, [0xff, 0xff, 0xff, 0xff], nil),
            (0x1c, [0x00, 0x00, 0x61], nil),
            (0x04, [0x61], nil), (0x2c, [0x61], nil),
        ] as [(UInt8, [UInt8], String?)])
    func `texts are what their types say`(tag: UInt8, content: [UInt8], text: String?) throws {
        let value = Builder.attribute(Builder.commonName, Builder.element(tag, content))
        let bytes = Builder.made { $0.subject = Builder.element(0x30, Builder.element(0x31, value)) }
        #expect(try #require(CertificateFields(bytes)).commonName == text)
    }
}
