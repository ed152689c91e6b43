// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials

/// Prints a manual page generated from the command definitions. Scripts/install puts the pages where man(1) looks.
struct Manual: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Print a manual page, in the format of man(1).",
        discussion: "To read a page that is not installed: vault manual 7 | man -l -", shouldDisplay: false)

    @Argument(help: "1 for the command, 7 for the concepts.")
    var section: Int

    func run() throws {
        switch section {
        case 1: try Output.write(CommandManual.page().text)
        case 7: try Output.write(OverviewManual.page.text)
        default: throw CommandError.usage("there are vault(1) and vault(7)")
        }
    }
}

/// A manual page in the macros of man(7).
struct ManualPage {
    private(set) var text: String

    init(section: Int, about: String) {
        text = ".TH VAULT \(section) \"\" \"vault \(VaultCommand.configuration.version)\"\n"
        self.section("NAME")
        paragraph("vault - \(about)")
    }

    mutating func section(_ title: String) { text += ".SH \(ManualPage.escaped(title))\n" }

    mutating func subsection(_ title: String) { text += ".SS \(ManualPage.escaped(title))\n" }

    /// Lines with leading blanks are printed verbatim.
    mutating func paragraph(_ content: String) {
        var isVerbatim = false
        text += ".PP\n"
        for line in content.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty {
                if isVerbatim { text += ".fi\n" }
                isVerbatim = false
                text += ".PP\n"
                continue
            }
            if line.hasPrefix("  ") != isVerbatim {
                isVerbatim.toggle()
                text += isVerbatim ? ".PP\n.nf\n" : ".fi\n.PP\n"
            }
            text += ManualPage.escaped(String(line)) + "\n"
        }
        if isVerbatim { text += ".fi\n" }
    }

    mutating func item(_ title: String, _ content: String) {
        text += ".TP\n.B \(ManualPage.escaped(title))\n\(ManualPage.escaped(content))\n"
    }

    /// Escapes troff's requests and escape sequences, and makes hyphens copyable.
    static func escaped(_ text: String) -> String {
        var output = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("'", with: "\\(aq")
        output = output.replacing("…", with: "...").replacing("“", with: "\"").replacing("”", with: "\"")
        return output.hasPrefix(".") ? "\\&" + output : output
    }
}

/// vault(1): every command with its options.
enum CommandManual {
    static func page() throws -> ManualPage {
        let command = try JSONDecoder().decode(Tool.self, from: Data(VaultCommand._dumpHelp().utf8)).command
        var page = ManualPage(section: 1, about: "keep secrets")
        page.section("SYNOPSIS")
        page.paragraph("vault COMMAND [ARGUMENTS]")
        page.section("DESCRIPTION")
        page.paragraph(command.discussion ?? "")
        page.section("COMMANDS")
        for subcommand in command.subcommands ?? []
        where subcommand.isOfPage {
            page.describe(subcommand, below: "vault")
        }
        page.section("EXIT STATUS")
        for status in ExitStatus.allCases { page.item(String(status.rawValue), status.meaning) }
        page.section("SEE ALSO")
        page.paragraph("vault(7)")
        return page
    }

    /// The parts of ArgumentParser's dump of a command that a page needs.
    private struct Tool: Decodable { var command: Command }

    fileprivate struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var shouldDisplay: Bool?
        var subcommands: [Command]?
        var arguments: [Argument]?

        /// The commands that browsers start are in no list of commands, but a user who finds one running looks it up.
        var isOfPage: Bool {
            commandName != "help"
                && (shouldDisplay ?? true || commandName == BrowserHost.configuration.commandName)
        }

        func synopsis(below parent: String) -> String {
            let positional = (arguments ?? []).filter { $0.kind == "positional" && $0.shouldDisplay ?? true }.map(
                \.title)
            let options = subcommands == nil ? ["[OPTIONS]"] : ["COMMAND"]
            return ([parent, commandName] + positional + options).joined(separator: " ")
        }
    }

    fileprivate struct Argument: Decodable {
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

        var isBuiltIn: Bool { names?.contains { $0.name == "help" || $0.name == "version" } ?? false }

        var title: String {
            let value = (valueName ?? "").uppercased()
            guard let names, kind != "positional" else { return isOptional == true ? "[\(value)]" : value }
            let options = names.map(\.text).joined(separator: ", ")
            return kind == "option" ? "\(options) \(value)" : options
        }
    }
}

extension ManualPage {
    /// Describes a command, followed by its subcommands.
    fileprivate mutating func describe(_ command: CommandManual.Command, below parent: String) {
        subsection(command.synopsis(below: parent))
        paragraph([command.abstract, command.discussion].compactMap { $0 }.joined(separator: "\n\n"))
        for argument in command.arguments ?? [] where argument.shouldDisplay ?? true && !argument.isBuiltIn {
            item(argument.title, argument.abstract ?? "")
        }
        for subcommand in command.subcommands ?? [] where subcommand.shouldDisplay ?? true {
            describe(subcommand, below: "\(parent) \(command.commandName)")
        }
    }
}
