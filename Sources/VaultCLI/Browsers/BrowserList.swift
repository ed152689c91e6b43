// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultBrowser

struct Browsers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browser",
        abstract: "List the browsers that get logins from the vault, or remove one.",
        discussion: """
            The user lets in a browser, which asks by its extension KeePassXC-Browser after 'vault doors enable \
            browser', and then each site.
            """,
        subcommands: [BrowserList.self, BrowserForget.self], defaultSubcommand: BrowserList.self)
}

struct BrowserList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the approved browsers, with the sites that they asked for.",
        discussion: """
            Prints a line for each browser, with identifier, program and time of approval, and for each site: a host, \
            which stands for https at the usual port, or scheme, host and port.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        let found = try vault.access(.named(nil), onlyReads: true).withVault { try BrowserAssociation.all(in: $0) }
        try Output.list(found.map(Row.init), asJSON: output.json, named: "browsers", \.text)
    }

    private struct Row: Encodable {
        struct Site: Encodable {
            /// The host, or the URL of another scheme or port than the usual.
            var host: String
            var allowed: Bool
        }

        var id: String
        var program: String
        var created: Time
        var sites: [Site]

        init(_ association: BrowserAssociation) {
            (id, program) = (association.id, association.program)
            created = Time(association.created)
            sites = association.sites.sorted { $0.key < $1.key }.map { Site(host: $0.key, allowed: $0.value) }
        }

        var text: String {
            let head = "\(id.printable)\t\(program.printable)\t\(created.text)\n"
            return head + sites.map { "\t\($0.host.printable)\t\($0.allowed ? "yes" : "no")\n" }.joined()
        }
    }
}

struct BrowserForget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove a browser, or forget the answer for a site.",
        discussion: """
            A removed browser gets nothing any more, and has to ask to be let in again. With a host, only the answers \
            for this host are forgotten, and with a URL the one for its scheme, host and port; the user is asked again.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The browser's identifier, as in 'vault browser list'.")
    var id: String

    @Argument(help: "The host of a site, or its URL.")
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
