// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The options for a new passphrase.
struct NewPassphraseOptions: ParsableArguments {
    @Option(file: "Read the new passphrase from this file.")
    var newPassphraseFile: String?

    @Option(help: ArgumentHelp("Read the new passphrase from this descriptor.", valueName: "number"))
    var newPassphraseFd: Int32?

    @Option(help: "The cost of a guess: interactive, moderate or sensitive.")
    var kdf: CostOption?

    func validate() throws {
        guard newPassphraseFile == nil || newPassphraseFd == nil else {
            throw ValidationError("--new-passphrase-file and --new-passphrase-fd exclude each other")
        }
    }

    func check(against current: PassphraseOptions) throws {
        if let newPassphraseFd, newPassphraseFd == current.passphraseFd {
            throw ValidationError("one descriptor cannot give both passphrases")
        }
    }

    /// Returns the passphrase; `nil` if neither a file nor a descriptor is named.
    func given() throws -> Passphrase? {
        if let file = newPassphraseFile { return try PassphraseOptions.read(file: file) }
        return try newPassphraseFd.map { try PassphraseOptions.read(descriptor: $0) }
    }

    /// - Throws: code 4 if there is neither a source nor a terminal.
    func passphrase() throws -> Passphrase {
        try given() ?? PassphraseOptions.askNew("New passphrase: ", orElse: "--new-passphrase-file FILE")
    }
}

