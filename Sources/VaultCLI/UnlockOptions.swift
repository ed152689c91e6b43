// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The options that unlock the vault: a passphrase, and the secrets of other slots.
struct UnlockOptions: ParsableArguments {
    @OptionGroup var passphrase: PassphraseOptions

    @Option(file: "Unlock with this key file; with a passphrase as well if the vault requires both.")
    var keyFile: String?

    @Option(file: "Unlock with the recovery code in this file; - for a prompt.")
    var recoveryCodeFile: String?

    @OptionGroup var securityKey: SecurityKeyOptions

    func validate() throws {
        guard recoveryCodeFile == nil || keyFile == nil && !passphrase.isNamed else {
            throw ValidationError("--recovery-code-file excludes the other ways to unlock")
        }
        if securityKey.fido2 { try checkKeyIsAlone() }
    }

    /// Ends a command that names a security key and another way to unlock.
    ///
    /// The parser cannot refuse a device: `slot add fido2` may use it for the new key.
    func checkKeyIsAlone() throws {
        guard !securityKey.isNamed || !namesOtherThanKey else {
            let option = securityKey.fido2 ? "--fido2" : "--fido2-device"
            throw ValidationError("\(option) excludes the other ways to unlock")
        }
    }

    /// The ways to unlock other than by a passphrase alone, as named in hints.
    static let waysIn: [(opens: @Sendable (KeySlot) -> Bool, way: String)] = [
        ({ $0.kind == .recoveryCode }, "a recovery code (--recovery-code-file -)"),
        ({ $0.kind == .keyFile }, "a key file (--key-file FILE)"),
        ({ $0.kind == .passphraseAndKeyFile }, "a passphrase with a key file (--key-file FILE)"),
        ({ $0.provider == .fido2 }, "a security key (--fido2)"),
        ({ $0.provider?.needsPerson == false }, "the machine that keeps a secret for it"),
    ]

    /// Whether the command line names a way to unlock.
    var isNamed: Bool { namesOtherThanKey || securityKey.isNamed }

    private var namesOtherThanKey: Bool { passphrase.isNamed || keyFile != nil || recoveryCodeFile != nil }

    /// Whether a way to unlock is available without a prompt.
    var hasSource: Bool { isNamed || passphrase.hasSource || UnlockOptions.keyFileOfProcess != nil }

    private static var keyFileOfProcess: String? { ProcessEnvironment.variable("VAULT_KEY_FILE") }

    /// Ends the command if there is no way to unlock, before it waits for anything else.
    func checkAvailable(for target: UnlockTarget) throws {
        try checkKeyIsAlone()
        guard hasSource || target.canAskMachine || target.canAskPerson else { throw target.noSource }
    }

    /// Opens something with the available secret. After a wrong passphrase at a prompt the user has two more attempts.
    ///
    /// - Parameters:
    ///   - asksMachine: whether to take the secret that this machine keeps.
    ///   - open: receives the secret; throws `.storage(.wrongPassphrase)` if it is wrong.
    func opening<R>(
        _ target: UnlockTarget, asksMachine: Bool = false, _ open: (UnlockingSecret) throws -> R
    ) throws -> R {
        var tries = 3
        while true {
            let (secret, origin) = try secret(for: target, asksMachine: asksMachine)
            do { return try open(secret) } catch VaultError.storage(.wrongPassphrase) where origin != .given {
                guard origin == .typed else { throw UnlockOptions.wrongSecurityKey }
                tries -= 1
                guard tries > 0 else {
                    throw CommandError(
                        .wrongPassphrase, VaultError.storage(.wrongPassphrase).text, hint: target.otherWays)
                }
                target.noteWrong()
            }
        }
    }

    /// The key knows the credential, but the slot's salt or its box is another's.
    private static let wrongSecurityKey = CommandError(
        .wrongPassphrase, "the security key's secret opens no slot of this vault",
        hint: "the key may have been reset since: use another way to unlock, and add it again")

    private enum Origin {
        case given, typed, securityKey
    }

