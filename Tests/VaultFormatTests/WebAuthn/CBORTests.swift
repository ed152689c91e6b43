// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultFormat

struct CBORTests {
    private func read(_ text: String) throws(CBORFlaw) -> CBORValue {
        try CBORReader.read([UInt8](hexadecimal: text).span)
    }

    /// Encodings of RFC 8949, appendix A, that CTAP2 does not allow, and damaged ones.
    @Test(arguments: [
        ("", CBORFlaw.truncated), ("18", .truncated), ("1903", .truncated), ("1a000f42", .truncated),
        ("1b000000e8d4a510", .truncated), ("4401020304".dropLast(2).description, .truncated), ("62c3", .truncated),
        ("8301", .truncated), ("a1", .truncated), ("a101", .truncated), ("9bffffffffffffffff", .truncated),
        ("bbffffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated), ("7b8000000000000000", .truncated),
        ("9affffffff00", .truncated),
        // Heads longer than necessary, and reserved ones.
        ("1817", .longHead), ("1800", .longHead), ("190018", .longHead), ("1900ff", .longHead),
        ("1a0000ffff", .longHead), ("1b00000000ffffffff", .longHead), ("3817", .longHead), ("5801ff", .longHead),
        ("7800", .longHead), ("980100", .longHead), ("b8010000", .longHead), ("1c", .longHead), ("1e", .longHead),
        ("5c", .longHead),
        // Indefinite lengths.
        ("5f42010243030405ff", .unsupported), ("7f657374726561646d696e67ff", .unsupported), ("9fff", .unsupported),
        ("bf61610161629f0203ffff", .unsupported), ("ff", .unsupported),
        // Tags, floating-point numbers, other simple values.
        ("c074323031332d30332d32315432303a30343a30305a", .unsupported), ("f90000", .unsupported),
        ("fb3ff199999999999a", .unsupported), ("f7", .unsupported), ("f0", .unsupported), ("f8ff", .unsupported),
        ("f820", .unsupported),
        // Duplicate and unsorted keys.
        ("a201000101", .keyOrder), ("a202000100", .keyOrder), ("a2616200616100", .keyOrder),
        ("a262616100616200", .keyOrder), ("a220000100", .keyOrder), ("a2410000410000", .keyOrder),
        ("61ff", .text), ("63eda080", .text), ("a161c001", .text),
        ("818181818100", .tooDeep), ("a101a101a101a101a10101", .tooDeep), ("0000", .trailing), ("8000", .trailing),
    ])
    func `an encoding that CTAP2 does not allow is refused`(text: String, flaw: CBORFlaw) {
        #expect(throws: flaw) { try read(text) }
    }

    @Test func `bytes beyond the limit are refused before they are read`() {
        let bytes = CBORValue.bytes([UInt8](repeating: 0, count: CBORReader.longest)).encoded
        #expect(throws: CBORFlaw.tooLong) { try CBORReader.read(bytes.span) }
        let largest = CBORValue.bytes([UInt8](repeating: 0, count: CBORReader.longest - 5)).encoded
        #expect(throws: Never.self) { try CBORReader.read(largest.span) }
    }

    @Test func `a bomb of brackets takes no stack`() {
        for head in [UInt8(0x81), 0x9a, 0xa1] {
            let bytes = [UInt8](repeating: head, count: CBORReader.longest)
            #expect(throws: CBORFlaw.self) { try CBORReader.read(bytes.span) }
        }
    }

    /// RFC 8949, appendix A: every example within the part of CBOR that CTAP2 allows.
    @Test(arguments: [
        ("00", CBORValue(0)), ("01", CBORValue(1)), ("0a", CBORValue(10)), ("17", CBORValue(23)),
        ("1818", CBORValue(24)), ("1819", CBORValue(25)), ("1864", CBORValue(100)), ("1903e8", CBORValue(1000)),
        ("1a000f4240", CBORValue(1_000_000)), ("1b000000e8d4a51000", CBORValue(1_000_000_000_000)),
        ("1bffffffffffffffff", .unsigned(.max)), ("3bffffffffffffffff", .negative(.max)), ("20", CBORValue(-1)),
        ("29", CBORValue(-10)), ("3863", CBORValue(-100)), ("3903e7", CBORValue(-1000)), ("f4", .boolean(false)),
        ("f5", .boolean(true)), ("f6", .null), ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])),
        ("60", .text("")), ("6161", .text("a")), ("6449455446", .text("IETF")), ("62225c", .text("\"\\")),
        ("62c3bc", .text("ü")), ("63e6b0b4", .text("水")), ("64f0908591", .text("𐅑")), ("80", .array([])),
        ("83010203", .array([CBORValue(1), CBORValue(2), CBORValue(3)])),
        (
            "8301820203820405",
            .array([
                CBORValue(1), .array([CBORValue(2), CBORValue(3)]), .array([CBORValue(4), CBORValue(5)]),
            ])
        ),
        (
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            .array((1...25).map { CBORValue($0) })
        ),
        ("a0", .map([])),
        ("a201020304", .map([.init(CBORValue(1), CBORValue(2)), .init(CBORValue(3), CBORValue(4))])),
        (
            "a26161016162820203",
            .map([.init(.text("a"), CBORValue(1)), .init(.text("b"), .array([CBORValue(2), CBORValue(3)]))])
        ),
        ("826161a161626163", .array([.text("a"), .map([.init(.text("b"), .text("c"))])])),
        (
            "a56161614161626142616361436164614461656145",
            .map(zip("abcde", "ABCDE").map { .init(.text(String($0)), .text(String($1))) })
        ),
    ])
    func `the examples of RFC 8949 are read and written`(text: String, value: CBORValue) throws {
        #expect(try read(text) == value)
        #expect(value.encoded.hexadecimal == text)
    }

    /// The order of CTAP 2.1, 8: the major type, then the length, then the bytes.
    @Test func `keys are sorted, whatever their order in the value`() {
        let keys: [CBORValue] = [
            CBORValue(10), CBORValue(100), CBORValue(1000), CBORValue(-1), CBORValue(-25), .bytes([0xff]),
            .text("z"), .text("aa"), .text("ab"), .boolean(false),
        ]
        let sorted = CBORValue.map(keys.map { .init($0, .null) })
        #expect(CBORValue.map(keys.reversed().map { .init($0, .null) }).encoded == sorted.encoded)
        #expect(throws: Never.self) { try CBORReader.read(sorted.encoded.span) }
    }

    @Test func `each value that a reader accepts is written as it was`() {
        let random = SeededRandom("cbor")
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = CBORTests.value(random, depth: 0).encoded
            for _ in 0..<random.number(in: 0...2) where !bytes.isEmpty {
                let index = random.number(in: 0...bytes.count - 1)
                switch random.number(in: 0...3) {
                case 0: bytes[index] = UInt8(random.uniform(256))
                case 1: bytes[index] ^= 1 << UInt8(random.uniform(8))
                case 2: bytes.remove(at: index)
                default: bytes.insert(UInt8(random.uniform(256)), at: index)
                }
            }
            guard let value = try? CBORReader.read(bytes.span) else { continue }
            accepted += 1
            #expect(value.encoded == bytes)
        }
        #expect(accepted > 5000)
    }

    /// A random value within the limits, whose maps have distinct keys.
    private static func value(_ random: SeededRandom, depth: Int) -> CBORValue {
        switch random.number(in: 0...(depth < CBORReader.deepest ? 7 : 5)) {
        case 0: return .unsigned(UInt64(random.uniform(.max)) >> UInt64(random.uniform(32)))
        case 1: return .negative(UInt64(random.uniform(.max)) << UInt64(random.uniform(32)))
        case 2: return .bytes(random.bytes(random.number(in: 0...40)))
        case 3: return .text(String(repeating: "ü", count: random.number(in: 0...20)))
        case 4: return .boolean(random.chance(50))
        case 5: return .null
        case 6: return .array((0..<random.number(in: 0...4)).map { _ in value(random, depth: depth + 1) })
        default:
            return .map(
                (0..<random.number(in: 0...4)).map { .init(CBORValue($0 * 9 - 12), value(random, depth: depth + 1)) })
        }
    }
}
