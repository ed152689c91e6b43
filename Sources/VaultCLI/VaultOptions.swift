// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFormat
internal import VaultStorage

extension AccessGroups {
    /// Returns the group of an option, else those of the environment, else all: the command is the owner's tool, and
    /// adds items to `default`.
    static func named(_ group: String?) -> AccessGroups {
        group.map { AccessGroups([$0]) } ?? .ofEnvironment ?? .ofCommand
    }

    static let ofCommand: AccessGroups = ["default", "*"]
}

extension Option {
    /// - Parameter help: what a file is for, whose path the option takes.
    init(file help: String) where Value == String? {
        self.init(help: ArgumentHelp(help, valueName: "file"), completion: .file())
    }
}

/// The option that selects a vault.
struct VaultFileOptions: ParsableArguments {
    @Option(file: "The vault file.")
    var vault: String?

    func path() throws -> FilePath {
        if let vault {
            guard !vault.isEmpty, !vault.hasSuffix("/") else { throw CommandError.usage("--vault takes a file") }
            return FilePath(vault)
        }
        guard let path = Vault.defaultPath else {
            guard BaseDirectories.path("XDG_DATA_HOME", ".local/share").map(BaseDirectories.isAnothers) != true else {
                throw CommandError(
                    .inputOutput, "the home directory is another user's, who could not use files of root in it",
                    hint: "run it as that user, or name a vault: --vault FILE")
            }
            throw CommandError(
                .inputOutput, "there is no directory for a vault", hint: "set HOME or VAULT_FILE, or use --vault FILE")
        }
        return path
    }
}

/// The options that select a vault and unlock it.
struct VaultOptions: ParsableArguments {
    @OptionGroup var file: VaultFileOptions
    @OptionGroup var unlocking: UnlockOptions

    var passphrase: PassphraseOptions { unlocking.passphrase }

    /// Runs the body on the vault opened in this process, even if an agent has it open: for operations on its file and
    /// its keys.
    ///
    /// - Parameters:
    ///   - before: asks questions once the vault is found, and before its passphrase.
    ///   - body: also receives the secret that opened the vault.
    func withOpened<R>(
        _ groups: AccessGroups = .ofCommand, acceptsOlderCopy: Bool = false, asksMachine: Bool = true,
        before: () throws -> Void = {},
        _ body: (Vault, UnlockingSecret) throws -> R
    ) throws -> R {
        let locked = try locked()
        try checkKeys(of: locked, asksMachine: asksMachine)
        try before()
        return try naming(locked) {
            let (vault, secret) = try unlocking.opening(UnlockTarget(locked), asksMachine: asksMachine) { secret in
                try Progress.during("unlocking") { _ in
                    (try locked.unlock(with: secret, accessGroups: groups, acceptsOlderCopy: acceptsOlderCopy), secret)
                }
            }
            defer {
                vault.close()
                if vault.discardedBytes > 0 {
                    Output.note("cut off \(vault.discardedBytes) bytes of an unfinished change")
                }
            }
            return try body(vault, secret)
        }
    }

    /// Explains why the agent cannot help here, before the user wonders about the prompt.
    private func checkKeys(of locked: LockedVault, asksMachine: Bool) throws {
        guard !unlocking.hasSource, !(asksMachine && UnlockTarget(locked).canAskMachine),
            let client = try? VaultFinder.agent(of: locked.path, .ofCommand, doWithout: { _ in }),
            client.greeting.state == .unlocked
        else { return }
        guard Terminal() == nil else {
            return Output.note("this needs the vault's keys, which never leave the agent, and therefore the passphrase")
        }
        throw CommandError(
            .locked, "the agent has the vault open, but this needs the vault's keys, which never leave the agent",
            hint: "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }

    /// Finds the vault, before the passphrase is asked for.
    func locked() throws -> LockedVault {
        try unlocking.checkKeyIsAlone()
        let path = try file.path()
        do throws(VaultError) { return try LockedVault(at: path) } catch { throw CommandError(error, at: path) }
    }

    /// Runs the body, and adds the vault's name to its errors.
    func naming<R>(_ vault: LockedVault, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as VaultError { throw CommandError(error, at: vault.givenPath) }
    }

    /// Finds the vault and a way to open it.
    func access(
        _ groups: AccessGroups, for purpose: AgentClient.Purpose = .reveal, onlyReads: Bool = false,
        asksFirst: Bool = false
    ) throws -> VaultAccess {
        try VaultAccess(self, groups: groups, purpose: purpose, onlyReads: onlyReads && !asksFirst)
    }

    /// Like ``access(_:for:onlyReads:asksFirst:)``, for items that the user's own programs use without checking: a
    /// sandboxed application can store anything in its own group, such as a credential for the user's tools.
    ///
    /// - Parameter named: the groups named by the user; `nil` for those that a rule assigns to this command, else
    ///   `default`.
    func trustedAccess(_ named: AccessGroups? = .ofEnvironment, onlyReads: Bool = false) throws -> VaultAccess {
        try VaultAccess(
            self, groups: named ?? .standard, givesWay: named == nil, purpose: .reveal, onlyReads: onlyReads)
    }
}

extension VaultOptions {
    init?(_ plain: inout PlainArguments) {
        self.init()
        file = VaultFileOptions()
        file.vault = plain.value("--vault")
        unlocking = UnlockOptions()
        unlocking.passphrase = PassphraseOptions()
        unlocking.passphrase.passphraseFile = plain.value("--passphrase-file")
        unlocking.passphrase.passphraseFd = nil
        unlocking.keyFile = plain.value("--key-file")
        unlocking.recoveryCodeFile = nil
        unlocking.securityKey = SecurityKeyOptions()
        unlocking.securityKey.fido2 = false
        unlocking.securityKey.fido2Device = nil
        guard unlocking.passphrase.isValid, unlocking.isValid else { return nil }
    }
}
