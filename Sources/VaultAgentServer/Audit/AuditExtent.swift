// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import VaultFormat

/// The extent of a log, found in one pass over its bytes: each unlock waits for this pass, and a log may be long.
struct AuditExtent {
    /// The number of whole lines.
    private(set) var count = 0
    /// The size of the whole lines, and of everything, in bytes.
    private(set) var whole = 0
    private(set) var size = 0
    /// Whether a line states that there is a head.
    private(set) var hasHead = false
    /// The MAC of the last line, valid or not; `nil` without a line or a MAC.
    private(set) var tag: [UInt8]?

    /// The length of a line's end after its entry: `,"mac":"`, 64 digits, `"}`.
    static let tailLength = 8 + 64 + 2

    /// The member of a line that states a head. In a value, the quotation marks would be escaped.
    private static let mark = Array("\"v\":".utf8)
    private static let stride = 1 << 20

    init(of descriptor: Int32) throws(Errno) {
        var matched = 0
        var buffer = [UInt8](repeating: 0, count: Self.stride)
        while true {
            let length = try Self.read(descriptor, &buffer, at: size)
            guard length > 0 else { break }
            for index in 0..<length {
                let byte = buffer[index]
                if byte == UInt8(ascii: "\n") {
                    count += 1
                    whole = size + index + 1
                }
                matched = byte == Self.mark[matched] ? matched + 1 : byte == Self.mark[0] ? 1 : 0
                if matched == Self.mark.count { (hasHead, matched) = (true, 0) }
            }
            size += length
        }
        guard whole > Self.tailLength else { return }
        var tail = [UInt8](repeating: 0, count: Self.tailLength)
        guard try Self.read(descriptor, &tail, at: whole - 1 - Self.tailLength) == tail.count else { return }
        tag = Self.tag(atEndOf: tail)
    }

    /// Returns the MAC at the end of a line, or `nil`.
    static func tag(atEndOf line: [UInt8]) -> [UInt8]? {
        let tail = line.suffix(tailLength)
        guard tail.count == tailLength, tail.prefix(8).elementsEqual(",\"mac\":\"".utf8),
            tail.suffix(2).elementsEqual("\"}".utf8),
            let digits = String(validating: tail.dropFirst(8).dropLast(2), as: UTF8.self),
            let tag = bytes(hexadecimal: digits), tag.count == 32
        else { return nil }
        return tag
    }

    private static func read(_ descriptor: Int32, _ buffer: inout [UInt8], at offset: Int) throws(Errno) -> Int {
        while true {
            let length = unsafe buffer.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress, $0.count, offset)
            }
            if length >= 0 { return length }
            guard errno == EINTR else { throw Errno(rawValue: errno) }
        }
    }
}
