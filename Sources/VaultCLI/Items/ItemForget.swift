// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Forget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Delete everything in an access group.",
        discussion: """
            For the removal script of a package: deletes all items of an uninstalled application, with its device \
            identifiers and the older versions of its items. Asks for confirmation at a terminal; without one, --yes \
            is required. An empty group is not an error.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(help: "The access group.")
    var group: String

    @OptionGroup var confirmation: ConfirmationOption

    func validate() throws {
        guard group != "*", !group.isEmpty else { throw ValidationError("--group takes the name of one group") }
    }

    func run() throws {
        try confirmation.checkPossible()
        try vault.access(.named(group)).withVault { vault in
            try confirmation.ask(
                """
                Forget the \(try Forget.count(of: group, in: vault).grouped) items of the group '\(group.printable)', \
                and its deleted items?
                """)
            let count = try Progress.during("forgetting") { _ in try vault.forget(accessGroup: group) }
            Output.note("\(count) items went")
        }
    }

    private static func count(of group: String, in vault: any OpenVault) throws -> Int {
        try ItemClass.allCases.reduce(0) { count, itemClass in
            let query = Query(itemClass, attributes: [.accessGroup: .string(group)]).withoutQuestions
            return try count + vault.allMatching(query).count + vault.lockedCount(matching: query)
        }
    }
}
