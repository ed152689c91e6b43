// SPDX-License-Identifier: Apache-2.0

/// A desktop settings file of groups and keys, in which single keys are edited and all other bytes are preserved.
struct SettingsText: Equatable {
    /// The lines, including their ends.
    private var lines: [[UInt8]] = []

    /// Fails for a file with zero bytes.
    init?(_ bytes: [UInt8]) {
        guard !bytes.contains(0) else { return nil }
        self.init(lines: bytes)
    }

    init(_ text: String) { self.init(lines: Array(text.utf8)) }

    private init(lines bytes: [UInt8]) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0a) {
            lines.append(Array(rest[...end]))
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { lines.append(Array(rest)) }
    }

    var bytes: [UInt8] { Array(lines.joined()) }

    /// Returns the value that programs see: the last one in the group.
    func value(of key: String, in group: String) -> String? {
        guard let index = find(key, group).line, let value = value(of: key, lines[index]) else { return nil }
        return String(decoding: lines[index][value], as: UTF8.self)
    }

    /// Returns the lines of a group, without blank ones and comments.
    func lines(of group: String) -> [String] {
        members(of: group).compactMap { trimmed(lines[$0][...]) }.filter { $0.first != UInt8(ascii: "#") }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Sets a key, and appends the group if it is missing.
    mutating func set(_ key: String, in group: String, to value: String) {
        let found = find(key, group)
        if let index = found.line, let range = self.value(of: key, lines[index]) {
            return lines[index].replaceSubrange(range, with: value.utf8)
        }
        let end = lineEnd
        let line = Array("\(key)=\(value)".utf8)
        if let header = found.header {
            // The last line may lack a line end.
            let isEnded = lines[header].last == 0x0a
            if !isEnded { lines[header] += end }
            return lines.insert(isEnded ? line + end : line, at: header + 1)
        }
        if let last = lines.indices.last {
            if lines[last].last != 0x0a { lines[last] += end }
            lines.append(end)
        }
        lines += [Array("[\(group)]".utf8) + end, line + end]
    }

    /// Restores a key to its state in an older text, and takes nothing else from that text.
    mutating func putBack(_ key: String, in group: String, as it: SettingsText) {
        let old = it.find(key, group)
        guard let index = find(key, group).line, let value = value(of: key, lines[index]) else { return }
        if let line = old.line, let range = it.value(of: key, it.lines[line]) {
            return lines[index].replaceSubrange(value, with: it.lines[line][range])
        }
        lines.remove(at: index)
        guard old.header == nil, lines(of: group).isEmpty, let header = find(key, group).header else { return }
        lines.remove(at: header)
        // Also removes the blank line that was added in front of a new group.
        if header > 0, trimmed(lines[header - 1][...]) == nil { lines.remove(at: header - 1) }
    }

    /// Whether the text has only blank lines.
    var isBlank: Bool { lines.allSatisfy { trimmed($0[...]) == nil } }

    // MARK: Lines

    /// Returns the group's first header, and the last line with the key.
    private func find(_ key: String, _ group: String) -> (header: Int?, line: Int?) {
        (lines.firstIndex { header($0) == group }, members(of: group).last { value(of: key, lines[$0]) != nil })
    }

    /// Returns the lines of all groups with the name, without the headers.
    private func members(of group: String) -> [Int] {
        var isInside = false
        return lines.indices.filter { index in
            guard let name = header(lines[index]) else { return isInside }
            isInside = name == group
            return false
        }
    }

    /// Returns the name in brackets; `nil` if the line is not a header.
    private func header(_ line: [UInt8]) -> String? {
        guard let text = trimmed(line[...]), text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else {
            return nil
        }
        return String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
    }

    /// Returns the place of the value without surrounding blanks, in a line with the key.
    private func value(of key: String, _ line: [UInt8]) -> Range<Int>? {
        guard let text = trimmed(line[...]), let equals = text.firstIndex(of: UInt8(ascii: "=")),
            let name = trimmed(text[..<equals])
        else { return nil }
        // KConfig writes flags after the name: `key[$e]`. Brackets with a language belong to another key.
        let flags = name.firstIndex(of: UInt8(ascii: "["))
        if let flags, flags + 1 < name.endIndex, name[flags + 1] != UInt8(ascii: "$") { return nil }
        guard name[..<(flags ?? name.endIndex)].elementsEqual(key.utf8) else { return nil }
        return trimmed(text[(equals + 1)...]).map { $0.startIndex..<$0.endIndex } ?? text.endIndex..<text.endIndex
    }

    /// Returns the text without blanks at its ends; `nil` if it is blank.
    private func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
        guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
        else { return nil }
        return text[first...last]
    }

    /// The line end of the first line.
    private var lineEnd: [UInt8] { lines.first?.suffix(2) == [0x0d, 0x0a] ? [0x0d, 0x0a] : [0x0a] }
}
