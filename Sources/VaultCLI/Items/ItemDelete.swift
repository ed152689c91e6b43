// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an item.", discussion: "Asks on a terminal; without one, --yes is needed.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    @Flag(help: "Delete all that match, not only one.")
    var all = false

    @Flag(help: "Do not ask.")
    var yes = false

    func run() throws {
        let access = try vault.access(selection.groups)
        if !yes { try Confirmation.checkPossible() }
        try access.withVault { vault in
            guard all else {
                let item = try selection.only(in: vault)
                if !yes { try Confirmation.ask("Delete 1 item?") }
                guard let reference = item.record?.persistentReference else { throw VaultError.itemNotFound }
                try vault.delete(matching: Query(persistentReference: reference))
                return
            }
            if !yes { try Confirmation.ask("Delete \(try vault.copyMatching(selection.query).count) items?") }
            try vault.delete(matching: selection.query)
        }
    }
}

/// The question before something is destroyed.
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

    /// What a person says; without one, no.
    static func isWanted(_ question: String) throws -> Bool {
        guard let answer = try Terminal()?.ask(question + " [y/N] ").lowercased() else { return false }
        return answer == "y" || answer == "yes"
    }
}
