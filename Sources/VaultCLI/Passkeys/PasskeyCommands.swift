// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultFormat

struct Passkeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkey",
        abstract: "List the passkeys of sites, delete or restore one.",
        discussion: """
            Sites make and use passkeys through the browser extension KeePassXC-Browser, after 'vault doors enable \
            browser'. The user is asked each time.
            """,
        subcommands: [PasskeyList.self, PasskeyDelete.self, PasskeyRestore.self], defaultSubcommand: PasskeyList.self)
}

struct PasskeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the passkeys, without their keys.",
        discussion: """
            Prints a line for each passkey, with the site's domain, the account, the time of creation and the \
            credential's identifier.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The domain of a site.")
    var site: String?

    @OptionGroup var output: JSONOption

    func run() throws {
        let found = try vault.access(.named(nil), onlyReads: true).withVault { try $0.passkeys(of: site?.lowercased()) }
        let name = "passkeys" + (site.map { " of \($0.printable)" } ?? "")
        try Output.list(found.map(Row.init), asJSON: output.json, named: name, \.text)
    }

    private struct Row: Encodable {
        var site: String
        var user: String
        var displayName: String
        var created: Time?
        var credential: String

        init(_ passkey: Passkey) {
            (site, user, displayName) = (passkey.relyingParty, passkey.names.user, passkey.names.display)
            created = (passkey.item.record?.created).map(Time.init)
            credential = Base64URL.encoded(passkey.credentialID)
        }

        var text: String {
            [site, user, created?.text ?? "", credential].map(\.printable).joined(separator: "\t") + "\n"
        }
    }
}

/// The arguments that select a passkey.
struct PasskeySelection: ParsableArguments {
    @Argument(help: "The domain of the site.")
    var site: String

    @Argument(help: "The account, if the site has several.")
    var user: String?

    @Option(help: ArgumentHelp("The credential's identifier, as in 'vault passkey list'.", valueName: "id"))
    var credential: String?

    /// Returns the one that is selected.
    ///
    /// - Throws: code 10 if none matches; 12 if several match.
    func only(of passkeys: [Passkey], missing: CommandError) throws -> Passkey {
        let found = passkeys.filter { passkey in
            let id = Base64URL.encoded(passkey.credentialID)
            return (user ?? passkey.names.user) == passkey.names.user && (credential ?? id) == id
        }
        guard let first = found.first else { throw missing }
        guard found.count == 1 else {
            throw CommandError(
                .ambiguous, "\(found.count) passkeys of \(site.printable) match",
                hint: "name the account, or --credential of 'vault passkey list'")
        }
        return first
    }

    /// The query for the passkeys of the site.
    var query: Query { Passkey.query(of: site.lowercased()) }
}

struct PasskeyDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a passkey.",
        discussion: """
            The site still knows the public half: remove the passkey there as well, or keep another way to sign in. \
            'vault passkey restore' brings the passkey back while the vault keeps deleted items.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: PasskeySelection

    func run() throws {
        try vault.access(.named(nil)).withVault { store in
            let found = try store.passkeys(of: selection.site.lowercased())
            let missing = CommandError(.notFound, "no such passkey", hint: "'vault passkey list'")
            try store.delete(try selection.only(of: found, missing: missing))
        }
    }
}

struct PasskeyRestore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a deleted passkey, as it was.",
        discussion: "A vault keeps deleted items if it keeps older versions: see 'vault history --keep'.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: PasskeySelection

    func run() throws {
        try vault.access(.named(nil)).withVault { store in
            let found = try store.deletedMatching(selection.query).compactMap { Passkey($0.item) }
            let missing = CommandError(.notFound, "no such passkey was deleted", hint: "see 'vault history --keep'")
            guard let record = try selection.only(of: found, missing: missing).item.record else {
                throw VaultError.itemNotFound
            }
            try store.restoreItem(record)
        }
    }
}
