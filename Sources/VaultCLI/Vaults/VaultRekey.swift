// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgentServer
internal import VaultFormat
internal import VaultCrypto
internal import VaultStorage

struct Rekey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Encrypt everything again, under a new vault key.",
        discussion: """
            For a passphrase, a recovery code, a key file or a copy of the vault that may have leaked. Every other way \
            to unlock is removed, and has to be added again; --recovery-code makes a new recovery code. Older copies \
            still open with the secrets that opened them, and reveal their content: change those secrets where they \
            are used. Asks for confirmation at a terminal; without one, --yes is required.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var new: NewPassphraseOptions

    @Flag(help: "Make a new recovery code, and print it once.")
    var recoveryCode = false

    @OptionGroup var confirmation: ConfirmationOption

    func validate() throws { try new.check(against: vault.passphrase) }

    func run() throws {
        try confirmation.checkPossible()
        let locked = try vault.locked()
        try vault.withOpened { opened, current in try rekey(opened, current, locked) }
    }

    private func rekey(_ opened: Vault, _ current: UnlockingSecret, _ locked: LockedVault) throws {
        let held = try opened.openedHeldSlot()
        let own = held?.slot
        let entries = try entries(for: current, held)
        let dropped = try opened.slots().filter { $0.slotID != own?.slotID }.map(\.name.printable)
        let rest = dropped.isEmpty ? "" : ", without \(dropped.joined(separator: ", "))"
        try confirmation.ask("Encrypt everything with a new key\(rest)?")
        let result = try Progress.during("rekeying") { report in try opened.rekey(entries, report: report) }
        setAuditLogAside(of: locked)
        Output.note("sealed \(result.values) secrets anew")
        if !dropped.isEmpty { Output.note("no longer opens the vault: the former \(dropped.joined(separator: ", "))") }
        if result.foreign > 0 {
            Output.note("\(result.foreign) items of other devices went, since nobody can open them here")
        }
        guard recoveryCode else { return }
        try Output.after(
            "all secrets have a new key, without a recovery code", hint: "'vault slot add recovery-code' makes one"
        ) {
            try RecoveryCodeOutput.add(to: opened)
        }
    }

    private func setAuditLogAside(of vault: LockedVault) {
        guard let directory = VaultEnvironment.system.stateDirectory,
            let aside = AuditLog.setAside(of: vault.vaultID, in: directory, generation: vault.generation)
        else { return }
        Output.note("the audit log up to now is '\(aside.string.printable)'; its seal went with the old key")
    }

    /// Returns the slots of the new vault: the secret that opened it, or a new passphrase in its place.
    private func entries(for current: UnlockingSecret, _ held: HeldSlot?) throws -> [SlotEntry] {
        let own = held?.slot
        func entry(_ secret: UnlockingSecret) -> SlotEntry {
            let slot = own?.kind == secret.kind ? own : nil
            let name = slot?.name ?? secret.kind.label
            return SlotEntry(secret, name: name, cost: new.kdf?.cost ?? slot?.cost ?? .moderate)
        }
        let passphrase = try new.given()
        guard !current.kind.takesPassphrase else { return [entry(passphrase.map { current.with($0) } ?? current)] }
        let forPeople = entry(.passphrase(try passphrase ?? new.passphrase()))
        // A key file and a security key stay with their owner; a recovery code is used up, and the machine's secret
        // belongs to the old slot.
        if let held, held.slot.provider == .fido2 {
            var kept = entry(current)
            (kept.provider, kept.blob) = (held.slot.provider, held.blob)
            return [kept, forPeople]
        }
        return current.kind == .keyFile ? [entry(current), forPeople] : [forPeople]
    }
}
