// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultSync

struct Conflicts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show what was changed on two devices at once.",
        discussion: """
            Both values stay until a person chooses, or writes the field anew. The first one listed, the newest, is \
            the one that 'vault get' gives. resolve ITEM --keep N makes the Nth value the only one; ITEM is a service, \
            or the identifier that --json shows.
            "shadow": two devices added an item with the same key, and one of the two is seen. --keep 1 keeps that \
            one, --keep 2 the other one, which comes back by itself when the first is deleted or renamed.
            """,
        subcommands: [ConflictList.self, ConflictResolve.self], defaultSubcommand: ConflictList.self)
}

struct ConflictList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the conflicts.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Show the secrets too.")
    var reveal = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try vault.withFleet { fleet, opened in
            let (conflicts, names) = (try opened.conflicts(), DeviceNames(fleet))
            guard json else {
                for conflict in conflicts {
                    if conflict.isShadow { try Output.write(conflict.shadowLines) }
                    for index in conflict.values.indices {
                        try conflict.line(index, names, revealing: reveal).withBytes { try Output.write($0) }
                    }
                }
                return
            }
            try Output.write("[")
            for (index, conflict) in conflicts.enumerated() {
                if index > 0 { try Output.write(",\n ") }
                try conflict.json(names, revealing: reveal).withBytes { try Output.write($0) }
            }
            try Output.write("]\n")
        }
    }
}
