// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto

struct History: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List older versions of an item or deleted items, or change how many are kept.",
        discussion: """
            A vault made by 'vault init' keeps five older versions of each item, and deleted items for 30 days; --keep \
            N and --keep-deleted DAYS change that. With --keep 0, the next compaction erases replaced and deleted \
            secrets. 'vault undo' and 'vault restore-item' restore versions; --purge erases them from the file.
            """)

    @Argument(help: "The service, the server or the title.", completion: ItemCompletion.names)
    var name: String?

    @Argument(help: "The account; any if omitted, \"\" for the empty one.", completion: ItemCompletion.accounts)
    var account: String?

    @Option(name: .customLong("class"), help: "generic or internet; if omitted both.")
    var itemClass: ClassOption?

    @Option(help: "The access group.")
    var group: String?

    @OptionGroup var vault: VaultOptions

    @Flag(help: "List deleted items, instead of the versions of an existing one.")
    var deleted = false

    @Option(
        help: ArgumentHelp("Keep this many older versions of every item from now on; 0 for none.", valueName: "number"))
    var keep: Int?

    @Option(
        help: ArgumentHelp(
            "Keep deleted items for this many days from now on; 0 for as long as there is room.", valueName: "days"))
    var keepDeleted: Int?

    @Flag(help: "Erase these versions from the file.")
    var purge = false

    @Flag(help: "With --purge, or if versions are lost for good: do not ask for confirmation.")
    var yes = false

    @OptionGroup var output: JSONOption

    @Flag(help: "With --json: include the secrets.")
    var reveal = false

    func validate() throws {
        guard !reveal || output.json else { throw ValidationError("--reveal goes with --json") }
        if keep != nil || keepDeleted != nil {
            guard (0...1000).contains(keep ?? 0) else { throw ValidationError("--keep takes 0 to 1000") }
            guard (0...36_500).contains(keepDeleted ?? 0) else {
                throw ValidationError("--keep-deleted takes 0 to 36500")
            }
            guard name == nil, !deleted, !purge, !output.json else {
                throw ValidationError("\(keep == nil ? "--keep-deleted" : "--keep") stands alone")
            }
        } else {
            guard name != nil || deleted else { throw ValidationError("history takes a NAME, --deleted or --keep") }
        }
        guard itemClass.map({ $0 == .generic || $0 == .internet }) ?? true else {
            throw ValidationError("--class takes generic or internet here")
        }
    }

    func run() throws {
        if purge, !yes { try Confirmation.checkPossible() }
        guard keep == nil, keepDeleted == nil, !purge else { return try change() }
        try vault.access(.named(group), onlyReads: true).withVault { vault in
            let versions = try queries(in: vault).flatMap { query in
                let query = query.with(\.returnsSecrets, reveal)
                return deleted ? try vault.deletedMatching(query) : try vault.versions(matching: query)
            }
            guard !output.json else { return try VersionOutput.json(versions, revealing: reveal) }
            if versions.isEmpty { Output.note("no deleted items") }
            try Output.write(versions.map { VersionOutput.line($0, showsItem: deleted) + "\n" }.joined())
        }
    }

    private func change() throws {
        try vault.access(.named(group)).withVault { vault in
            if purge { return try purge(vault) }
            if let keep { try set(keep, vault) }
            if let keepDeleted { try set(deletedDays: keepDeleted, vault) }
        }
    }

    /// Returns the queries: for all items, or for those that the given name means.
    ///
    /// - Throws: code 10 if a name means none; the list of all may be empty.
    private func queries(in vault: any OpenVault) throws -> [Query] {
        guard let name else { return ItemClass.allCases.map { Query($0) } }
        let selection = ItemSelection(name, account: account, itemClass, group: group)
        var items = deleted ? [] : try selection.items(in: vault)
        if deleted || purge { items += try selection.deleted(in: vault).map(\.item) }
        guard !items.isEmpty else {
            throw selection.missing(in: vault, deleted ? "there are no deleted items" : "no such item")
        }
        let references = Set(items.compactMap { $0.record?.persistentReference })
        return references.sorted { $0.lexicographicallyPrecedes($1) }.map { Query(persistentReference: $0) }
    }

    private func purge(_ vault: any OpenVault) throws {
        if !yes { try Confirmation.ask("Take older versions out of the file for ever?") }
        let count = try vault.purgeHistory(matching: queries(in: vault), onlyDeleted: deleted)
        guard count > 0 else { throw CommandError(.notFound, "there are no older versions") }
        Output.note("purged the older versions of \(count) items")
    }

    private func set(_ limit: Int, _ vault: any OpenVault) throws {
        let old = try vault.historyLimit
        if limit < old, !yes {
            try Confirmation.ask("Keep \(limit) older versions instead of \(old)? The others go for ever.")
        }
        try vault.setHistoryLimit(limit)
    }

    private func set(deletedDays days: Int, _ vault: any OpenVault) throws {
        let old = try vault.deletedItemsLimit ?? .max
        if days > 0, days < old, !yes {
            try Confirmation.ask("Keep deleted items for \(days) days? Those deleted before that go for ever.")
        }
        try vault.setDeletedItemsLimit(days == 0 ? nil : days)
    }
}

