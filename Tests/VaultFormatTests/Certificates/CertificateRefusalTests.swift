// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// Malformed certificates, and unusual valid ones.
struct CertificateRefusalTests {
    typealias Builder = CertificateBuilder

    private func isRead(_ bytes: [UInt8]) -> Bool { CertificateFields(bytes) != nil }

    @Test func `a certificate that ends early, or does not end, is refused`() throws {
        let table = try Vectors.table("certificates/openssl.txt").mapValues { [UInt8](hexadecimal: $0) }
        for (name, bytes) in table.merging(["made": Builder.made()], uniquingKeysWith: { $1 }) {
            #expect(isRead(bytes), "\(name)")
            for count in bytes.indices { #expect(!isRead(Array(bytes[..<count])), "\(name), \(count) bytes") }
            for more in [[0x00], [0x05, 0x00], bytes] { #expect(!isRead(bytes + more), "\(name)") }
        }
    }

    @Test func `a length that is one more or less is refused, or there is no name or no key`() throws {
        let table = try Vectors.table("certificates/openssl.txt").mapValues { [UInt8](hexadecimal: $0) }
        // The key of the certificate ed25519-v1 is of an unknown kind.
        for (name, bytes) in table where name != "ed25519-v1" {
            var tried = 0
            for place in lengths(of: bytes) {
                for change in [1, UInt8.max] {
                    var changed = bytes
                    changed[place] &+= change
                    let fields = CertificateFields(changed)
                    // Within a name or a key's algorithm a changed length may still fit, with different elements.
                    let isRefused = fields.map {
                        $0.normalizedIssuer == nil || $0.normalizedSubject == nil || $0.publicKey == nil
                    }
                    #expect(isRefused ?? true, "\(name), the length at \(place)")
                    tried += 1
                }
            }
            #expect(tried > 40, "\(name)")
        }
    }

    /// Returns the offset of the last length byte of every element in the structure.
    private func lengths(of bytes: [UInt8]) -> [Int] {
        var places: [Int] = []
        func walk(_ range: Range<Int>) {
            var reader = DERReader(range)
            while let element = reader.element(of: bytes.span) {
                places.append(element.content.lowerBound - 1)
                if element.tag & 0x20 != 0 { walk(element.content) }
            }
        }
        walk(bytes.indices)
        return places
    }

    @Test func `a length in another form than the shortest is refused`() {
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x81, 0x01, 0x05] }))
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x82, 0x00, 0x01, 0x05] }))
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x80, 0x05, 0x00, 0x00] }))
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x85, 0x00, 0x00, 0x00, 0x00, 0x01, 0x05] }))
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x88] + [UInt8](repeating: 0xff, count: 8) + [0x05] }))
        #expect(!isRead(Builder.made { $0.serial = [0x02, 0x84, 0xff, 0xff, 0xff, 0xff, 0x05] }))
        let body = Array(
            Builder.made { $0.signature = Builder.element(0x03, [UInt8](repeating: 0, count: 200)) }.dropFirst(4))
        #expect(!isRead([0x30, 0x80] + body + [0x00, 0x00]))
        #expect(isRead([0x30, 0x82, UInt8(body.count >> 8), UInt8(body.count & 255)] + body))
        #expect(!isRead([0x30, 0x83, 0x00, UInt8(body.count >> 8), UInt8(body.count & 255)] + body))
    }

    @Test func `a serial number has 1 to 37 bytes`() {
        for count in [0, 38, 127, 128, 65536] {
            #expect(!isRead(Builder.made { $0.serial = Builder.element(0x02, [UInt8](repeating: 1, count: count)) }))
        }
        for count in [1, 37] {
            let serial = [UInt8](repeating: 0, count: count)
            let fields = CertificateFields(Builder.made { $0.serial = Builder.element(0x02, serial) })
            #expect(fields?.serialNumber == serial)
        }
        #expect(!isRead(Builder.made { $0.serial = [] }))
        #expect(!isRead(Builder.made { $0.serial = [0x04, 0x01, 0x01] }))
    }

    @Test(arguments: [
        [0x02, 0x01, 0x03], [0x02, 0x01, 0xff], [0x02, 0x02, 0x00, 0x02], [0x02, 0x00], [], [0x02, 0x01],
        [0x02, 0x01, 0x02, 0x05, 0x00], [0x04, 0x01, 0x02],
    ])
    func `versions end with 3`(content: [UInt8]) {
        #expect(!isRead(Builder.made { $0.version = Builder.element(0xa0, content) }))
    }

    @Test(
        arguments: [
            (0x17, "240230000000Z"), (0x17, "230229000000Z"), (0x17, "241301000000Z"), (0x17, "240001000000Z"),
            (0x17, "240100000000Z"), (0x17, "240431000000Z"), (0x17, "240101240000Z"), (0x17, "240101006000Z"),
            (0x17, "240101000060Z"), (0x17, "2401010000Z"), (0x17, "240101000000"), (0x17, "240101000000+0000"),
            (0x17, "240101000000z"), (0x17, "24010100000 Z"), (0x17, "-40101000000Z"), (0x17, "２40101000000Z"),
            (0x17, "20240101000000Z"), (0x17, ""), (0x17, "Z"), (0x18, "240101000000Z"), (0x18, "20240101000000.5Z"),
            (0x18, "20240101000000"), (0x18, "21000229000000Z"), (0x18, "99991232235959Z"), (0x16, "240101000000Z"),
            (0x13, "20240101000000Z"), (0x97, "240101000000Z"), (0x18, "2024010100000000Z"), (0x18, ""),
        ] as [(UInt8, String)])
    func `a time that no calendar or clock has makes no certificate`(tag: UInt8, text: String) {
        let (odd, sound) = (Builder.time(tag, text), Builder.time(0x17, "240101000000Z"))
        #expect(!isRead(Builder.made { $0.validity = Builder.validity(odd, sound) }))
        #expect(!isRead(Builder.made { $0.validity = Builder.validity(sound, odd) }))
        #expect(isRead(Builder.made { $0.validity = Builder.validity(sound, sound) }))
    }

    @Test func `a part that is missing, stands elsewhere, or has a second beside it is refused`() {
        let parts: [WritableKeyPath<Builder, [UInt8]>] = [
            \.serial, \.algorithm, \.issuer, \.validity, \.subject, \.keyInfo, \.outerAlgorithm, \.signature,
        ]
        for part in parts {
            #expect(!isRead(Builder.made { $0[keyPath: part] = [] }))
            #expect(!isRead(Builder.made { $0[keyPath: part] += [0x05, 0x00] }))
            #expect(!isRead(Builder.made { $0[keyPath: part][0] ^= 0x80 }))
        }
        let null: [UInt8] = [0x05, 0x00]
        let time = Builder.time(0x17, "240101000000Z")
        for change: (inout Builder) -> Void in [
            { swap(&$0.validity, &$0.subject) }, { swap(&$0.serial, &$0.version) },
            { $0.validity = Builder.element(0x30, time) }, { $0.validity = Builder.element(0x30, time, time, null) },
            { $0.algorithm = Builder.element(0x30) }, { $0.algorithm = Builder.element(0x30, null) },
            { $0.algorithm = Builder.element(0x30, [0x06, 0x00]) },
            { $0.outerAlgorithm = Builder.element(0x30, [0x06, 0x01, 0x2a], null, null) },
            { $0.keyInfo = Builder.element(0x30, Builder.ecdsa) },
            { $0.keyInfo = Builder.element(0x30, Builder.ecdsa, [0x03, 0x02, 0x00, 0x01], null) },
            { $0.keyInfo = Builder.element(0x30, Builder.ecdsa, [0x03, 0x00]) },
            { $0.keyInfo = Builder.element(0x30, Builder.ecdsa, [0x03, 0x02, 0x01, 0x80]) },
            { $0.keyInfo = Builder.element(0x30, Builder.ecdsa, [0x04, 0x02, 0x00, 0x01]) },
            { $0.signature = [0x03, 0x00] }, { $0.signature = [0x03, 0x02, 0x07, 0x80] },
            { $0.signature = [0x23, 0x02, 0x03, 0x00] },
        ] { #expect(!isRead(Builder.made(change))) }
    }

    @Test func `what stands where extensions should be is refused, what they hold is not`() {
        let sound = Builder.element(0x30, Builder.element(0x06, Builder.subjectKeyID), [0x04, 0x02, 0x04, 0x00])
        let null: [UInt8] = [0x05, 0x00]
        for content: [UInt8] in [
            [], null, Builder.element(0x31, sound), Builder.element(0x30, sound) + null,
            Builder.element(0x30, sound, null), Builder.element(0x30, Builder.element(0x30)),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x00, 0x04, 0x00])),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a])),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a, 0x04, 0x00, 0x05, 0x00])),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a, 0x01, 0x00, 0x04, 0x00])),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a, 0x01, 0x01, 0xff])),
            Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a, 0x04, 0x00, 0x01, 0x01, 0xff])),
        ] { #expect(!isRead(Builder.made { $0.extensions = Builder.element(0xa3, content) }), "\(content)") }
        #expect(!isRead(Builder.made { $0.extensions += $0.extensions }))
        #expect(!isRead(Builder.made { $0.extensions += [0x81, 0x02, 0x00, 0x01] }))
        #expect(!isRead(Builder.made { $0.identifiers = [0x82, 0x02, 0x00, 0x01, 0x81, 0x02, 0x00, 0x01] }))
        #expect(isRead(Builder.made { $0.identifiers = [0x81, 0x02, 0x00, 0x01, 0x82, 0x02, 0x00, 0x01] }))
        for flag: [UInt8] in [[], [0x01, 0x01, 0xff], [0x01, 0x01, 0x00]] {
            let list = Builder.element(0x30, Builder.element(0x30, [0x06, 0x01, 0x2a], flag, [0x04, 0x00]))
            #expect(isRead(Builder.made { $0.extensions = Builder.element(0xa3, list) }))
        }
        #expect(isRead(Builder.made { $0.extensions = Builder.extensions([]) }))
    }

    @Test func `names of 64 KiB and ten thousand extensions are read, and take no time`() throws {
        let long = String(repeating: "a b", count: 21845) + "c"
        let bytes = Builder.made {
            $0.subject = Builder.name([(Builder.commonName, 0x13, long)])
            $0.issuer = Builder.name(Array(repeating: (Builder.unit, 0x13, "x"), count: 5000))
            $0.extensions = Builder.extensions(
                (0..<10_000).map { ([0x2a, UInt8($0 >> 7), UInt8($0 & 127)], []) }
                    + [(Builder.subjectKeyID, [0x04, 0x01, 0x07])])
        }
        let clock = ContinuousClock()
        let start = clock.now
        let fields = try #require(CertificateFields(bytes))
        #expect(clock.now - start < .seconds(2))
        #expect(fields.commonName == long && fields.subjectSummary == long && fields.subjectKeyID == [7])
        #expect(fields.normalizedSubject?.suffix(4) == Array("A BC".utf8).suffix(4))
        #expect(fields.normalizedIssuer?.count == 5000 * 12)
    }

    @Test func `certificates that were changed here and there are read or refused`() throws {
        let random = SeededRandom("certificates")
        let seeds = FuzzedFormat.certificates
        var accepted = 0
        for seed in seeds {
            for _ in 0..<3000 {
                var input = seed
                for _ in 0..<random.number(in: 1...3) {
                    let index = random.number(in: 0...input.count - 1)
                    switch random.number(in: 0...3) {
                    case 0: input.remove(at: index)
                    case 1: input.insert(UInt8(random.uniform(256)), at: index)
                    default: input[index] = random.chance(50) ? UInt8(random.uniform(256)) : random.element(of: seed)
                    }
                }
                if isRead(input) { accepted += 1 }
                #expect(FuzzedFormat.holds([FuzzedFormat.certificate.rawValue] + input))
            }
        }
        #expect(accepted > 1000)
    }
}
