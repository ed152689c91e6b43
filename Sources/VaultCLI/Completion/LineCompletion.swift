// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The completions of a line: of commands, options and values, by the definitions of the commands.
struct LineCompletion {
    enum Offers {
        case words([(word: String, meaning: String)])
        /// The shell itself completes paths.
        case paths
    }

    private let words: [String]
    private let current: String
    /// The names of the command, such as `slot add`.
    private let path: [String]
    private let tree: CommandTree
    private var positional = 0
    /// The option whose value is at the cursor.
    private var option: CommandTree.Argument?
    private var given: Set<String> = []
    private var isAfterTerminator = false

    init(_ line: TypedLine) throws {
        let typed = line.words.dropFirst()
        path = Suggestion.command(in: Array(typed))
        (words, current) = (Array(typed.dropFirst(path.count)), line.current)
        tree = try CommandTree(Suggestion.type(of: path))
        for word in words {
            if let expected = option {
                option = nil
                if expected.isOption { continue }
            }
            if isAfterTerminator || !word.hasPrefix("-") || word == "-" {
                positional += 1
            } else if word == "--" {
                isAfterTerminator = true
            } else {
                let name = String(word.prefix { $0 != "=" })
                given.insert(name)
                if name.count == word.count { option = tree.option(name).flatMap { $0.isOption ? $0 : nil } }
            }
        }
    }

    func offers() -> Offers {
        if let option { return values(of: option, named: option.completionName, typed: current) }
        if current.hasPrefix("-"), !isAfterTerminator {
            let name = String(current.prefix { $0 != "=" })
            guard name.count < current.count else { return .words(options) }
            guard let option = tree.option(name), option.isOption,
                case .words(let found) = values(
                    of: option, named: option.completionName, typed: String(current.dropFirst(name.count + 1)))
            else { return .words([]) }
            return .words(found.map { ("\(name)=\($0.word)", $0.meaning) })
        }
        let arguments = (tree.arguments ?? []).filter(\.isPositional)
        let index = min(positional, arguments.count - 1)
        guard index >= 0, index == positional || arguments[index].isRepeating == true else {
            return .words(isAfterTerminator ? [] : subcommands)
        }
        let own = values(of: arguments[index], named: "positional@\(index)", typed: current)
        guard case .words(let found) = own else { return own }
        return .words(found + (positional == 0 ? subcommands : []))
    }

    private var subcommands: [(word: String, meaning: String)] {
        guard words.isEmpty || path.isEmpty && words == ["help"] else { return [] }
        // The parser describes a help of every command that it is asked for alone.
        let shown = (tree.subcommands ?? []).filter { $0.shouldDisplay ?? true }
        return shown.filter { path.isEmpty || $0.commandName != "help" }.map { ($0.commandName, $0.abstract ?? "") }
    }

    private var options: [(word: String, meaning: String)] {
        (tree.arguments ?? []).filter { $0.shouldDisplay ?? true }.flatMap { argument in
            let names = (argument.names ?? []).map(\.text)
            guard argument.isRepeating == true || given.isDisjoint(with: names) else { return [(String, String)]() }
            return names.map { ($0, argument.abstract ?? "") }
        }
    }

    private func values(of argument: CommandTree.Argument, named name: String, typed: String) -> Offers {
        switch argument.completion {
        case .paths: .paths
        case .list(let values): .words(values.map { ($0, "") })
        case .custom: .words(custom(name, typed).map { ($0, "") })
        case .nothing: .words([])
        }
    }

    /// Asks the parser for the completions that a command's definition computes.
    private func custom(_ name: String, _ typed: String) -> [String] {
        let all = ["vault"] + path + words + [typed]
        let request = ["---completion"] + path + ["--", name, String(all.count - 1), String(typed.count)] + all
        do { _ = try VaultCommand.parseAsRoot(request) } catch {
            guard VaultCommand.exitCode(for: error) == .success else { return [] }
            return VaultCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
        }
        return []
    }
}

/// Called by the scripts of shells: prints the completions of a line up to the cursor.
struct CompleteLine: ParsableCommand {
    static let name = "complete-line"
    static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

    /// Stands for paths, which the shell's script completes itself.
    static let paths = ":paths"

    @Flag(help: "Print descriptions behind a tab.")
    var described = false

    @Argument(parsing: .postTerminator)
    var line: [String] = []

    func run() throws {
        let typed = TypedLine(line.joined(separator: " "))
        switch try LineCompletion(typed).offers() {
        case .paths: try Output.line(CompleteLine.paths)
        case .words(let offered):
            let fitting = offered.filter { $0.word.hasPrefix(typed.current) }
            try Output.write(
                fitting.map { described && !$0.meaning.isEmpty ? "\($0.word)\t\($0.meaning)\n" : "\($0.word)\n" }
                    .joined())
        }
    }
}