struct Undo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the last change of an item.",
        discussion:
            """
            The current version is kept as an older one, so a second 'undo' reverts the first one. --to names a \
            version of 'vault history'.
            """
    )

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    @Option(help: "The version to return to.")
    var to: UInt64?

    func run() throws {
        try vault.access(selection.groups).withVault { vault in
            guard let record = try selection.changed(in: vault).record else { throw VaultError.itemNotFound }
            guard try ifFound(try vault.undo(record, to: to)) != nil else {
                throw CommandError(
                    .notFound, "there is no such older version", hint: "see 'vault history'; --keep N keeps them")
            }
        }
    }
}

struct RestoreItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore-item",
        abstract: "Restore a deleted item, as it was.",
        discussion: "A vault keeps deleted items if it keeps older versions: see 'vault history --deleted'.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    func run() throws {
        try vault.access(selection.groups).withVault { vault in
            let deleted = try selection.deleted(in: vault).map(\.item)
            guard !deleted.isEmpty else {
                var missing = selection.missing(in: vault, "no such item was deleted")
                missing.hint = missing.hint ?? "see 'vault history --deleted'"
                throw missing
            }
            guard let record = try deleted.only(hint: "choose one with --id ID").record else {
                throw VaultError.itemNotFound
            }
            try vault.restoreItem(record)
        }
    }
}

/// - Returns: `nil` if the item is not found.
func ifFound<R>(_ body: @autoclosure () throws(VaultError) -> R) throws(VaultError) -> R? {
    do throws(VaultError) { return try body() } catch {
        guard error == .itemNotFound else { throw error }
        return nil
    }
}

extension ItemHistory {
    /// Returns the matching deleted items, in their last versions; finding none is no error.
    func deletedMatching(_ query: Query) throws(VaultError) -> [ItemVersion] {
        try ifFound(try deletedItems(matching: query)) ?? []
    }
}

/// Formats versions for output.
enum VersionOutput {
    /// - Parameter showsItem: whether to include the service, the account and an application's group, if several items
    ///   are listed.
    static func line(_ version: ItemVersion, showsItem: Bool) -> String {
        let item = version.item
        let label = item[.label]?.displayText.printable ?? ""
        let what = showsItem ? "\(item.serviceName.printable)\t\((item[.account]?.displayText ?? "").printable)" : label
        let columns = [
            "version \(item.record?.version ?? 0)", (item.record?.modified).map { Time($0).text } ?? "", what,
            version.isCurrent ? "current" : "", showsItem ? item.applicationGroup ?? "" : "",
        ]
        return columns.filter { !$0.isEmpty }.joined(separator: "\t")
    }

    static func json(_ versions: [ItemVersion], revealing: Bool) throws {
        try Output.array(versions, separator: ",") { version in
            try ItemOutput(item: version.item, version: version).json(revealing: revealing ? version.item.secret : nil)
        }
    }
}
