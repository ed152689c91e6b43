// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultFormat

/// The vault that is to be unlocked, as far as a person has to know it.
struct UnlockTarget {
    let path: FilePath
    let slots: [KeySlot]
    /// Whether a command of this kind goes through the agent, so that unlocking that helps.
    let isAgentOfUse: Bool
    /// Who asks, in the place of the terminal.
    var dialog: PassphraseDialog?

    init(_ vault: LockedVault, isAgentOfUse: Bool = false) {
        (path, slots) = (vault.givenPath, vault.slots)
        self.isAgentOfUse = isAgentOfUse
    }

    init(damaged vault: DamagedVault, at path: FilePath) {
        (self.path, slots, isAgentOfUse) = (path, vault.slots, false)
    }

    func has(_ kind: KeySlot.Kind) -> Bool { slots.contains { $0.kind == kind } }

    var takesPassphrase: Bool { slots.contains { $0.kind.takesPassphrase } }

    /// Whether this machine may have a secret for the vault.
    var canAskMachine: Bool { has(.external) || has(.keyFile) && Vault.hasDefaultKeyFile }

    /// Asks for the passphrase, unless no passphrase opens the vault.
    func ask() throws -> Passphrase {
        guard takesPassphrase else {
            throw CommandError(.locked, "no passphrase opens this vault ('\(path.string.printable)')", hint: otherWays)
        }
        if let dialog { return try dialog.ask() }
        guard let terminal = Terminal() else { throw noSource }
        return try Passphrase(terminal.readSecret("Passphrase of \(path.string.printable): "))
    }

    var canAskPerson: Bool { Terminal() != nil || dialog != nil }

    /// Says that what was typed is wrong.
    func noteWrong() {
        if let dialog { dialog.noteWrong() } else { Terminal()?.write("Wrong passphrase, once more.\n") }
    }

    /// What opens the vault beside a passphrase alone.
    var otherWays: String {
        let ways = UnlockOptions.waysIn.filter { has($0.kind) }.map(\.way)
        return ways.isEmpty
            ? "the vault has no other way in: see 'vault slot list'" : "other ways in: " + ways.joined(separator: ", ")
    }

    /// There is nothing to unlock with, and nobody to ask.
    var noSource: CommandError {
        guard takesPassphrase else {
            return CommandError(
                .locked, "there is nothing to unlock the vault with and no terminal to ask at", hint: otherWays)
        }
        return PassphraseOptions.noSource(
            hint: (isAgentOfUse ? "'vault unlock', " : "") + "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }
}
