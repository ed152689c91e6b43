// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultSync

struct Conflicts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show the concurrent changes of two devices.",
        discussion: """
            Both values stay until the user chooses one, or writes the field again. The first value in the list, the \
            newest, is the one that 'vault get' prints. resolve ITEM --keep N makes the Nth value the only one; ITEM \
            is a service, or the identifier that --json shows.
            "shadow": two devices added an item with the same key. Value 1 is the visible item and value 2 the hidden \
            one, each with its secret and with the device and the time of its last change; their other differences \
            follow. The kept item becomes visible on every device, and the other item is deleted. Without a choice, \
            the hidden item becomes visible once the first one is renamed, and is deleted with the first one. An item \
            "of this device alone", which other devices do not know, hides the fleet's item on this device only: \
            keeping it deletes the hidden item on all devices.
            """,
        subcommands: [ConflictList.self, ConflictResolve.self], defaultSubcommand: ConflictList.self)
}

struct ConflictList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the conflicts.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Include the secrets.")
    var reveal = false

    @OptionGroup var output: JSONOption

    func run() throws {
        try vault.withFleet { fleet in
            let (conflicts, names) = try fleet.conflicts(revealing: reveal)
            guard output.json else {
                if conflicts.isEmpty { Output.note("no conflicts") }
                for conflict in conflicts {
                    for index in conflict.values.indices {
                        try conflict.line(index, names, revealing: reveal).withBytes { try Output.write($0) }
                    }
                }
                return
            }
            try Output.array(conflicts) { try $0.json(names, revealing: reveal) }
        }
    }
}
