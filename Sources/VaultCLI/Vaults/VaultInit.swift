// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultStorage
internal import VaultSystem

/// The cost of a guess at the passphrase.
enum CostOption: String, ExpressibleByArgument, CaseIterable {
    case interactive, moderate, sensitive

    var cost: KeyDerivationCost {
        switch self {
        case .interactive: .interactive
        case .moderate: .moderate
        case .sensitive: .sensitive
        }
    }
}

struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault.",
        discussion: """
            Each guess at the passphrase costs 64 MiB and 3 passes of Argon2id with interactive, 256 MiB and 3 with \
            moderate, 1 GiB and 4 with sensitive. A forgotten passphrase cannot be recovered. At a terminal the \
            command offers to make a recovery code, and to leave the vault unlocked; an empty answer takes the offer.
            """)

    @OptionGroup var file: VaultFileOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Option(help: "The cost of a guess: interactive, moderate or sensitive.")
    var kdf = CostOption.moderate

    @Flag(help: "Also make a recovery code, and print it once.")
    var recoveryCode = false

    @Option(
        help: ArgumentHelp(
            "Keep this many older versions of each item, and deleted items for 30 days; 0 to 1000, 0 for neither.",
            valueName: "number"))
    var history = 5

    /// The retention period of deleted items, in days.
    private static let deletedItemsLimit = 30

    func validate() throws {
        guard (0...1000).contains(history) else { throw ValidationError("--history takes 0 to 1000") }
    }

    func run() throws {
        let path = try file.path()
        do { try make(path) } catch let error as VaultError { throw CommandError(error, at: path) }
    }

    private func make(_ path: FilePath) throws {
        do {
            _ = try LockedVault(at: path)
            throw VaultError.storage(.alreadyExists)
        } catch VaultError.storage(.noVault) {
            // The expected case.
        } catch VaultError.storage(.damaged), VaultError.storage(.unsupported), VaultError.storage(
            .refused(.accessibleByOthers))
        {
            throw VaultError.storage(.alreadyExists)
        }
        let chosen = try passphrase.given() ?? choose()
        let bits = PassphraseStrength.estimate(chosen)
        Output.note("the passphrase looks \(PassphraseStrength.word(forBits: bits)) (at most \(Int(bits)) bits)")
        let wantsCode =
            try recoveryCode
            || !passphrase.hasSource
                && Confirmation.isWanted(
                    "Make a recovery code, which opens the vault if the passphrase is forgotten?", isUsual: true)
        let vault = try Progress.during("making the vault") { _ in
            try Vault.create(at: path, passphrase: chosen, cost: kdf.cost)
        }
        defer { vault.close() }
        do {
            if history > 0 {
                try vault.setHistoryLimits(versions: history, deletedDays: Init.deletedItemsLimit)
            }
            if wantsCode { try RecoveryCodeOutput.add(to: vault) }
        } catch {
            // A vault that lacks a requested part is not what the user requested.
            try? Names.removeFile(path.string)
            throw error
        }
        if let weak = try? LockedStore(path, environment: .system).weakFileSystem {
            Output.warn(
                """
                the vault is on \(weak), where locks and renames are weaker than it wants: several machines at once \
                may lose changes
                """
            )
        }
        Output.note(
            "a forgotten passphrase cannot be recovered\(wantsCode ? ", but the recovery code opens the vault" : "")")
        if history > 0 {
            Output.note(
                """
                \(history) older versions of each item are kept, and deleted items for \(Init.deletedItemsLimit) \
                days: see 'vault help history'
                """)
        }
        try offerUnlocking(path, chosen)
    }

    private static let offer = "Leave the vault unlocked, so that commands do not ask for the passphrase?"

    /// Unlocks the agent with the chosen passphrase, so that the user need not type it for the next command.
    private func offerUnlocking(_ path: FilePath, _ chosen: Passphrase) throws {
        let locked = try LockedVault(at: path)
        guard !passphrase.hasSource, AgentAddress.ofProcess != nil, !Init.isAgentTaken(locked),
            (try? Confirmation.isWanted(Init.offer, isUsual: true)) == true
        else { return Output.note("'vault unlock' asks for it once, for all commands") }
        do {
            let client = try AgentLauncher.agent(of: locked)
            try Progress.during("unlocking") { _ in try client.unlock(with: .passphrase(chosen)) }
            Output.note("unlocked\(Unlock.limits(try client.status())); 'vault lock' locks it")
        } catch {
            // The vault was created all the same.
            guard let failure = CommandLineTool.failure(error) else { throw error }
            Output.warn("the vault stays locked: \(failure.message)")
        }
    }

    /// Returns whether the running agent has another vault.
    private static func isAgentTaken(_ vault: LockedVault) -> Bool {
        // Without an agent there is no client, and no error either.
        do throws(VaultError) {
            _ = try AgentClient(vault: vault.path, accessGroups: .ofCommand)
            return false
        } catch { return true }
    }

    /// Asks for a passphrase until it is valid, and strong or confirmed by the user.
    private func choose() throws -> Passphrase {
        while true {
            let chosen = try PassphraseOptions.askNew("New passphrase: ", orElse: "--passphrase-file FILE")
            guard PassphraseStrength.isWeak(chosen) else { return chosen }
            let question =
                """
                That is soon guessed by whoever gets the file. Take it all the same? ('vault generate --words 6' makes \
                a good one)
                """
            if try Confirmation.isWanted(question) { return chosen }
        }
    }
}
