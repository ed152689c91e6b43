// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat

struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change the passphrase.",
        discussion: """
            The command opens no secret, and the items stay sealed as they are. Older copies of the file still open \
            with the old passphrase. If a recovery code or a key file unlocks the vault, the new passphrase replaces \
            the forgotten one.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var new: NewPassphraseOptions

    @Option(help: "The slot to change, if not the one that opens the vault.")
    var slot: String?

    func validate() throws { try new.check(against: vault.passphrase) }

    func run() throws {
        try vault.withOpened(asksMachine: false) { opened, current in
            let target = try target(in: opened, slots: opened.slots())
            let secret = try secret(for: target, current, try new.passphrase())
            try Progress.during("changing the passphrase") { _ in
                try opened.replaceSlot(target.slotID, with: secret, cost: new.kdf?.cost)
            }
        }
    }

    /// Returns the slot whose passphrase is changed: the named one, the one that opened the vault, or the only one with
    /// a passphrase.
    private func target(in vault: Vault, slots: [KeySlot]) throws -> KeySlot {
        if let slot {
            let found = try slots.named(slot)
            guard found.kind.takesPassphrase else {
                throw CommandError.usage("the slot has no passphrase", hint: "see 'vault slot list'")
            }
            return found
        }
        if let opened = try vault.openedSlot(), opened.kind.takesPassphrase { return opened }
        let candidates = slots.filter { $0.kind == .passphrase }
        guard let only = candidates.first else {
            throw CommandError(
                .notFound, "the vault has no slot for a passphrase", hint: "add one: 'vault slot add passphrase'")
        }
        guard candidates.count == 1 else {
            throw CommandError(.ambiguous, "there are several passphrases", hint: "choose one with --slot NAME")
        }
        return only
    }

    private func secret(for slot: KeySlot, _ current: UnlockingSecret, _ passphrase: Passphrase) throws
        -> UnlockingSecret
    {
        guard slot.kind == .passphraseAndKeyFile else { return .passphrase(passphrase) }
        switch current {
        case .passphraseAndKeyFile(_, let keyFile), .keyFile(let keyFile):
            return .passphraseAndKeyFile(passphrase, keyFile)
        default:
            throw CommandError.usage(
                "the slot needs a key file as well", hint: "--key-file FILE, with --passphrase-file FILE")
        }
    }
}
