// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// What opens the vault: a passphrase, and what else there may be a slot for.
struct UnlockOptions: ParsableArguments {
    @OptionGroup var passphrase: PassphraseOptions

    @Option(
        help: ArgumentHelp("Unlock with this key file; with a passphrase as well if the vault wants both.", valueName: "file"),
        completion: .file())
    var keyFile: String?

    @Option(help: ArgumentHelp("Unlock with the recovery code in this file; - asks for it.", valueName: "file"), completion: .file())
    var recoveryCodeFile: String?

    func validate() throws {
        guard recoveryCodeFile == nil || keyFile == nil && !passphrase.isNamed else {
            throw ValidationError("--recovery-code-file excludes the other ways to unlock")
        }
    }

    /// Whether the command line says what to unlock with.
    var isNamed: Bool { passphrase.isNamed || keyFile != nil || recoveryCodeFile != nil }

    /// Whether there is something without asking for it.
    var hasSource: Bool { isNamed || passphrase.hasSource || UnlockOptions.keyFileOfProcess != nil }

    private static var keyFileOfProcess: String? { ProcessEnvironment.variable("VAULT_KEY_FILE") }

    /// Ends the command when there is nothing to unlock with, before it waits for anything else.
    ///
    /// - Parameter slots: of the vault.
    func checkAvailable(for slots: [KeySlot]) throws {
        guard hasSource || UnlockOptions.canAskMachine(slots) || Terminal() != nil else { throw PassphraseOptions.noSource }
    }

    /// Whether this machine may have a secret for the vault.
    static func canAskMachine(_ slots: [KeySlot]) -> Bool { slots.contains { $0.kind == .external } }

    /// What to unlock with; this machine's own secret among it.
    func secret(for vault: LockedVault) throws -> UnlockingSecret {
        try secret(for: vault.slots) { () throws(VaultError) in try vault.machineSecret(with: .ofProcess) }
    }

    /// What to unlock with.
    ///
    /// - Parameters:
    ///   - slots: of the vault.
    ///   - machine: asks this machine for the secret that it keeps; nil when nobody wants that.
    func secret(
        for slots: [KeySlot], prompt: String = "Passphrase: ", machine: (() throws(VaultError) -> UnlockingSecret?)? = nil
    ) throws -> UnlockingSecret {
        if let file = recoveryCodeFile { return .recoveryCode(try UnlockOptions.recoveryCode(file)) }
        let isPassphraseFirst = keyFile == nil && passphrase.hasSource
        if let file = keyFile ?? (isPassphraseFirst ? nil : UnlockOptions.keyFileOfProcess) {
            let content = try UnlockOptions.read(keyFile: file)
            let wantsBoth =
                passphrase.isNamed || !slots.contains { $0.kind == .keyFile } && slots.contains { $0.kind == .passphraseAndKeyFile }
            return wantsBoth ? .passphraseAndKeyFile(try passphrase.passphrase(prompt: prompt), content) : .keyFile(content)
        }
        if passphrase.hasSource { return try withPassphrase(try passphrase.passphrase(), slots) }
        if let machine, UnlockOptions.canAskMachine(slots) {
            do {
                if let secret = try Progress.during("asking this machine for its secret", { _ in try machine() }) { return secret }
            } catch let error as VaultError {
                guard Terminal() != nil else { throw error }
                Output.warn(CommandError(error).message)
            }
        }
        return try withPassphrase(try PassphraseOptions.ask(prompt, confirming: false), slots)
    }

    /// A passphrase, with the key file that the process was told of where the vault wants both.
    private func withPassphrase(_ passphrase: Passphrase, _ slots: [KeySlot]) throws -> UnlockingSecret {
        guard !slots.contains(where: { $0.kind == .passphrase }), slots.contains(where: { $0.kind == .passphraseAndKeyFile }) else {
            return .passphrase(passphrase)
        }
        guard let file = UnlockOptions.keyFileOfProcess else {
            throw CommandError(.locked, "the vault wants a key file with the passphrase", hint: "--key-file FILE or $VAULT_KEY_FILE")
        }
        return .passphraseAndKeyFile(passphrase, try UnlockOptions.read(keyFile: file))
    }

    static func read(keyFile path: String) throws -> KeyFile {
        let tooLong = CommandError(StorageError.unacceptableKeyFile)
        return try KeyFile(SecretReader.read(file: path, limit: KeyFile.longest, tooLong: tooLong, warnsOfReaders: true))
    }

    private static func recoveryCode(_ file: String) throws -> RecoveryCode {
        if file == "-" {
            guard let terminal = Terminal() else { throw PassphraseOptions.noSource }
            return try RecoveryCode(terminal.readSecret("Recovery code: "))
        }
        let tooLong = CommandError(StorageError.unacceptableRecoveryCode(.length))
        return try RecoveryCode(SecretReader.read(file: file, limit: 256, tooLong: tooLong, warnsOfReaders: true))
    }
}

extension SystemCredential {
    /// The chip that `$VAULT_TPM2_DEVICE` names, else the machine's.
    static var ofProcess: SystemCredential { SystemCredential(device: ProcessEnvironment.variable("VAULT_TPM2_DEVICE")) }
}
