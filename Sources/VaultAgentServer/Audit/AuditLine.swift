// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultFormat
internal import VaultStorage

/// A line of an audit log as it was read.
struct AuditLine {
    /// The line's own number; 0 for a malformed line, which no written line has.
    let number: Int
    /// Whether the line states that there is a head. A malformed one might have.
    let hasHead: Bool
    /// The text up to the MAC.
    let text: [UInt8]
    /// The MAC, 32 bytes, valid or not.
    let tag: [UInt8]

    /// The length of a line's end after its entry: `,"mac":"`, 64 digits, `"}`.
    private static let tailLength = 8 + 64 + 2
    /// Longer lines are malformed. The lines of earlier versions name every item of a change.
    static let longest = 64 << 20

    private struct Members: Decodable {
        var n: Int
        var v: Int?
    }

    /// - Parameter bytes: without the newline.
    init(_ bytes: [UInt8]) {
        guard let tag = AuditLine.tag(atEndOf: bytes),
            let members = try? JSONDecoder().decode(Members.self, from: Data(bytes)), (1..<1 << 53).contains(members.n)
        else {
            (number, hasHead, text, self.tag) = (0, true, [], [])
            return
        }
        (number, hasHead, self.tag) = (members.n, members.v != nil, tag)
        text = bytes.dropLast(AuditLine.tailLength)
    }

    /// Returns the MAC at the end of a line, or `nil`.
    static func tag(atEndOf line: [UInt8]) -> [UInt8]? {
        let tail = line.suffix(tailLength)
        guard line.count > tailLength, tail.prefix(8).elementsEqual(",\"mac\":\"".utf8),
            tail.suffix(2).elementsEqual("\"}".utf8),
            let digits = String(validating: tail.dropFirst(8).dropLast(2), as: UTF8.self),
            let tag = bytes(hexadecimal: digits), tag.count == 32
        else { return nil }
        return tag
    }

    /// Returns the end of a line with this MAC, and its newline.
    static func end(_ tag: [UInt8]) -> [UInt8] { Array(",\"mac\":\"\(hexadecimal(tag))\"}\n".utf8) }

    /// Calls the body with each whole line of a file in turn, without its newline; with an empty line for one that is
    /// too long.
    static func forEach<E: Error>(in file: any VaultFile, _ body: ([UInt8]) throws(E) -> Void) throws(E) {
        var (line, isTooLong, offset): ([UInt8], Bool, Int) = ([], false, 0)
        while let part = try? file.read(1 << 16, at: offset), !part.isEmpty {
            offset += part.count
            var rest = part[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                line += rest[..<end]
                try body(isTooLong || line.count > longest ? [] : line)
                line.removeAll(keepingCapacity: line.count < 1 << 16)
                isTooLong = false
                rest = rest[(end + 1)...]
            }
            line += rest
            if line.count > longest { (line, isTooLong) = ([], true) }
        }
    }
}
