// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// vault(1): examples, then every command with its own options.
enum CommandManual {
    static func page() throws -> ManualPage {
        let tool = try CommandTree()
        let commands = Dictionary((tool.subcommands ?? []).map { ($0.commandName, $0) }) { first, _ in first }
        var page = ManualPage(section: 1, about: "keep secrets")
        page.section("SYNOPSIS")
        page.paragraph("vault COMMAND [OPTIONS] [ARGUMENTS]")
        page.section("EXAMPLES")
        page.paragraph(examples.map { "  \($0.command)\n      \($0.meaning)" }.joined(separator: "\n"))
        page.section("DESCRIPTION")
        page.paragraph(tool.discussion ?? "")
        page.section("OPTIONS THAT UNLOCK THE VAULT")
        page.paragraph(try CommandTree(UnlockTopic.self).discussion ?? "")
        for option in try UnlockTopic.options() { page.item(option.title, option.abstract ?? "") }
        for group in VaultCommand.configuration.groupedSubcommands {
            page.section(group.name.uppercased())
            for type in group.subcommands {
                guard let command = type.configuration.commandName.flatMap({ commands[$0] }) else { continue }
                try page.describe(command, below: "vault")
            }
        }
        // Browsers start it; a user who finds it running looks it up.
        if let host = BrowserHost.configuration.commandName.flatMap({ commands[$0] }) {
            page.section("STARTED BY OTHER PROGRAMS")
            try page.describe(host, below: "vault")
        }
        page.section("EXIT STATUS")
        for status in ExitStatus.allCases { page.item(String(status.rawValue), status.meaning) }
        page.section("SEE ALSO")
        page.paragraph("vault(7)")
        return page
    }

    static let examples: [(command: String, meaning: String)] = [
        ("vault init", "Creates the vault, and asks for its passphrase."),
        ("vault unlock", "Asks for the passphrase once; until 'vault lock', no other command does."),
        ("vault set mail.example ada", "Asks for the password of ada at mail.example, and stores it."),
        ("vault set api.example token --generate", "Stores a new random secret."),
        ("vault get mail.example", "Prints the password of the only account at mail.example."),
        ("vault copy mail.example", "Copies it, and clears the clipboard after 45 seconds."),
        ("vault find mail", "Lists the items that have the word anywhere but in a secret."),
        ("vault show mail.example", "Prints all that is known of an item, with its secrets masked."),
        ("vault otp mail.example", "Prints the one-time password of now."),
        ("vault update mail.example --label Mail --attr url=https://mail.example/", "Changes what is known of it."),
        ("vault history mail.example", "Lists older versions; 'vault undo mail.example' returns to the last one."),
        (
            "vault run --env TOKEN=vault://api.example/token -- ./deploy",
            "Runs a program with the secret in its environment."
        ),
        ("vault inject -i app.conf.template -o app.conf", "Fills in each {{ vault://api.example/token }}."),
        ("vault import bitwarden export.json", "Imports the export of another product."),
        ("vault backup /media/disk/copy.vault", "Writes a copy, which the same passphrase opens."),
    ]
}

extension CommandTree {
    fileprivate func synopsis(below parent: String) -> String {
        let positional = (arguments ?? []).filter { $0.isPositional && $0.shouldDisplay ?? true }.map(\.title)
        let options = subcommands == nil ? ["[OPTIONS]"] : ["COMMAND"]
        return ([parent, commandName] + options + positional).joined(separator: " ")
    }
}

extension ManualPage {
    /// Describes a command, followed by its subcommands.
    fileprivate mutating func describe(_ command: CommandTree, below parent: String) throws {
        subsection(command.synopsis(below: parent))
        paragraph([command.abstract, command.discussion].compactMap { $0 }.joined(separator: "\n\n"))
        let all = (command.arguments ?? []).filter { $0.shouldDisplay ?? true && !$0.isBuiltIn }
        let own = UnlockTopic.withoutCommon(all, try UnlockTopic.options()) { "\($0.title) \($0.abstract ?? "")" }
        for argument in own { item(argument.title, argument.abstract ?? "") }
        if own.count < all.count { paragraph("Also the options that unlock the vault, above.") }
        for subcommand in command.subcommands ?? [] where subcommand.shouldDisplay ?? true {
            try describe(subcommand, below: "\(parent) \(command.commandName)")
        }
    }
}
