// SPDX-License-Identifier: Apache-2.0

/// A file of variables for a command: NAME=VALUE lines, some of whose values are references.
struct EnvironmentFile {
    enum Value: Equatable {
        case plain(String)
        case reference(SecretReference)
    }

    /// In the order of the file; the last of a name is the one that counts.
    private(set) var variables: [(name: String, value: Value)] = []

    /// - Throws: code 64, with the number of the line that is not understood, and nothing of what is on it.
    init(_ text: String) throws {
        // By scalars: a character may be a quote with a mark on it.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let variable = try EnvironmentFile.parse(line, number: index + 1) else { continue }
            variables.append(variable)
        }
    }

    private static func parse(_ line: Substring.UnicodeScalarView, number: Int) throws -> (name: String, value: Value)?
    {
        var rest = trimmed(line)
        guard !rest.isEmpty, rest.first != "#" else { return nil }
        if rest.starts(with: "export ".unicodeScalars), let next = rest.dropFirst(7).firstIndex(where: { $0 != " " }) {
            rest = rest[next...]
        }
        let failure = CommandError.usage("line \(number) of the file of variables is not NAME=VALUE")
        guard let split = rest.firstIndex(of: "="), NamedReference.isName(String(rest[..<split])) else { throw failure }
        guard let value = unquoted(trimmed(rest[rest.index(after: split)...])), !value.contains("\0") else {
            throw failure
        }
        guard value.hasPrefix(SecretReference.scheme) else { return (String(rest[..<split]), .plain(value)) }
        guard let reference = SecretReference(value) else {
            throw CommandError.usage("the reference on line \(number) of the file of variables is not well formed")
        }
        return (String(rest[..<split]), .reference(reference))
    }

    private static func trimmed(_ text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" || last == "\r" { text.removeLast() }
        return text
    }

    /// As shells have it: '…' as it stands, "…" with \\n, \\t, \\", \\$ and \\\\, and without quotes up to a comment.
    /// Nil: a quote that does not end.
    private static func unquoted(_ text: Substring.UnicodeScalarView) -> String? {
        guard let quote = text.first, quote == "'" || quote == "\"" else {
            return String(trimmed(text[..<comment(in: text)]))
        }
        var value = "".unicodeScalars
        var rest = text.dropFirst()
        while let character = rest.popFirst() {
            if character == quote {
                let behind = trimmed(rest)
                return behind.isEmpty || behind.first == "#" ? String(value) : nil
            }
            guard quote == "\"", character == "\\" else {
                value.append(character)
                continue
            }
            switch rest.popFirst() {
            case "n": value.append("\n")
            case "t": value.append("\t")
            case .some(let escaped) where "\"\\$`".unicodeScalars.contains(escaped): value.append(escaped)
            case .some(let other): value += ["\\", other]
            case nil: return nil
            }
        }
        return nil
    }

    /// Where a comment begins: at a # behind a blank.
    private static func comment(in text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView.Index {
        text.indices.first { index in
            text[index] == "#" && index > text.startIndex && [" ", "\t"].contains(text[text.index(before: index)])
        } ?? text.endIndex
    }
}
