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

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func validate() throws {
        guard group != "*", !group.isEmpty else { throw ValidationError("--group takes the name of one group") }
    }

    func run() throws {
        if !yes { try Confirmation.checkPossible() }
        try vault.access(.named(group)).withVault { vault in
            if !yes {
                let count = try Forget.count(of: group, in: vault)
                try Confirmation.ask(
                    "Forget the \(count.grouped) items of the group '\(group.printable)', and its deleted items?")
            }
            let count = try Progress.during("forgetting") { _ in try vault.forget(accessGroup: group) }
            Output.note("\(count) items went")
        }
    }

    private static func count(of group: String, in vault: any OpenVault) throws -> Int {
        try ItemClass.allCases.reduce(0) { count, itemClass in
            var query = Query(itemClass, attributes: [.accessGroup: .string(group)])
            query.leavesOutLocked = true
            query.presence = .leftOut
            return try count + vault.allMatching(query).count + vault.lockedCount(matching: query)
        }
    }
}
