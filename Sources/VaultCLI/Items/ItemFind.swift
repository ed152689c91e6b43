// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultAgent

struct Find: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "List items.",
        discussion: """
            Each WORD must be somewhere in the item: in its name, place, user, URLs, folder, tags, kind or notes, or \
            in a user-defined attribute, but never in a secret or a field; capitals and diacritics make no difference. \
            The options compare exactly, and all must match. On a terminal the output is a table, shown by $PAGER or \
            less if it is longer than the screen; in a pipe it is one line per item: service, account, label and \
            class, separated by tabs, and the access group if there are several. Items that require the passphrase \
            each time are left out, and counted, unless --reveal requests their secrets.
            """, aliases: ["ls"])

    @OptionGroup var vault: VaultOptions

    @Argument(help: ArgumentHelp("A word, or a part of one, that the item has.", valueName: "word"))
    var words: [String] = []

    @Option(help: "The service, or the server.")
    var service: String?

    @Option(help: "The account.")
    var account: String?

    @Option(help: "The label.")
    var label: String?

    @Option(
        name: .customLong("attr"),
        help: ArgumentHelp("A user-defined attribute; may be repeated.", valueName: "name=value"))
    var userAttributes: [UserAttribute] = []

    @Option(
        name: .customLong("class"),
        help:
            "generic, internet, certificate, key, or identity: a certificate, followed by its private key.")
    var itemClass: FoundClass?

    @Option(help: "The access group.")
    var group: String?

    @Option(help: "The maximum number of items.")
    var limit: Int?

    @Flag(help: "Print a JSON array.")
    var json = false

    @Flag(help: "With --json: include the secrets.")
    var reveal = false

    func validate() throws {
        guard !reveal || json else { throw ValidationError("--reveal goes with --json") }
        if let limit, limit < 1 { throw ValidationError("--limit takes 1 or more") }
    }

    func run() throws {
        // Prompts the user rather than showing an incomplete list.
        let access = try vault.access(.named(group), onlyReads: true, asksFirst: true)
        let table = try access.withVault { vault -> ItemTable? in
            let items = try find(in: vault)
            let leftOut = try leftOut(by: vault)
            if leftOut > 0 {
                Output.note("the vault is locked, and leaves out \(leftOut.grouped): 'vault unlock' shows all")
            }
            let protected = try protected(in: vault) - leftOut
            if protected > 0 {
                Output.note("left out \(protected.grouped) that ask for the passphrase each time: 'vault get' does")
            }
            guard !items.isEmpty else {
                if json { try Output.line("[]") }
                throw CommandError(.notFound, "no such item")
            }
            if json {
                try Output.array(items) { try ItemOutput(item: $0).json(revealing: reveal ? $0.secret : nil) }
                return nil
            }
            return ItemTable(items)
        }
        // The vault is closed by now: the user may read for an hour.
        try table?.write()
    }

    /// Returns the number of matching items that a locked vault does not show.
    private func leftOut(by vault: any OpenVault) throws -> Int {
        guard try vault.isLocked else { return 0 }
        return try queries.reduce(0) { try $0 + vault.lockedCount(matching: $1) }
    }

    /// Returns the number of matching items whose secrets are not shown, since they require the user's consent each
    /// time, or since the vault is locked.
    private func protected(in vault: any OpenVault) throws -> Int {
        guard !reveal else { return 0 }
        return try queries.reduce(0) { try $0 + vault.lockedCount(matching: $1.with(\.presence, .leftOut)) }
    }

    private var queries: [Query] {
        switch itemClass {
        case .identity:
            query(for: .certificate).map { [$0.with(\.itemClass, nil).with(\.findsIdentities, true)] } ?? []
        case .items(let option): query(for: option.itemClass).map { [$0] } ?? []
        case nil: ItemClass.allCases.compactMap { query(for: $0) }
        }
    }

    private func find(in store: any ItemStore) throws -> [Item] {
        var found: [Item] = []
        for var query in queries {
            query.leavesOutLocked = true
            if !reveal { query.presence = .leftOut }
            found += try store.allMatching(query)
        }
        if case .identity = itemClass { return found }
        if service != HiddenItems.collectionService { found.removeAll(where: HiddenItems.isCollection) }
        // The table is sorted by class, the limit applies by time.
        found.sort { ($0.record?.created ?? .distantPast) < ($1.record?.created ?? .distantPast) }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    /// Returns the query for a class; `nil` if no item of the class can match.
    private func query(for itemClass: ItemClass) -> Query? {
        var query = Query(
            itemClass, label: label, userAttributes: Dictionary(userAttributes.map { ($0.name, $0.value) }) { $1 })
        query.text = words.isEmpty ? nil : words.joined(separator: " ")
        query.returnsSecrets = reveal
        if let limit { query.limit = .count(limit) }
        if let service {
            switch itemClass {
            case .genericPassword: query.attributes[.service] = .string(service)
            case .internetPassword: query.attributes[.server] = .string(service)
            case .certificate, .key: return nil
            }
        }
        if let account {
            guard Attribute.account.belongs(to: itemClass) else { return nil }
            query.attributes[.account] = .string(account)
        }
        return query
    }
}

/// The target of a search: items of a class, or identities, which are pairs of items.
enum FoundClass: ExpressibleByArgument {
    case items(ClassOption)
    case identity

    init?(argument: String) {
        if argument == "identity" {
            self = .identity
        } else if let option = ClassOption(argument: argument) {
            self = .items(option)
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { ClassOption.allValueStrings + ["identity"] }
}
