// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat
internal import VaultStorage

struct SlotRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a way to unlock the vault.",
        discussion: """
            The last slot for people cannot be removed. Older copies of the file still open with the removed secret: \
            for a leaked secret use 'vault rekey'. Asks for confirmation at a terminal; without one, --yes is \
            required.
            """)

    @Argument(help: "The name of the slot, or its identifier: see 'vault slot list --json'.")
    var slot: String

    @OptionGroup var vault: VaultOptions
    @OptionGroup var confirmation: ConfirmationOption

    func run() throws {
        try confirmation.checkPossible()
        let slots = try vault.locked().slots
        let found = try slots.named(slot)
        try vault.withOpened { opened, _ in try remove(found, slots, opened) }
    }

    private func remove(_ found: KeySlot, _ slots: [KeySlot], _ opened: Vault) throws {
        let isLast =
            !slots.contains { $0.kind.takesPassphrase && $0.slotID != found.slotID } && found.kind.takesPassphrase
        let also = isLast ? " This also deletes the items that need a passphrase slot." : ""
        try confirmation.ask("Remove the slot '\(found.name.printable)' (\(found.kind.label))?\(also)")
        let lost = try opened.removeSlot(found.slotID)
        if lost > 0 { Output.note("deleted \(lost) items that need a passphrase slot") }
    }
}

extension [KeySlot] {
    /// Returns the slot with this name or identifier.
    func named(_ name: String) throws -> KeySlot {
        guard let found = first(where: { $0.name == name }) ?? first(where: { hexadecimal($0.slotID) == name }) else {
            throw CommandError(StorageError.slot(.noSuchSlot))
        }
        return found
    }
}
