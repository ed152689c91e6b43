// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an item.", discussion: "Asks at a terminal; without one, --yes is required.", aliases: ["rm"])

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    @Flag(help: "Delete all matching items, instead of only one.")
    var all = false

    @OptionGroup var confirmation: ConfirmationOption

    func run() throws {
        let access = try vault.access(selection.groups)
        try confirmation.checkPossible()
        try access.withVault { vault in
            guard all else {
                let item = try selection.changed(in: vault)
                let isElsewhere = item[.accessGroup]?.text != selection.groups.first
                // Without a confirmation, only items in the group used by 'add' are meant.
                guard !isElsewhere || !confirmation.yes else { throw item.isElsewhere }
                try confirmation.ask("Delete \(item.phrase(namingGroup: isElsewhere))?")
                guard let reference = item.record?.persistentReference else { throw VaultError.itemNotFound }
                try vault.delete(matching: Query(persistentReference: reference))
                return
            }
            // All items of one group: deleting items of another program's group requires naming it.
            let items = try selection.items(in: vault).filter { $0[.accessGroup]?.text == selection.groups.first }
            guard let first = items.first else { throw selection.missing(in: vault) }
            let what = items.count == 1 ? first.phrase(namingGroup: false) : "\(items.count.grouped) items"
            try confirmation.ask("Delete \(what)?")
            let references = items.compactMap { $0.record?.persistentReference }
            try vault.store([], replacing: false, deleting: references.map { Query(persistentReference: $0) })
        }
    }
}

/// The option that answers a question beforehand.
struct ConfirmationOption: ParsableArguments {
    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    /// Ends the command early if its question could not be asked.
    func checkPossible() throws { if !yes { try Confirmation.checkPossible() } }

    func ask(_ question: @autoclosure () throws -> String) throws { if !yes { try Confirmation.ask(question()) } }
}

/// The confirmation of a destructive action.
enum Confirmation {
    static func checkPossible() throws {
        guard Terminal() != nil else {
            throw CommandError.usage("there is no terminal to confirm this at", hint: "if it is meant: --yes")
        }
    }

    static func ask(_ question: String) throws {
        try checkPossible()
        guard try isWanted(question) else { throw CommandError(.cancelled, "cancelled") }
    }

    /// Asks until the user answers yes or no. Returns `false` without a terminal.
    ///
    /// - Parameter isUsual: the meaning of an empty answer: yes only to an offer without which the user lacks
    ///   something.
    static func isWanted(_ question: String, isUsual: Bool = false) throws -> Bool {
        guard let terminal = Terminal() else { return false }
        while true {
            switch try terminal.ask(question + (isUsual ? " [Y/n] " : " [y/N] ")).lowercased() {
            case "": return isUsual
            case "y", "yes": return true
            case "n", "no": return false
            default: terminal.write("Please answer yes or no.\n")
            }
        }
    }
}

extension Item {
    /// Returns the name of the item in a question.
    func phrase(namingGroup: Bool) -> String {
        var text = serviceName.printable
        if !accountName.isEmpty { text += ", account \(accountName.printable)" }
        if namingGroup { text += ", of the access group '\((self[.accessGroup]?.text ?? "").printable)'" }
        return text
    }
}

extension Int {
    /// The number with commas between thousands.
    var grouped: String {
        var digits = Array(String(self))
        for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
        return String(digits)
    }
}
