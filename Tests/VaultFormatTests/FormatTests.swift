// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

struct PaddingTests {
    @Test(arguments: [
        (1, 1), (8, 8), (9, 10), (100, 104), (192, 192), (193, 208), (1000, 1024), (1025, 1088), (65_537, 67_584),
    ])
    func `Padmé rounds up to few significant bits`(length: Int, expected: Int) {
        #expect(Padding.padme(length) == expected)
    }

    @Test func `padding costs at most 12 percent above the minimum`() {
        for length in stride(from: 200, to: 3_000_000, by: 997) {
            #expect(Double(Padding.padme(length)) <= Double(length) * 1.12)
        }
    }

    @Test func `what was padded comes back, and nothing else is taken`() throws {
        for count in [0, 1, 59, 60, 61, 100, 4092, 70_000] {
            let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
            var padded: [UInt8] = []
            Padding.append(content.span, minimum: Layout.valueMinimum, to: &padded)
            #expect(Array(padded[try Padding.content(of: padded.span, minimum: Layout.valueMinimum)]) == content)
            #expect(throws: FormatError.self) {
                try Padding.content(of: ([UInt8](padded + [0])).span, minimum: Layout.valueMinimum)
            }
            #expect(throws: FormatError.self) {
                try Padding.content(of: Array(padded.dropLast()).span, minimum: Layout.valueMinimum)
            }
            if padded.count > count + 4 {
                padded[padded.count - 1] = 1
                #expect(throws: FormatError.invalid(.padding)) {
                    try Padding.content(of: padded.span, minimum: Layout.valueMinimum)
                }
            }
        }
    }
}

struct HeaderTests {
    private static func header(_ random: SeededRandom) -> Header {
        var slots: [KeySlot] = []
        for index in 0..<random.number(in: 1...8) {
            var slot = KeySlot(
                kind: random.chance(50) ? .passphrase : .recoveryCode,
                stretching: random.chance(50) ? .argon2id(passes: 3, memoryBytes: 64 << 20) : .blake2b,
                slotID: random.bytes(16),
                salt: random.bytes(16), name: String(repeating: "é", count: index * 2))
            slot.commitment = random.bytes(32)
            slot.nonce = random.bytes(24)
            slot.box = random.bytes(80)
            slots.append(slot)
        }
        var header = Header(
            vaultID: random.bytes(16), generation: 5, fileSalt: random.bytes(32), baseSequence: 77, slots: slots)
        header.optionalFeatures = 0x8000_0001
        return header
    }

    private static func page(_ header: Header) -> [UInt8] { header.encoded() + [UInt8](repeating: 0, count: 64) }

    @Test func `a header that is read is the one that was written`() throws {
        let random = SeededRandom("header")
        for _ in 0..<50 {
            let header = Self.header(random)
            #expect(header.encoded().count == Layout.headerMACOffset)
            #expect(try Header(parsing: Self.page(header).span) == header)
        }
    }

    @Test func `every header that is accepted is encoded as it was`() throws {
        let random = SeededRandom("malleability")
        let page = Self.page(Self.header(random))
        var accepted = 0
        for offset in 0..<Layout.headerMACOffset {
            for change in [UInt8(1), 0x80, 0xff] {
                var changed = page
                changed[offset] ^= change
                guard (try? Header.checkMagic(changed.span)) != nil, let header = try? Header(parsing: changed.span)
                else { continue }
                accepted += 1
                #expect(header.encoded() == Array(changed[..<Layout.headerMACOffset]), "offset \(offset)")
            }
        }
        #expect(accepted > 1000)
    }
}

struct AttributeTests {
    @Test func `attributes come back whatever their order`() throws {
        let values: AttributeList = [
            AttributeTag(rawValue: 0x0011): .string("service"), AttributeTag(rawValue: 0x0002): .integer(-1),
            AttributeTag(rawValue: 0x0010): .data([0, 255]), AttributeTag(rawValue: 0x0045): .date(-0.0),
            AttributeTag(rawValue: 0x0015): .real(0.5),
        ]
        let user = ["b": "2", "a": "", "é": "x"]
        let encoded = EncodedAttributes(values, user: user)
        let parsed = try EncodedAttributes(parsing: encoded.bytes, encoded.bytes.indices)
        #expect(parsed == encoded)
        #expect(parsed.user == user)
        #expect(parsed[AttributeTag(rawValue: 0x0010)] == .data([0, 255]))
        #expect(parsed[AttributeTag(rawValue: 0x0045)] == .date(0))
        #expect(parsed[AttributeTag(rawValue: 0x0012)] == nil)
        #expect(parsed.values.fields.count == 5)
    }

