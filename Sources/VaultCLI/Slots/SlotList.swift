// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat
internal import VaultStorage

struct Slot: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot",
        abstract: "List, add and remove ways to unlock the vault.",
        discussion: "Each slot opens the whole vault. There are at most eight, and at least one of them is for people.",
        subcommands: [SlotList.self, SlotAdd.self, SlotRemove.self], defaultSubcommand: SlotList.self)
}

struct SlotList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the ways to unlock the vault.", discussion: "Needs no passphrase.")

    @OptionGroup var file: VaultFileOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        let slots = try LockedVault(at: file.path()).slots.map(SlotSummary.init)
        try Output.list(slots, asJSON: output.json, named: "slots") { $0.line + "\n" }
    }
}

/// The information about a slot that is available without a key.
struct SlotSummary: Encodable {
    var name: String
    var type: String
    var kdf: String
    var memoryBytes: UInt64?
    var passes: UInt32?
    var keeper: String?
    var id: String

    init(_ slot: KeySlot) {
        name = slot.name
        type = slot.kind.label
        kdf = "blake2b"
        keeper = slot.provider?.label
        id = hexadecimal(slot.slotID)
        if case .argon2id(let passes, let memoryBytes) = slot.stretching {
            kdf = "argon2id"
            self.memoryBytes = memoryBytes
            self.passes = passes
        }
    }

    /// The type of the slot, and the cost of a guess.
    var description: String {
        var text = keeper.map { "\(type) (\($0))" } ?? type
        if let memoryBytes, let passes {
            text += ": \(kdf), \(memoryBytes >> 20) MiB, \(passes) \(passes == 1 ? "pass" : "passes")"
        }
        return text
    }

    var line: String {
        let shown = name.printable
        return shown + String(repeating: " ", count: max(2, 26 - shown.count)) + description
    }
}
