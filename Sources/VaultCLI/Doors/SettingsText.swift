// SPDX-License-Identifier: Apache-2.0

/// A desktop settings file of groups and keys, in which single keys are edited and all other bytes are preserved.
struct SettingsText: Equatable {
    private(set) var bytes: [UInt8]

    /// Fails for a file with zero bytes.
    init?(_ bytes: [UInt8]) {
        guard !bytes.contains(0) else { return nil }
        self.bytes = bytes
    }

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the value that programs see: the last one in the group.
    func value(of key: String, in group: String) -> String? {
        find(key, group).value.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// Returns the lines of a group, without blank ones and comments.
    func lines(of group: String) -> [String] {
        var found: [String] = []
        var isInside = false
        for line in lineRanges {
            if let name = header(line) {
                isInside = name == group
            } else if isInside, let text = trimmed(line), bytes[text.lowerBound] != UInt8(ascii: "#") {
                found.append(String(decoding: bytes[text], as: UTF8.self))
            }
        }
        return found
    }

    /// Sets a key, and appends the group if it is missing.
    mutating func set(_ key: String, in group: String, to value: String) {
        let found = find(key, group)
        if let range = found.value {
            bytes.replaceSubrange(range, with: value.utf8)
            return
        }
        let end = lineEnd
        let line = Array("\(key)=\(value)".utf8)
        if let header = found.header {
            // The last line may lack a line end.
            let isEnded = header.upperBound > header.lowerBound && bytes[header.upperBound - 1] == 0x0a
            bytes.insert(contentsOf: isEnded ? line + end : end + line, at: header.upperBound)
            return
        }
        if let last = bytes.last {
            if last != 0x0a { bytes += end }
            bytes += end
        }
        bytes += Array("[\(group)]".utf8) + end + line + end
    }

    /// Restores a key to its state in an older text, and takes nothing else from that text.
    mutating func putBack(_ key: String, in group: String, as it: SettingsText) {
        let (old, now) = (it.find(key, group), find(key, group))
        guard let value = now.value, let line = now.line else { return }
        if let range = old.value {
            bytes.replaceSubrange(value, with: it.bytes[range])
            return
        }
        bytes.removeSubrange(line)
        guard old.header == nil, lines(of: group).isEmpty, let header = find(key, group).header else { return }
        var start = header.lowerBound
        // Also removes the blank line that was added in front of a new group.
        if let blank = lineRanges.last(where: { $0.upperBound == start }), trimmed(blank) == nil {
            start = blank.lowerBound
        }
        bytes.removeSubrange(start..<header.upperBound)
    }

    /// Whether the text has only blank lines.
    var isBlank: Bool { lineRanges.allSatisfy { trimmed($0) == nil } }

    // MARK: Lines

    private struct Found {
        /// The group's first header, including the line end.
        var header: Range<Int>?
        /// The last line with the key, including the line end.
        var line: Range<Int>?
        /// The value without surrounding blanks.
        var value: Range<Int>?
    }

    private func find(_ key: String, _ group: String) -> Found {
        var found = Found()
        var isInside = false
        for line in lineRanges {
            if let name = header(line) {
                isInside = name == group
                if isInside, found.header == nil { found.header = line }
            } else if isInside, let value = value(of: key, line) {
                (found.line, found.value) = (line, value)
            }
        }
        return found
    }

    /// Returns the name in brackets; `nil` if the line is not a header.
    private func header(_ line: Range<Int>) -> String? {
        guard let text = trimmed(line), bytes[text.lowerBound] == UInt8(ascii: "["),
            bytes[text.upperBound - 1] == UInt8(ascii: "]")
        else { return nil }
        return String(decoding: bytes[text].dropFirst().dropLast(), as: UTF8.self)
    }

    private func value(of key: String, _ line: Range<Int>) -> Range<Int>? {
        guard let text = trimmed(line), let equals = bytes[text].firstIndex(of: UInt8(ascii: "=")),
            let name = trimmed(text.lowerBound..<equals)
        else { return nil }
        // KConfig writes flags after the name: `key[$e]`. Brackets with a language belong to another key.
        let flags = bytes[name].firstIndex(of: UInt8(ascii: "["))
        if let flags, flags + 1 < name.upperBound, bytes[flags + 1] != UInt8(ascii: "$") { return nil }
        guard bytes[name.lowerBound..<(flags ?? name.upperBound)].elementsEqual(key.utf8) else { return nil }
        return trimmed(equals + 1..<text.upperBound) ?? text.upperBound..<text.upperBound
    }

    /// The lines, including their ends.
    private var lineRanges: [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0a).map { $0 + 1 } ?? bytes.count
            ranges.append(start..<end)
            start = end
        }
        return ranges
    }

    /// Returns the range without blanks at its ends; `nil` if it is blank.
    private func trimmed(_ range: Range<Int>) -> Range<Int>? {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
        guard let first = bytes[range].firstIndex(where: { !isBlank($0) }),
            let last = bytes[range].lastIndex(where: { !isBlank($0) })
        else { return nil }
        return first..<last + 1
    }

    /// The line end of the first line.
    private var lineEnd: [UInt8] {
        guard let first = bytes.firstIndex(of: 0x0a), first > 0, bytes[first - 1] == 0x0d else { return [0x0a] }
        return [0x0d, 0x0a]
    }
}
