// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault

struct Find: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "List items.",
        discussion: """
            TEXT is a part of the service, the account or the label; the options compare exactly, and all must match.
            A terminal gets a table, a pipe one line an item: service, account, label and class, parted by tabs.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "A part of the service, the account or the label.")
    var text: String?

    @Option(help: "The service, or the server.")
    var service: String?

    @Option(help: "The account.")
    var account: String?

    @Option(help: "The label.")
    var label: String?

    @Option(name: .customLong("attr"), help: ArgumentHelp("An attribute of your own; may be repeated.", valueName: "name=value"))
    var userAttributes: [UserAttribute] = []

    @Option(name: .customLong("class"), help: "generic, internet, certificate or key.")
    var itemClass: ClassOption?

    @Option(help: "The access group.")
    var group: String?

    @Option(help: "At most so many.")
    var limit: Int?

    @Flag(help: "Print a JSON array.")
    var json = false

    @Flag(help: "With --json: the secrets too.")
    var reveal = false

    func validate() throws {
        guard !reveal || json else { throw ValidationError("--reveal goes with --json") }
        if let limit, limit < 1 { throw ValidationError("--limit takes 1 or more") }
    }

    func run() throws {
        let access = try vault.access(.named(group), onlyReads: true)
        try access.withVault { vault in
            if access.isLocked { Output.note("the vault is locked: only what is readable after the first unlock is listed") }
            let items = try find(in: vault)
            guard !items.isEmpty else {
                if json { try Output.line("[]") }
                throw CommandError(.notFound, "no such item")
            }
            if json {
                try printJSON(items)
            } else if Terminal.isTerminal(STDOUT_FILENO) {
                try Output.write(Find.table(items))
            } else {
                try Output.write(items.map { Find.columns($0).joined(separator: "\t") + "\n" }.joined())
            }
        }
    }

    private func find(in store: any ItemStore) throws -> [Item] {
        var found: [Item] = []
        for itemClass in itemClass.map({ [$0.itemClass] }) ?? ItemClass.allCases {
            guard var query = query(for: itemClass) else { continue }
            query.leavesOutLocked = true
            found += try store.allMatching(query)
        }
        // A class comes after another in the table, not in time.
        found.sort { ($0.record?.created ?? .distantPast) < ($1.record?.created ?? .distantPast) }
        return limit.map { Array(found.prefix($0)) } ?? found
    }

    /// Nil: no item of the class can match.
    private func query(for itemClass: ItemClass) -> Query? {
        var query = Query(itemClass, label: label, userAttributes: Dictionary(userAttributes.map { ($0.name, $0.value) }) { $1 })
        query.synchronizableAny = true
        query.text = text
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

    private func printJSON(_ items: [Item]) throws {
        var separator = "["
        for item in items {
            try Output.write(separator)
            try ItemOutput(item: item).json(revealing: reveal ? item.secret : nil).withBytes { try Output.write($0) }
            separator = ",\n "
        }
        try Output.write("]\n")
    }

    private static func columns(_ item: Item) -> [String] {
        [item.serviceName, item[.account]?.displayText ?? "", item[.label]?.displayText ?? "", ClassOption(item.itemClass).rawValue]
            .map(\.printable)
    }

    private static func table(_ items: [Item]) -> String {
        let rows = [["SERVICE", "ACCOUNT", "LABEL", "CLASS"]] + items.map(columns)
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                line += text
                if column < 3 { line += String(repeating: " ", count: widths[column] - text.count + 2) }
            }
            return line + "\n"
        }.joined()
    }
}

extension ItemStore {
    /// The items that match, or none.
    func allMatching(_ query: Query) throws(VaultError) -> [Item] {
        do throws(VaultError) { return try copyMatching(query) } catch {
            guard error == .itemNotFound else { throw error }
            return []
        }
    }
}
