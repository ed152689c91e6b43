// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultDoors

struct Browsers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browser",
        abstract: "List the browsers that get logins from the vault, or let one go.",
        discussion: """
            A browser is let in by its extension KeePassXC-Browser, after 'vault doors enable browser', when a person \
            has said yes to it; and once more for each site.
            """,
        subcommands: [BrowserList.self, BrowserForget.self], defaultSubcommand: BrowserList.self)
}

struct BrowserList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the browsers that were let in, with the sites that were asked for.",
        discussion: "A line for a browser: its identifier, its program and when it was let in; and one for each site.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let found = try vault.access(.named(nil), onlyReads: true).withVault { try BrowserAssociation.all(in: $0) }
        let rows = found.map(Row.init)
        guard !json else { return try Output.json(rows) }
        try Output.write(rows.map(\.text).joined())
    }

    private struct Row: Encodable {
        struct Site: Encodable {
            var host: String
            var allowed: Bool
        }

        var id: String
        var program: String
        var created: String
        var sites: [Site]

        init(_ association: BrowserAssociation) {
            (id, program) = (association.id, association.program)
            created = association.created.formattedTime
            sites = association.sites.sorted { $0.key < $1.key }.map { Site(host: $0.key, allowed: $0.value) }
        }

        var text: String {
            let head = "\(id.printable)\t\(program.printable)\t\(created)\n"
            return head + sites.map { "\t\($0.host.printable)\t\($0.allowed ? "yes" : "no")\n" }.joined()
        }
    }
}

struct BrowserForget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Let a browser go, or forget what was answered for a site.",
        discussion: """
            A browser that is let go gets nothing any more, and has to ask to be let in again. With a host, that site \
            alone is asked for again.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The browser's identifier: 'vault browser list'.")
    var id: String

    @Argument(help: "A site's host.")
    var host: String?

    func run() throws {
        try vault.access(.named(nil)).withVault { store in
            guard let association = try BrowserAssociation.find(id, in: store) else {
                throw CommandError(.notFound, "no such browser", hint: "'vault browser list'")
            }
            guard let host else { return try association.delete(from: store) }
            guard try association.forget(host, in: store) else {
                throw CommandError(.notFound, "no such site", hint: "'vault browser list'")
            }
        }
    }
}
