// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// Suggestions for a word that is not a command. The word is only compared and never printed: it may be a secret of the
/// user.
enum Suggestion {
    /// Returns an error with a suggestion, if the first word is not a command.
    ///
    /// - Parameter arguments: the arguments of the process.
    /// - Returns: `nil` if the arguments begin with a command.
    static func forUnknownCommand(in arguments: [String]) -> CommandError? {
        let words = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
        let path = command(in: words)
        let subcommands = type(of: path).configuration.subcommands
        guard !subcommands.isEmpty, let word = words.dropFirst(path.count).first, !word.hasPrefix("-") else {
            return nil
        }
        let names = subcommands.filter { $0.configuration.shouldDisplay }.flatMap { $0.names }
        return .usage("no such command" + question(closest(to: word, among: names)), hint: help(for: path))
    }

    /// Returns an error if an option is longer than every name. The parser would compare it with all names, in a time
    /// that grows with its length: seconds for the longest argument that the kernel passes on.
    ///
    /// - Parameter arguments: arguments that the parser refused.
    static func forLongOption(in arguments: [String]) -> CommandError? {
        let options = arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("-") }
        guard options.contains(where: { $0.utf8.prefix { $0 != UInt8(ascii: "=") }.count > 64 }) else { return nil }
        return .usage("unknown option", hint: help(for: command(in: arguments)))
    }

    /// Returns an error for the first option that its command does not have: the parser checks the values first, and
    /// says what is missing, even if the mistake is a mistyped option.
    ///
    /// - Parameter arguments: arguments that the parser refused.
    static func forUnknownOption(in arguments: [String]) -> CommandError? {
        let path = command(in: arguments)
        guard let names = try? CommandTree(type(of: path)).options else { return nil }
        let given = arguments.dropFirst(path.count).prefix { $0 != "--" }.filter { $0.hasPrefix("-") && $0 != "-" }
        for name in given.map({ String($0.prefix { $0 != "=" }) }) where !names.contains(name) {
            // Letters behind one hyphen are several options.
            if !name.hasPrefix("--"), name.dropFirst().allSatisfy({ names.contains("-\($0)") }) { continue }
            // Anything but a name of letters and hyphens may be a secret.
            let isName =
                name.hasPrefix("--") && (3...32).contains(name.utf8.count)
                && name.utf8.allSatisfy { $0 == 0x2d || (0x61...0x7a).contains($0) }
            let shown = isName ? " '\(name)'" : ""
            let meant = name.hasPrefix("--") ? closest(to: name, among: names.sorted()) : nil
            return .usage("unknown option" + shown + question(meant), hint: help(for: path))
        }
        return nil
    }

    static func type(of path: [String]) -> any ParsableCommand.Type {
        path.reduce(VaultCommand.self as any ParsableCommand.Type) { command, name in
            command.configuration.subcommands.first { $0.names.contains(name) } ?? command
        }
    }

    /// Returns the command at the start of the arguments, as one or more words; empty if there is none.
    static func command(in arguments: [String]) -> [String] {
        var command: any ParsableCommand.Type = VaultCommand.self
        var path: [String] = []
        for word in arguments {
            guard let next = command.configuration.subcommands.first(where: { $0.names.contains(word) }) else { break }
            command = next
            path.append(next.names[0])
        }
        return path
    }

    /// Returns the hint to the help of a command.
    static func help(for command: [String]) -> String {
        "see '\((["vault", "help"] + command).joined(separator: " "))'"
    }

    /// Returns the most similar names for an unknown one, best first, three at most.
    static func names(like word: String, among names: some Sequence<String>) -> [String] {
        let word = word.lowercased()
        let ranked = Set(names).compactMap { name in rank(name.lowercased(), word).map { (name: name, rank: $0) } }
        return ranked.sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }.prefix(3).map(\.name)
    }

    /// Returns 0 if only the case differs, otherwise the number of edits, and the lowest rank if one name is part of
    /// the other; `nil` if they are dissimilar.
    private static func rank(_ name: String, _ word: String) -> Int? {
        let most = 2
        let (a, b) = (Array(word.utf8.prefix(64)), Array(name.utf8.prefix(64)))
        let limit = min(most, min(a.count, b.count) / 2)
        if abs(a.count - b.count) <= limit {
            let distance = distance(a, b)
            if distance <= limit { return distance }
        }
        let isPart = min(a.count, b.count) >= 3 && (name.contains(word) || word.contains(name))
        return isPart ? most + 1 : nil
    }

    /// Returns a hint; `nil` without suggestions.
    static func question(_ names: [String]) -> String? {
        let quoted = names.map { "'\($0.printable)'" }
        guard let last = quoted.last else { return nil }
        let others = quoted.dropLast().joined(separator: ", ")
        return "did you mean \(others.isEmpty ? last : others + " or " + last)?"
    }

    /// Returns the format with a name, for a command that takes one.
    static func format<F: FormatName>(_ name: String?, of command: String, as _: F.Type = F.self) throws -> F? {
        guard let name else { return nil }
        guard let format = F.named(name) else {
            throw CommandError.usage(
                "no such format" + question(closest(to: name, among: F.all.map(\.name))),
                hint: "'vault help \(command)' lists them")
        }
        return format
    }

    static func question(_ name: String?) -> String { name.map { "; did you mean '\($0)'?" } ?? "" }

    /// Returns the name with the fewest edits, if they are few.
    static func closest(to word: String, among names: [String]) -> String? {
        // Words known from other programs.
        if word == "version" { return "--version" }
        if let meant = [
            "remove": "delete", "new": "add", "create": "add", "edit": "update", "search": "find", "list": "find",
        ][word],
            names.contains(meant)
        {
            return meant
        }
        let best = names.map { (name: $0, distance: distance(Array(word.utf8.prefix(32)), Array($0.utf8))) }.min {
            $0.distance < $1.distance
        }
        guard let best, best.distance <= max(1, min(word.utf8.count, best.name.utf8.count) / 2), best.distance <= 2
        else { return nil }
        return best.name
    }

    /// Returns the number of insertions, deletions, substitutions and transpositions (optimal string alignment).
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}

/// A format that a command takes as an argument.
protocol FormatName {
    static var all: [Self] { get }
    var name: String { get }
    /// The description, for users who look for their format.
    var meaning: String { get }
}

extension FormatName {
    static func named(_ name: String) -> Self? { all.first { $0.name == name } }

    /// The names with their descriptions, one line each, or several of which the first begins with the name.
    static var list: String {
        let names = all.map(\.name.count).max() ?? 0
        let (indent, width) = (names + 4, 78)
        return all.map { format in
            let name = "  " + format.name
            var (lines, line) = ([String](), name + String(repeating: " ", count: indent - name.count))
            for word in format.meaning.split(separator: " ") {
                if line.count > indent, line.count + word.count + 1 > width {
                    lines.append(line)
                    line = String(repeating: " ", count: indent)
                }
                line += (line.count > indent ? " " : "") + word
            }
            return (lines + [line]).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

extension ParsableCommand {
    /// The names of the command.
    fileprivate static var names: [String] { [configuration.commandName].compactMap { $0 } + configuration.aliases }
}
