// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat

struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change the passphrase.",
        discussion: """
            No secret is opened, and the items stay sealed as they are. A copy of the file that was made before still opens with the old passphrase.
            Unlocked with a recovery code or a key file, the vault gets a new passphrase for the one that was forgotten.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var new: NewPassphraseOptions

    @Option(help: "Which slot, where there are several and the passphrase is forgotten.")
    var slot: String?

    func validate() throws { try new.check(against: vault.passphrase) }

    func run() throws {
        let locked = try vault.locked()
        let current = try vault.unlocking.secret(for: locked.slots, prompt: "Current passphrase: ")
        let opened = try Progress.during("unlocking") { _ in try locked.unlock(with: current) }
        defer { opened.close() }
        let forgotten = try forgottenSlot(locked.slots, current)
        let passphrase = try new.passphrase()
        try Progress.during("changing the passphrase") { _ in
            switch current {
            case .passphrase: try opened.changeSecret(from: current, to: .passphrase(passphrase), cost: new.kdf?.cost)
            case .passphraseAndKeyFile(_, let keyFile):
                try opened.changeSecret(from: current, to: .passphraseAndKeyFile(passphrase, keyFile), cost: new.kdf?.cost)
            case .recoveryCode, .keyFile, .external:
                guard let forgotten else { return }
                try opened.replaceSlot(forgotten.slotID, with: .passphrase(passphrase), cost: new.kdf?.cost)
            }
        }
    }

    /// The slot that gets a new passphrase when it was not its own that opened the vault.
    private func forgottenSlot(_ slots: [KeySlot], _ current: UnlockingSecret) throws -> KeySlot? {
        switch current {
        case .passphrase, .passphraseAndKeyFile: return nil
        case .recoveryCode, .keyFile, .external: break
        }
        if let slot {
            let found = try slots.named(slot)
            guard found.kind == .passphrase else {
                throw CommandError.usage("the slot takes no passphrase alone", hint: "see 'vault slot list'")
            }
            return found
        }
        let candidates = slots.filter { $0.kind == .passphrase }
        guard let only = candidates.first else {
            throw CommandError(.notFound, "the vault has no slot for a passphrase", hint: "add one: 'vault slot add passphrase'")
        }
        guard candidates.count == 1 else {
            throw CommandError(.ambiguous, "there are several passphrases", hint: "choose one with --slot NAME")
        }
        return only
    }
}
