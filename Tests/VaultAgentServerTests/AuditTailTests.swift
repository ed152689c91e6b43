// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultStorage

@testable import VaultAgentServer

/// The end of a file of an audit log, found without reading its beginning.
struct AuditTailTests {
    private static func line(_ text: String, _ digit: Character = "a") -> String {
        "{\(text),\"mac\":\"\(String(repeating: digit, count: 64))\"}\n"
    }

    private func tail(_ log: [UInt8]) throws -> AuditTail {
        let directory = try TemporaryDirectory()
        try directory.write(log, to: "log")
        return try AuditTail(of: LinuxFileSystem().openDirectory(directory.path).open("log", writable: false))
    }

    @Test func `a log ends with its last whole line`() throws {
        let lines = Self.line("\"n\":1", "b") + Self.line("\"n\":2,\"v\":2", "c")
        for (log, number, tag, hasHead) in [
            ("", 0, nil, nil), ("half", 0, nil, nil), (Self.line("\"n\":1", "b"), 1, 0xbb, false),
            (lines, 2, 0xcc, true), (lines + "half\"v\":", 2, 0xcc, true), (lines + "\n", 0, nil, true),
            (lines + "no MAC\n", 0, nil, true), (lines + Self.line("\"n\":3", "x"), 0, nil, true),
            (lines + Self.line("\"n\":0"), 0, nil, true),
            (lines + Self.line("\"n\":9223372036854775807"), 0, nil, true),
            // Text inside a string value is not a member.
            (Self.line("\"executable\":\"/bin/\\\"v\\\":2\",\"n\":1"), 1, 0xaa, false),
        ] as [(String, Int, UInt8?, Bool?)] {
            let found = try tail(Array(log.utf8))
            #expect(found.number == number && found.line?.hasHead == hasHead, "\(log)")
            #expect(found.tag == tag.map { [UInt8](repeating: $0, count: 32) }, "\(log)")
            #expect(found.size == log.utf8.count)
            let end = log.utf8.lastIndex(of: UInt8(ascii: "\n"))
            #expect(found.whole == end.map { log.utf8.distance(from: log.utf8.startIndex, to: $0) + 1 } ?? 0)
        }
    }

    @Test func `of any log it says what reading the lines does`() throws {
        let random = SeededRandom("audit tail")
        let seeds = (["1", "2", "3"] as [Character]).map { Array(Self.line("\"n\":1,\"v\":2", $0).utf8) }
        for _ in 0..<200 {
            var log: [UInt8] = []
            for _ in 0..<4 {
                var line = random.element(of: seeds)
                if random.chance(50) { line[random.number(in: 0...line.count - 1)] = random.bytes(1)[0] }
                log += line
            }
            let found = try tail(log)
            let lines = log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            #expect(found.number == lines.last.map { AuditLine(Array($0)).number } ?? 0)
            #expect(found.whole == lines.reduce(0) { $0 + $1.count + 1 })
        }
    }

    @Test func `a line of any length, and one that begins or ends at the edge of a read, is found`() throws {
        for length in [0, 100, (1 << 16) - 200, 1 << 16, 1 << 20] {
            for offset in 0..<4 {
                let name = String(repeating: "x", count: length + offset)
                let before = Self.line("\"n\":6", "c")
                let found = try tail(Array((before + Self.line("\"executable\":\"\(name)\",\"n\":7", "d")).utf8))
                #expect(found.number == 7 && found.tag == [UInt8](repeating: 0xdd, count: 32))
            }
        }
    }
}
