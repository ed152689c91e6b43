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
            "shadow": two devices added an item with the same key. 1 is the one that is seen, 2 the one that is \
            hidden, each with its secret and the device and the time of its last change; in what else they differ \
            follows. The one that is kept is seen on every device, and the other one is deleted. Without a choice the \
            hidden one is seen once the first is renamed, and deleted with it. An item "of this device alone", which \
            other devices know nothing of, hides theirs here only: keeping it deletes the hidden one on all of them.
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
        try vault.withConflicts(revealing: reveal) { conflicts, names, _ in
            guard json else {
                for conflict in conflicts {
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