    private static func field(_ tag: UInt16, _ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: tag)
        bytes.append(kind)
        bytes.append(integer: UInt32(payload.count))
        return bytes + payload
    }

    @Test func `attributes out of order, twice, unknown and critical, or malformed are refused`() {
        let cases: [([UInt8], FormatError)] = [
            (Self.field(0x11, 1, [65]) + Self.field(0x10, 1, [65]), .invalid(.attributeOrder)),
            (Self.field(0x11, 1, [65]) + Self.field(0x11, 1, [65]), .invalid(.attributeOrder)),
            (Self.field(0x4000, 1, [1, 66]) + Self.field(0x4000, 1, [1, 65]), .invalid(.attributeOrder)),
            (Self.field(0x8100, 1, []), .unsupported(.attributeTag)),
            (Self.field(0x11, 1, [0xff]), .invalid(.attributeValue)),
            (Self.field(0x11, 9, []), .invalid(.attributeKind)), (Self.field(0x02, 3, [1]), .invalid(.attributeValue)),
            (Self.field(0x4000, 1, [0, 65]), .invalid(.attributeValue)),
            (Self.field(0x4000, 1, [9, 65]), .invalid(.attributeValue)),
            (Self.field(0x4000, 2, [1, 65]), .invalid(.attributeKind)),
            (Array(Self.field(0x11, 1, [65]).dropLast()), .truncated(.attributes)),
            (Self.field(0x45, 4, [0, 0, 0, 0, 0, 0, 0xf0, 0x7f]), .invalid(.attributeValue)),
            (Self.field(0x15, 5, [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]), .invalid(.attributeValue)),
            (Self.field(0x45, 4, [0, 0, 0, 0, 0, 0, 0, 0x80]), .invalid(.attributeValue)),
            ([0x11], .truncated(.attributes)),
        ]
        for (bytes, error) in cases { #expect(throws: error) { try EncodedAttributes(parsing: bytes, bytes.indices) } }
    }

    @Test func `an attribute that this version does not know is kept byte for byte`() throws {
        let unknown = Self.field(0x0030 + 0x50, 77, [1, 2, 3])
        let bytes = Self.field(0x11, 1, [65]) + unknown
        let parsed = try EncodedAttributes(parsing: bytes, bytes.indices)
        let changed = EncodedAttributes([AttributeTag(rawValue: 0x10): .string("new")], user: ["u": "v"])
            .keepingUnknown(of: parsed)
        let again = try EncodedAttributes(parsing: changed.bytes, changed.bytes.indices)
        #expect(again.bytes.count == changed.bytes.count)
        #expect(changed.bytes.hexadecimal.contains(unknown.hexadecimal))
        #expect(again.user == ["u": "v"])
    }

    @Test func `whatever random bytes are accepted are encoded as they were`() throws {
        let random = SeededRandom("attributes")
        let base = EncodedAttributes(
            [AttributeTag(rawValue: 0x10): .string("a"), AttributeTag(rawValue: 0x24): .integer(80)], user: ["k": "v"]
        ).bytes
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = base
            for _ in 0..<random.number(in: 1...3) { bytes[random.number(in: 0...bytes.count - 1)] = random.bytes(1)[0] }
            guard let parsed = try? EncodedAttributes(parsing: bytes, bytes.indices) else { continue }
            accepted += 1
            #expect(parsed.bytes == bytes)
            #expect(EncodedAttributes(parsed.values, user: parsed.user).keepingUnknown(of: parsed).bytes == bytes)
        }
        #expect(accepted > 100)
    }
}

struct OperationTests {
    static func operation(_ random: SeededRandom) -> Operation {
        let hasValue = random.chance(70)
        let version = UInt64(random.number(in: 1...9))
        return Operation(
            kind: .put, itemClass: .genericPassword,
            protection: random.chance(30) ? .whenUnlockedThisDeviceOnly : .afterFirstUnlock,
            id: ItemID(random: random.bytes(16)), version: version, valueVersion: hasValue ? 1 : 0, ordinal: 65536,
            created: 1.5, modified: -3,
            value: hasValue ? ValueLocation(offset: 12288 + 320, length: 104, tag: .init(repeating: 9)) : nil,
            deviceID: .init(repeating: 0),
            attributes: EncodedAttributes([AttributeTag(rawValue: 0x10): .string("a")], user: [:]))
    }

    @Test func `an operation that is read is the one that was written`() throws {
        let random = SeededRandom("operation")
        for _ in 0..<200 {
            let operation = Self.operation(random)
            var reader = ByteReader(operation.encoded())
            #expect(try Operation(parsing: &reader) == operation)
            #expect(reader.remaining == 0)
        }
    }

    @Test func `whatever changed operation is accepted is encoded as it was, and none traps`() throws {
        let random = SeededRandom("operations")
        for _ in 0..<20_000 {
            var bytes = Self.operation(random).encoded()
            for _ in 0..<random.number(in: 1...4) { bytes[random.number(in: 0...bytes.count - 1)] = random.bytes(1)[0] }
            if random.chance(10) { bytes.removeLast(random.number(in: 1...bytes.count)) }
            var reader = ByteReader(bytes)
            guard let parsed = try? Operation(parsing: &reader) else { continue }
            #expect(parsed.encoded() == Array(bytes[..<reader.offset]))
        }
    }
}