    /// Returns the secret, and where it is from.
    private func secret(for target: UnlockTarget, asksMachine: Bool) throws -> (UnlockingSecret, Origin) {
        if securityKey.isNamed { return (try securityKeySecret(for: target), .securityKey) }
        if let file = recoveryCodeFile { return (.recoveryCode(try UnlockOptions.recoveryCode(file)), .given) }
        let isPassphraseFirst = keyFile == nil && passphrase.hasSource
        if let file = keyFile ?? (isPassphraseFirst ? nil : UnlockOptions.keyFileOfProcess) {
            let content = try UnlockOptions.read(keyFile: file)
            let wantsBoth = passphrase.isNamed || !target.has(.keyFile) && target.has(.passphraseAndKeyFile)
            guard wantsBoth else { return (.keyFile(content), .given) }
            let typed = try passphrase.given() ?? target.ask()
            return (.passphraseAndKeyFile(typed, content), passphrase.hasSource ? .given : .typed)
        }
        if let passphrase = try passphrase.given() { return (try withPassphrase(passphrase, target), .given) }
        if asksMachine, target.canAskMachine {
            do {
                let what = "asking this machine for its secret"
                let secret = try Progress.during(what) { _ in try target.machineSecret() }
                if let secret { return (secret, .given) }
            } catch let error as VaultError {
                guard target.canAskPerson, target.takesPassphrase else { throw error }
                Output.warn(CommandError(error).message)
            }
        }
        if target.takesSecurityKey, !target.takesPassphrase, target.canAskPerson {
            return (try securityKeySecret(for: target), .securityKey)
        }
        do {
            return (try withPassphrase(try target.ask(offersKey: true), target), .typed)
        } catch CryptoError.unacceptablePassphrase(
            .empty) where target.takesSecurityKey
        {
            return (try securityKeySecret(for: target), .securityKey)
        }
    }

    private func securityKeySecret(for target: UnlockTarget) throws -> UnlockingSecret {
        guard target.takesSecurityKey else { throw CommandError(StorageError.noMatchingSlot) }
        let dialog = target.dialog ?? (Terminal() == nil ? PassphraseDialog(asksFor: target.path, "vault") : nil)
        let holder = SecurityKeyHolder(device: securityKey.fido2Device, dialog: dialog)
        return .external(try holder.secret(of: try target.securityKeyCredentials()))
    }

    /// Adds the process's key file to the passphrase, if the vault requires both.
    private func withPassphrase(_ passphrase: Passphrase, _ target: UnlockTarget) throws -> UnlockingSecret {
        guard !target.has(.passphrase), target.has(.passphraseAndKeyFile) else { return .passphrase(passphrase) }
        guard let file = UnlockOptions.keyFileOfProcess else {
            throw CommandError(
                .locked, "the vault requires a key file with the passphrase", hint: "--key-file FILE or $VAULT_KEY_FILE"
            )
        }
        return .passphraseAndKeyFile(passphrase, try UnlockOptions.read(keyFile: file))
    }

    static func read(keyFile path: String) throws -> KeyFile {
        let tooLong = CommandError(StorageError.unacceptableKeyFile)
        return try KeyFile(
            SecretReader.read(file: path, limit: KeyFile.longest, tooLong: tooLong, warnsOfReaders: true))
    }

    static func recoveryCode(_ file: String) throws -> RecoveryCode {
        if file == "-" {
            guard let terminal = Terminal() else {
                throw CommandError(
                    .locked, "there is no terminal to ask for the recovery code", hint: "--recovery-code-file FILE")
            }
            return try RecoveryCode(terminal.readSecret("Recovery code: "))
        }
        let tooLong = CommandError(StorageError.unacceptableRecoveryCode(.length))
        return try RecoveryCode(SecretReader.read(file: file, limit: 256, tooLong: tooLong, warnsOfReaders: true))
    }
}

extension SystemCredential {
    /// The TPM named by `$VAULT_TPM2_DEVICE`, else the machine's.
    static var ofProcess: SystemCredential {
        SystemCredential(device: ProcessEnvironment.variable("VAULT_TPM2_DEVICE"))
    }
}
