// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultFormat

/// The vault to be unlocked, with the properties that prompts mention.
struct UnlockTarget {
    let path: FilePath
    let slots: [KeySlot]
    /// The credentials of the slots that a security key opens, read when one is used.
    let securityKeyCredentials: () throws(VaultError) -> [SecurityKeyCredential]
    /// Reads the secret that this machine keeps for the vault.
    let machineSecret: () throws(VaultError) -> UnlockingSecret?
    /// Whether commands of this kind go through the agent, so that unlocking the agent helps.
    let isAgentOfUse: Bool
    /// The dialog that asks, in place of the terminal.
    var dialog: PassphraseDialog?

    init(_ vault: LockedVault, isAgentOfUse: Bool = false) {
        (path, slots) = (vault.givenPath, vault.slots)
        securityKeyCredentials = { () throws(VaultError) in try vault.securityKeyCredentials() }
        machineSecret = { () throws(VaultError) in try vault.machineSecret(with: .ofProcess) }
        self.isAgentOfUse = isAgentOfUse
    }

    init(damaged vault: DamagedVault, at path: FilePath) {
        (self.path, slots, isAgentOfUse) = (path, vault.slots, false)
        securityKeyCredentials = { () throws(VaultError) in try vault.securityKeyCredentials() }
        machineSecret = { () throws(VaultError) in try vault.machineSecret(with: .ofProcess) }
    }

    func has(_ kind: KeySlot.Kind) -> Bool { slots.contains { $0.kind == kind } }

    var takesPassphrase: Bool { slots.contains { $0.kind.takesPassphrase } }

    /// Whether this machine may keep a secret for the vault, and give it without a person.
    var canAskMachine: Bool {
        slots.contains { $0.provider?.needsPerson == false } || has(.keyFile) && Vault.hasDefaultKeyFile
    }

    /// Whether a security key opens the vault. None is asked unless a person is there, and asks for it.
    var takesSecurityKey: Bool { slots.contains { $0.provider == .fido2 } }

    /// Asks for the passphrase, unless the vault has no passphrase slot.
    ///
    /// - Parameter offersKey: whether an empty answer, which is an error, makes the caller ask for a security key.
    func ask(offersKey: Bool = false) throws -> Passphrase {
        guard takesPassphrase else {
            throw CommandError(.locked, "no passphrase opens this vault ('\(path.string.printable)')", hint: otherWays)
        }
        if let dialog { return try dialog.ask(takesSecurityKey: offersKey && takesSecurityKey) }
        guard let terminal = Terminal() else { throw noSource }
        let other = offersKey && takesSecurityKey ? " (empty for the security key)" : ""
        return try Passphrase(terminal.readSecret("Passphrase of \(path.string.printable)\(other): "))
    }

    var canAskPerson: Bool { Terminal() != nil || dialog != nil }

    /// Reports that the typed passphrase is wrong.
    func noteWrong() {
        if let dialog { dialog.noteWrong() } else { Terminal()?.write("Wrong passphrase, once more.\n") }
    }

    /// The ways to open the vault other than by a passphrase alone.
    var otherWays: String {
        let ways = UnlockOptions.waysIn.filter { way in slots.contains(where: way.opens) }.map(\.way)
        return ways.isEmpty
            ? "no other slot can open the vault: see 'vault slot list'"
            : "other ways in: " + ways.joined(separator: ", ")
    }

    /// The error if there is no way to unlock, and no prompt.
    var noSource: CommandError {
        guard takesPassphrase else {
            return CommandError(
                .locked, "no option unlocks the vault, and there is no terminal to ask for the passphrase",
                hint: otherWays)
        }
        return PassphraseOptions.noSource(
            hint: (isAgentOfUse ? "'vault unlock', " : "") + "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }
}
