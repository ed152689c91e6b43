// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import Vault

/// Untrusted property lists: hostile input is refused, and a valid list survives a round trip.
struct PropertyListTests {
    /// Returns a binary property list of consecutive objects.
    private func list(
        _ objects: [[UInt8]], root: UInt64 = 0, count: UInt64? = nil, table: UInt64? = nil, sizes: [UInt8] = [1, 1]
    ) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        let offsets = objects.map { object in
            defer { bytes += object }
            return UInt8(bytes.count)
        }
        let place = UInt64(bytes.count)
        bytes += offsets + [0, 0, 0, 0, 0, 0] + sizes
        for number in [count ?? UInt64(objects.count), root, table ?? place] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
        }
        return bytes
    }

    private func flaw(_ bytes: [UInt8]) -> ValueFormatError? {
        do throws(ValueFormatError) {
            _ = try SecretValue(propertyList: bytes)
            return nil
        } catch { return error }
    }

    @Test func `a binary list that contains itself, or is nested without end, is refused`() {
        #expect(flaw(list([[0xA1, 0]])) == .tooDeep)
        #expect(flaw(list([[0xA1, 1], [0xA1, 0]])) == .tooDeep)
        #expect(flaw(list([[0xD1, 1, 0], [0x51, 0x6B]])) == .tooDeep)
        let chain = (0..<200).map { [0xA1, UInt8($0 + 1)] } + [[0x09]]
        var bytes = Array("bplist00".utf8) + chain.joined()
        let table = bytes.count
        for index in 0..<chain.count { bytes += [UInt8((8 + 2 * index) >> 8), UInt8((8 + 2 * index) & 255)] }
        bytes +=
            [0, 0, 0, 0, 0, 0, 2, 1]
            + [UInt64(chain.count), 0, UInt64(table)].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
            }
        #expect(flaw(bytes) == .tooDeep)
    }

    @Test func `few bytes do not unfold to very many objects, nor to very many bytes`() {
        // Each level refers to the level below fifteen times.
        let levels = (0..<10).map { level in [0xAE] + [UInt8](repeating: UInt8(level + 1), count: 14) } + [[0x09]]
        #expect(flaw(list(levels)) == .tooLarge)
        let long = [0x5F, 0x11, 0x20, 0x00] + [UInt8](repeating: 0x61, count: 0x2000)
        var objects = (0..<3).map { level in
            [0xAF, 0x10, 200] + [UInt8](repeating: UInt8(level + 1), count: 200)
        }
        objects.append(long)
        let places = objects.reduce(into: [8]) { $0.append($0[$0.count - 1] + $1.count) }
        var bytes = Array("bplist00".utf8) + objects.joined()
        for place in places.dropLast() { bytes += [UInt8(place >> 8), UInt8(place & 255)] }
        bytes +=
            [0, 0, 0, 0, 0, 0, 2, 1]
            + [UInt64(objects.count), 0, UInt64(places[objects.count])].flatMap { number in
                (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
            }
        #expect(flaw(bytes) == .tooLarge)
    }

    @Test(
        arguments: [
            [0x4F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x4F, 0x12, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x6F, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x5F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0xAF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF], [0xDF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF], [0xA1, 9], [0xD1, 0, 9],
            [0x4F, 0x14], [0x4F], [0x5F, 0x23], [0x33, 0, 0, 0, 0, 0, 0, 0], [0x33, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0],
            [0x52, 0xFF, 0xFE], [0x61, 0xD8, 0x00], [0x14], [0x15], [0x80, 1], [0xC0], [0x01], [0x0F], [0x21, 0, 0],
            [0x14, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `a length beyond the file, or an object that is none, is refused with its place`(_ object: [UInt8]) {
        guard case .malformed? = flaw(list([object])) else {
            Issue.record("\(object)")
            return
        }
    }

    @Test func `a trailer that lies is refused`() {
        for bytes in [
            list([[0x09]], root: 1), list([[0x09]], root: .max), list([[0x09]], count: .max), list([[0x09]], count: 0),
            list([[0x09]], table: .max), list([[0x09]], table: 1000), list([[0x09]], table: 3),
            list([[0x09]], sizes: [0, 1]), list([[0x09]], sizes: [1, 9]), list([[0x09]], sizes: [255, 1]),
            Array("bplist00".utf8), Array("bplist00".utf8) + [UInt8](repeating: 0, count: 31),
        ] {
            guard case .malformed? = flaw(bytes) else {
                Issue.record("\(bytes)")
                continue
            }
        }
        #expect(flaw([]) == .notAPropertyList && flaw(Array("{\"a\": 1}".utf8)) == .notAPropertyList)
    }

    private static let head = #"<?xml version="1.0" encoding="UTF-8"?><plist version="1.0">"#

    @Test(arguments: [
        "<plist>", "<plist><array>", "<plist><dict><key>a</key></dict></plist>",
        "<plist><dict><string>a</string></dict></plist>",
        "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>", "<plist><string>&bomb;</string></plist>",
        "<plist><integer>12a</integer></plist>", "<plist><integer>--1</integer></plist>", "<plist><integer/></plist>",
        "<plist><integer>18446744073709551616</integer></plist>",
        "<plist><integer>-9223372036854775809</integer></plist>",
        "<plist><real>one</real></plist>", "<plist><date>yesterday</date></plist>", "<plist><data>*</data></plist>",
        "<plist><true/><true/></plist>", "<plist><true/></plist>trailing", "<plist><set/></plist>", "<plist/>",
        "<plist><string>&#xD800;</string></plist>", "<plist><string>&#0;</string></plist>", "<plist></plist>",
        "<string>a</string>",
        "<!DOCTYPE plist [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><plist><string>&b;</string></plist>",
        "<plist><string>a</array></plist>", "<plist><true></plist>", "<plist><!-- </plist>",
        "<plist><array x=\"y\"/></plist>",
        "<plist><string><b>a</b></string></plist>", "<",
    ])
    func `an XML list that is cut, lies, or defines entities is refused with its place`(_ text: String) {
        guard case .malformed? = flaw(Array(text.utf8)) else {
            Issue.record("\(text)")
            return
        }
    }

    @Test func `an XML list that is nested without end is refused`() {
        let deep = String(repeating: "<array>", count: 100_000)
        #expect(flaw(Array((Self.head + deep).utf8)) == .tooDeep)
        let deepest = SecretValue.deepest
        let text =
            Self.head + String(repeating: "<array>", count: deepest) + String(repeating: "</array>", count: deepest)
        #expect(flaw(Array((text + "</plist>").utf8)) == nil)
    }

    @Test
    func `null, a character that XML has not and too deep a value are named by their path, and nothing is written`() {
        let value: SecretValue = ["servers": [["port": 1], ["port": nil]]]
        for format in [SecretValue.PropertyListFormat.binary, .xml] {
            #expect(throws: ValueFormatError.unrepresentable(path: "servers[1].port")) {
                try value.propertyList(format)
            }
            #expect(throws: ValueFormatError.unrepresentable(path: "")) { try SecretValue.null.propertyList(format) }
        }
        let control: SecretValue = ["a": ["\u{1}"]]
        #expect(throws: ValueFormatError.unrepresentable(path: "a[0]")) { try control.propertyList(.xml) }
        #expect(throws: Never.self) { try control.propertyList(.binary) }
        let deep = (0..<200).reduce(SecretValue.bool(true)) { value, _ in .array([value]) }
        #expect(throws: ValueFormatError.tooDeep) { try deep.propertyList() }
        #expect(throws: ValueFormatError.tooDeep) { try deep.json() }
        #expect(throws: ValueFormatError.unrepresentable(path: "[1]")) {
            try SecretValue.array([1, .real(.nan)]).json()
        }
    }

    static let whole: SecretValue = [
        "bools": [true, false], "small": 7, "byte": 200, "word": 40_000, "long": 4_000_000_000, "least": .integer(.min),
        "most": .integer(.max), "unsigned": .unsigned(.max), "negative": -1, "one": 1.0, "real": 1.5,
        "tiny": .real(.leastNonzeroMagnitude), "data": .data(Data([0, 255, 1])), "empty": "", "none": .data(Data()),
        "date": .date(Date(timeIntervalSince1970: 1_700_000_000)), "漢字": "漢字 \u{1F600} e\u{301}",
        "xml": "<&>\"' \t\n]]>", "array": [[], [[1]]], "dictionary": ["": ["x": [:]]],
        "long text": .string(String(repeating: "x", count: 70_000)),
        "many": .array((0..<300).map { .integer($0) }),
    ]

    @Test(arguments: [SecretValue.PropertyListFormat.binary, .xml])
    func `every shape comes back as it was, and equal values have equal bytes`(
        _ format: SecretValue.PropertyListFormat
    ) throws {
        let written = try Self.whole.propertyList(format)
        #expect(try SecretValue(propertyList: written) == Self.whole)
        #expect(try SecretValue(propertyList: written).propertyList(format) == written)
        let returns: SecretValue = ["\r", "a\r\nb"]
        #expect(try SecretValue(propertyList: returns.propertyList(format)) == returns)
        for value in try #require(Self.whole.dictionary).values {
            #expect(try SecretValue(propertyList: value.propertyList(format)) == value)
        }
    }

    @Test func `any change to a byte is another value or an error, and never the end of the process`() throws {
        let written = Array(try Self.whole.propertyList()[...])
        let random = SeededRandom("property lists")
        let small = Array(try (["a": [1, 2.5, "x", true], "b": .data(Data([1]))] as SecretValue).propertyList())
        for offset in small.indices {
            for bit in 0..<8 {
                var changed = small
                changed[offset] ^= 1 << UInt8(bit)
                _ = flaw(changed)
            }
        }
        for _ in 0..<2_000 {
            var changed = written
            changed[Int(random.uniform(UInt32(changed.count)))] = UInt8(random.uniform(256))
            _ = flaw(Array(changed.prefix(changed.count - Int(random.uniform(3)))))
        }
    }

    @Test func `inputs of a fuzzer's making hold`() {
        let random = SeededRandom("values")
        for seed in FuzzedValue.seeds {
            #expect(FuzzedValue.holds(seed))
            for _ in 0..<400 {
                var changed = seed
                for _ in 0...random.uniform(3) {
                    changed[Int(random.uniform(UInt32(changed.count)))] = UInt8(random.uniform(256))
                }
                #expect(FuzzedValue.holds(changed), "\(changed)")
            }
        }
    }

    @Test func `Python's plistlib reads what is written, and what it writes is read`() throws {
        let directory = try TemporaryDirectory()
        let script = """
            import plistlib, sys, datetime
            where = sys.argv[1]
            for name, form in (("binary", plistlib.FMT_BINARY), ("xml", plistlib.FMT_XML)):
                value = plistlib.load(open(f"{where}/{name}", "rb"))
                assert type(value["one"]) is float and value["one"] == 1.0, value["one"]
                assert value["unsigned"] == 2**64 - 1 and value["least"] == -2**63
                assert value["漢字"] == "漢字 \\U0001F600 e\\u0301" and value["data"] == bytes([0, 255, 1])
                assert value["date"] == datetime.datetime(2023, 11, 14, 22, 13, 20), value["date"]
                plistlib.dump(value, open(f"{where}/{name}.back", "wb"), fmt=form)
            """
        for (name, format) in [("binary", SecretValue.PropertyListFormat.binary), ("xml", .xml)] {
            try Self.whole.propertyList(format).write(to: URL(filePath: "\(directory.path)/\(name)"))
        }
        let python = Process()
        python.executableURL = URL(filePath: "/usr/bin/env")
        python.arguments = ["python3", "-c", script, directory.path.string]
        try python.run()
        python.waitUntilExit()
        #expect(python.terminationStatus == 0)
        for name in ["binary", "xml"] {
            let back = try Data(contentsOf: URL(filePath: "\(directory.path)/\(name).back"))
            #expect(try SecretValue(propertyList: back) == Self.whole)
        }
    }

    @Test func `JSON comes back as it was, with null`() throws {
        let value: SecretValue = [
            "null": nil, "n": [1, -1, 1.5, .unsigned(.max), .integer(.min)], "s": "漢\u{1F600}\n", "b": [true, false],
            "o": [:],
        ]
        #expect(try SecretValue(json: value.json()) == value)
        #expect(try SecretValue(json: Data("1e2".utf8)) == 100)
        #expect(
            try (["d": .date(Date(timeIntervalSince1970: 0)), "x": .data(Data([1]))] as SecretValue).json()
                == Data(#"{"d":"1970-01-01T00:00:00Z","x":"AQ=="}"#.utf8))
        for text in ["", "{", "nul", "{\"a\":}", String(repeating: "[", count: 100_000)] {
            #expect(throws: ValueFormatError.self) { try SecretValue(json: Data(text.utf8)) }
        }
    }
}
