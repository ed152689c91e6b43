// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultStorage
internal import VaultSystem

/// The end of a file of the audit log, where the next line goes: each unlock reads it, and nothing before it.
struct AuditTail {
    /// The last whole line; `nil` without one.
    private(set) var line: AuditLine?
    /// The size of the whole lines, and of everything, in bytes.
    private(set) var whole = 0
    private(set) var size = 0

    /// The number of the last line; 0 without one, or if it is malformed.
    var number: Int { line?.number ?? 0 }
    /// The MAC of the last line, valid or not; `nil` without one, or if it is malformed.
    var tag: [UInt8]? { line.flatMap { $0.number > 0 ? $0.tag : nil } }

    private static let stride = 1 << 16

    init(of file: any VaultFile) throws(Errno) {
        size = try file.status().size
        guard let last = try Self.newline(in: file, before: size) else { return }
        whole = last + 1
        let start = try Self.newline(in: file, before: last, most: AuditLine.longest).map { $0 + 1 } ?? 0
        line = AuditLine(last - start > AuditLine.longest ? [] : try file.read(last - start, at: start))
    }

    /// Returns the offset of the last newline before another offset, or of the start of the search; `nil` if there is
    /// none.
    ///
    /// - Parameter most: the number of bytes after which the search ends.
    private static func newline(in file: any VaultFile, before end: Int, most: Int = .max) throws(Errno) -> Int? {
        var end = end
        let first = most < end ? end - most - 2 : 0
        while end > first {
            let start = max(first, end - stride)
            let bytes = try file.read(end - start, at: start)
            if let index = bytes.lastIndex(of: UInt8(ascii: "\n")) { return start + index }
            end = start
        }
        return first > 0 ? first : nil
    }
}
