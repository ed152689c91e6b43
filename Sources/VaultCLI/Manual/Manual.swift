// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

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
