// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The topic `vault help unlock-options`: the options that nearly every command has are described here alone.
struct UnlockTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock-options", abstract: "The options that choose the vault and unlock it.",
        usage: "vault <command> [<options>]",
        discussion: """
            Commands that open the vault have these options. Without one, a command asks the agent, and if that is \
            locked or does not run, it uses the sources that vault(7) lists, the last of which is a prompt.
            """,
        shouldDisplay: false)

    @OptionGroup var vault: VaultOptions

    func run() throws { try Output.line(UnlockTopic.helpMessage()) }

    static func options() throws -> [CommandTree.Argument] {
        (try CommandTree(UnlockTopic.self).arguments ?? []).filter { !$0.isBuiltIn }
    }

    /// Returns the arguments that are not described by the topic. A command with only a few of the options has them
    /// itself.
    static func withoutCommon<Entry>(_ entries: [Entry], _ common: [Entry], by name: (Entry) -> String) -> [Entry] {
        let names = Set(common.map(name))
        let rest = entries.filter { !names.contains(name($0)) }
        return entries.count - rest.count > names.count / 2 ? rest : entries
    }

    /// Replaces the options of the topic in a command's help by one line.
    static func shortened(_ help: String) -> String {
        let common = options(in: helpMessage())?.entries ?? []
        guard let (start, entries, end) = options(in: help), !help.hasPrefix(helpMessage().prefix(80)) else {
            return help
        }
        let own = withoutCommon(entries, common.filter { !isBuiltIn($0) }) { $0 }
        guard own.count < entries.count else { return help }
        let reference = "  Also the options of 'vault help unlock-options', such as --vault FILE."
        let shown = own.filter { !isBuiltIn($0) } + [reference] + own.filter(isBuiltIn)
        return withoutUsage(start) + shown.joined(separator: "\n") + "\n" + end
    }

    /// Takes the options of the topic out of a usage that lists all options.
    private static func withoutUsage(_ text: String) -> String {
        var text = text
        for option in (try? options()) ?? [] {
            let name = option.names?.first?.text ?? ""
            text = text.replacing(option.isOption ? " [\(name) <\(option.valueName ?? "")>]" : " [\(name)]", with: "")
        }
        return text
    }

    private static func isBuiltIn(_ entry: String) -> Bool {
        entry.hasPrefix("  --version ") || entry.hasPrefix("  -h, ")
    }

    /// Splits a help at its options: each entry begins with a hyphen, and goes on with lines indented deeper.
    private static func options(in help: String) -> (start: String, entries: [String], end: String)? {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let heading = lines.firstIndex(of: "OPTIONS:") else { return nil }
        var entries: [String] = []
        var end = heading + 1
        while end < lines.count, !lines[end].isEmpty {
            if lines[end].hasPrefix("  -") {
                entries.append(lines[end])
            } else if !entries.isEmpty {
                entries[entries.count - 1] += "\n" + lines[end]
            }
            end += 1
        }
        return (lines[...heading].joined(separator: "\n") + "\n", entries, lines[end...].joined(separator: "\n"))
    }
}
