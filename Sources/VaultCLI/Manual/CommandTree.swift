// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials

/// The parts of ArgumentParser's description of a command that manual pages and messages need.
struct CommandTree: Decodable {
    private struct Tool: Decodable { var command: CommandTree }

    var commandName: String
    var abstract: String?
    var discussion: String?
    var shouldDisplay: Bool?
    var subcommands: [CommandTree]?
    private var defaultSubcommand: String?
    var arguments: [Argument]?

    /// Describes a command and its subcommands, which takes a tenth of a second for all of them.
    init(_ command: any ParsableCommand.Type = VaultCommand.self) throws {
        self = try JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8)).command
        // The parser takes the options of the default subcommand without its name, too.
        guard let usual = subcommands?.first(where: { $0.commandName == defaultSubcommand }) else { return }
        arguments = (arguments ?? []) + (usual.arguments ?? []).filter { !$0.isBuiltIn }
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String

            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        var kind: String
        var shouldDisplay: Bool?
        var isOptional: Bool?
        var names: [Name]?
        var valueName: String?
        var abstract: String?
        var parsingStrategy: String?
        var isRepeating: Bool?
        private var completionKind: CompletionKind?

        private struct CompletionKind: Decodable {
            struct List: Decodable { var values: [String] }

            struct Other: Decodable {}

            var list: List?
            var file: Other?
            var directory: Other?
            var custom: Other?
        }

        enum Completion {
            case nothing, paths, custom
            case list([String])
        }

        var completion: Completion {
            if let list = completionKind?.list { return .list(list.values) }
            if completionKind?.custom != nil { return .custom }
            return completionKind?.file != nil || completionKind?.directory != nil ? .paths : .nothing
        }

        var isOption: Bool { kind == "option" }

        /// The name by which the parser knows the option.
        var completionName: String { (names?.first { $0.kind == "long" } ?? names?.first)?.text ?? "" }

        var isBuiltIn: Bool { names?.contains { $0.name == "help" || $0.name == "version" } ?? false }

        var isPositional: Bool { kind == "positional" }

        var title: String {
            let value = (valueName ?? "").uppercased()
            guard let names, !isPositional else { return isOptional == true ? "[\(value)]" : value }
            let options = names.map(\.text).joined(separator: ", ")
            return kind == "option" ? "\(options) \(value)" : options
        }
    }

    func option(_ name: String) -> Argument? { arguments?.first { ($0.names ?? []).contains { $0.text == name } } }

    /// The options and flags, as they are typed. `nil` if the command passes on options that it does not know.
    var options: Set<String>? {
        let all = arguments ?? []
        guard !all.contains(where: { $0.parsingStrategy == "allUnrecognized" }) else { return nil }
        return Set(all.flatMap { ($0.names ?? []).map(\.text) })
    }
}