struct SlotAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a way to unlock the vault.",
        discussion: """
            passphrase: another passphrase.
            recovery-code: made by the command, printed once and stored nowhere; write it down.
            key-file: --new-key-file, created if it does not exist. The file alone opens the vault. \
            passphrase-and-key-file: requires both.
            tpm2: the TPM2 chip of this machine opens the vault by itself, even for a newly installed system. systemd: \
            this system opens the vault, with the key of systemd-creds, for root.
            fido2: a FIDO2 security key opens the vault, on any machine, after a touch, and with its PIN if it has \
            one: 'vault unlock --fido2'. A lost key opens nothing; add a second one, or keep a recovery code.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case passphrase
        case recoveryCode = "recovery-code"
        case keyFile = "key-file"
        case passphraseAndKeyFile = "passphrase-and-key-file"
        case tpm2, systemd, fido2
    }

    @Argument(help: "passphrase, recovery-code, key-file, passphrase-and-key-file, tpm2, systemd or fido2.")
    var kind: Kind

    @Option(help: "A name for the slot, of at most 32 bytes.")
    var name: String?

    @OptionGroup var vault: VaultOptions
    @OptionGroup var new: NewPassphraseOptions

    @Option(file: "The key file; created, with 64 random bytes, if it does not exist.")
    var newKeyFile: String?

    @Option(help: ArgumentHelp("The chip, in the syntax of systemd-creds; else the machine's.", valueName: "device"))
    var tpm2Device: String?

    @Option(
        help: ArgumentHelp(
            """
            Registers of the chip that must not change, such as 7 for Secure Boot; the default, 16, binds only to the \
            chip.
            """,
            valueName: "list"))
    var tpm2Pcrs: String?

    func validate() throws {
        try new.check(against: vault.passphrase)
        let takesKeyFile = kind == .keyFile || kind == .passphraseAndKeyFile
        guard takesKeyFile == (newKeyFile != nil) else {
            throw ValidationError(
                takesKeyFile
                    ? "--new-key-file is missing" : "--new-key-file goes with key-file and passphrase-and-key-file")
        }
        let takesPassphrase = kind == .passphrase || kind == .passphraseAndKeyFile
        guard takesPassphrase || new.newPassphraseFile == nil && new.newPassphraseFd == nil && new.kdf == nil else {
            throw ValidationError("--new-passphrase-file, --new-passphrase-fd and --kdf go with a passphrase")
        }
        guard kind == .tpm2 || tpm2Device == nil && tpm2Pcrs == nil else {
            throw ValidationError("--tpm2-device and --tpm2-pcrs go with tpm2")
        }
    }

    func run() throws {
        var unlocked = vault
        // The option names the key that unlocks the vault, if --fido2 asks for one; else the new key.
        if kind == .fido2, !vault.unlocking.securityKey.fido2 { unlocked.unlocking.securityKey.fido2Device = nil }
        try unlocked.withOpened { opened, _ in try add(to: opened) }
    }

    private func add(to opened: Vault) throws {
        let cost = new.kdf?.cost ?? .moderate
        switch kind {
        case .passphrase:
            let passphrase = try new.passphrase()
            try adding { _ = try opened.addSlot(for: .passphrase(passphrase), name: name, cost: cost) }
        case .recoveryCode:
            try RecoveryCodeOutput.add(to: opened, name: name)
        case .keyFile: try withKeyFile { keyFile in _ = try opened.addSlot(for: .keyFile(keyFile), name: name) }
        case .passphraseAndKeyFile:
            let passphrase = try new.passphrase()
            try withKeyFile { keyFile in
                try adding {
                    _ = try opened.addSlot(for: .passphraseAndKeyFile(passphrase, keyFile), name: name, cost: cost)
                }
            }
        case .tpm2:
            var credential = SystemCredential.ofProcess
            if let tpm2Device { credential.device = tpm2Device }
            if let tpm2Pcrs { credential.registers = tpm2Pcrs }
            try adding { try opened.addMachineSlot(.tpm2, with: credential, name: name) }
        case .fido2: try addSecurityKey(to: opened)
        case .systemd: try adding { try opened.addMachineSlot(.systemdCredential, with: .ofProcess, name: name) }
        }
    }

    private func addSecurityKey(to opened: Vault) throws {
        try opened.checkRoom(forSlot: name, blobBytes: SecurityKeyCredential.shortestBlob)
        let options = vault.unlocking.securityKey
        let dialog =
            Terminal() == nil ? PassphraseDialog(asksFor: try vault.file.path(), "vault slot add fido2") : nil
        let holder = SecurityKeyHolder(device: options.fido2 ? nil : options.fido2Device, dialog: dialog)
        let (secret, credential) = try holder.enroll()
        try adding { try opened.addSecurityKeySlot(for: secret, keptBy: credential, name: name) }
        if !credential.isVerified {
            Output.note("the security key has no PIN: its possession and a touch open the vault")
        }
    }

    private func adding(_ body: () throws -> Void) throws { try Progress.during("adding the slot") { _ in try body() } }

    /// Creates the file first: a slot without its key file would be useless.
    private func withKeyFile(_ body: (KeyFile) throws -> Void) throws {
        guard let path = newKeyFile else { return }
        let file = OutputFile(path)
        let isNew = !file.exists
        if isNew {
            try SystemRandom().secret(64).withBytes { try file.replace(with: $0, durably: true) }
        }
        do { try body(try UnlockOptions.read(keyFile: path)) } catch {
            // After an indeterminate failure, a slot may exist that needs the file.
            if case .storage(.indeterminate)? = error as? VaultError { throw error }
            if isNew { try? Names.removeFile(path) }
            throw error
        }
        if isNew {
            Output.note("made the key file; anyone with a copy of it can use it, and without it the slot is lost")
        }
    }
}

/// A vault's recovery code, which is shown once, and opens nothing before: even where the reader of the output ends
/// this process, no vault has a code that nobody has seen.
enum RecoveryCodeOutput {
    /// Makes a recovery code, shows it, and adds its slot.
    ///
    /// - Parameter name: the slot's name; `nil` for the usual one.
    static func add(to vault: Vault, name: String? = nil) throws {
        try vault.checkRoom(forSlot: name, blobBytes: 0)
        let code = try RecoveryCode(SystemRandom())
        try FleetCode.write(code)
        do throws(VaultError) { _ = try vault.addSlot(for: .recoveryCode(code), name: name) } catch {
            let isInDoubt = if case .storage(.indeterminate) = error { true } else { false }
            Output.warn(
                isInDoubt
                    ? "whether this recovery code opens the vault is unknown: see 'vault slot list'"
                    : "this recovery code opens nothing: its slot could not be added")
            throw error
        }
        Output.note("this recovery code opens the vault; it is not stored and not shown again: write it down")
    }
}
