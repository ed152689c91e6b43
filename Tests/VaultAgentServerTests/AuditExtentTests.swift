// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing
import VaultCrypto

@testable import VaultAgentServer

/// The extent of an audit log, found without parsing its lines.
struct AuditExtentTests {
    private static func line(_ text: String, _ digit: Character = "a") -> String {
        "{\(text),\"mac\":\"\(String(repeating: digit, count: 64))\"}\n"
    }

    private func extent(_ log: [UInt8]) throws -> AuditExtent {
        let directory = try TemporaryDirectory()
        try directory.write(log, to: "log")
        let descriptor = open(directory.path.appending("log").string, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        return try AuditExtent(of: descriptor)
    }

    @Test func `a log ends with its last whole line`() throws {
        let lines = Self.line("\"n\":1", "b") + Self.line("\"n\":2,\"v\":2", "c")
        for (log, count, tag, hasHead) in [
            ("", 0, nil, false), ("half", 0, nil, false), (Self.line("\"n\":1", "b"), 1, 0xbb, false),
            (lines, 2, 0xcc, true), (lines + "half\"v\":", 2, 0xcc, true), (lines + "\n", 3, nil, true),
            (lines + "no MAC\n", 3, nil, true), (lines + Self.line("\"n\":3", "x"), 3, nil, true),
            // Text inside a string value is not a member.
            (Self.line("\"executable\":\"/bin/\\\"v\\\":2\""), 1, 0xaa, false),
        ] as [(String, Int, UInt8?, Bool)] {
            let found = try extent(Array(log.utf8))
            #expect(found.count == count && found.hasHead == hasHead, "\(log)")
            #expect(found.tag == tag.map { [UInt8](repeating: $0, count: 32) }, "\(log)")
            #expect(found.size == log.utf8.count)
            let end = log.utf8.lastIndex(of: UInt8(ascii: "\n"))
            #expect(found.whole == end.map { log.utf8.distance(from: log.utf8.startIndex, to: $0) + 1 } ?? 0)
        }
    }

    @Test func `of any log it says what reading the lines does`() throws {
        let random = SeededRandom("audit extent")
        let seeds = (["1", "2", "3"] as [Character]).map { Array(Self.line("\"n\":1,\"v\":2", $0).utf8) }
        for _ in 0..<200 {
            var log: [UInt8] = []
            for _ in 0..<4 {
                var line = random.element(of: seeds)
                if random.chance(50) { line[random.number(in: 0...line.count - 1)] = random.bytes(1)[0] }
                log += line
            }
            let found = try extent(log)
            let lines = log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            #expect(found.count == lines.count)
            #expect(found.tag == lines.last.flatMap { AuditExtent.tag(atEndOf: Array($0)) })
        }
    }

    @Test func `a mark that lies across two reads is found, and so is the end of a line behind many`() throws {
        for offset in 0..<6 {
            let filler = String(repeating: "x", count: (1 << 20) - offset)
            let found = try extent(Array((filler + "\"v\":2" + Self.line("\"n\":1", "d")).utf8))
            #expect(found.hasHead && found.count == 1 && found.tag == [UInt8](repeating: 0xdd, count: 32))
        }
    }
}
