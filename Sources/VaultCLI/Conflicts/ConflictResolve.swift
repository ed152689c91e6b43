// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultSync

struct ConflictResolve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Keep one of the values, for all devices.",
        discussion: "The other devices receive the choice at the next sync.")

    @Argument(
        help: "The service, the server, or the identifier of the item.", completion: ItemCompletion.names)
    var item: String

    @Argument(help: "The account; any if omitted, \"\" for the empty one.", completion: ItemCompletion.accounts)
    var account: String?

    @Option(help: "The field, if several have conflicts, as in 'vault conflicts', such as shadow.")
    var field: String?

    @Option(help: "The number of the value to keep.")
    var keep: Int

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard keep >= 1 else { throw ValidationError("--keep takes a number that 'vault conflicts' shows") }
    }

    func run() throws {
        try vault.withFleet { fleet in
            let (conflicts, _) = try fleet.conflicts(revealing: false)
            let found = try ConflictChoice(item: item, account: account, field: field).only(of: conflicts)
            guard keep <= found.values.count else {
                throw CommandError.usage(
                    "there are \(found.values.count) to choose from", hint: "see 'vault conflicts'")
            }
            try fleet.resolve(found, keeping: keep)
        }
    }
}

/// The arguments that select a conflict.
struct ConflictChoice {
    let item: String
    let account: String?
    let field: String?

    /// - Throws: code 10 if none matches; 12 if several match.
    func only(of conflicts: [ItemConflict]) throws -> ItemConflict {
        let ofItem = conflicts.filter { names($0.item) }
        guard !ofItem.isEmpty else {
            throw CommandError(.notFound, "no such item has a conflict", hint: "see 'vault conflicts'")
        }
        let ofField = ofItem.filter { conflict in
            field.map { $0 == conflict.fieldName || $0 == conflict.field } ?? true
        }
        guard let found = ofField.first else {
            throw CommandError(.notFound, "this field has no conflict", hint: ConflictChoice.fields(ofItem))
        }
        let items = Set(ofField.compactMap { $0.item.record?.id })
        guard items.count == 1 else {
            let accounts = Set(ofField.map { "'\(($0.item[.account]?.displayText ?? "").printable)'" }).sorted()
            guard accounts.count > 1 else {
                throw CommandError(
                    .ambiguous, "several items with this key have conflicts",
                    hint: "name one by its identifier, which 'vault conflicts --json' shows, or choose with --field")
            }
            throw CommandError(
                .ambiguous, "several items match, of the accounts \(accounts.joined(separator: ", "))",
                hint: "name the account, or the identifier that 'vault conflicts --json' shows")
        }
        guard ofField.count == 1 else {
            throw CommandError(
                .ambiguous, "several fields of the item have conflicts", hint: ConflictChoice.fields(ofItem))
        }
        return found
    }

    private func names(_ other: Item) -> Bool {
        if other.record?.id.uuidString.lowercased() == item.lowercased() { return true }
        return other.serviceName == item && account.map { $0 == other[.account]?.displayText ?? "" } ?? true
    }

    private static func fields(_ conflicts: [ItemConflict]) -> String {
        "choose with --field: " + conflicts.map { "'\($0.fieldName.printable)'" }.joined(separator: ", ")
    }
}
