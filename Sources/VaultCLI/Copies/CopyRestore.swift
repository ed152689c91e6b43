// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup into the vault's place.",
        discussion: """
            The backup is opened with its own passphrase, and every secret in it, before anything is replaced; the old \
            file stays until the new one has been read back. Where there is no vault its directory is made.
            """)

    @Argument(help: "The backup.", completion: .file())
    var source: String

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Replace a vault that is there.")
    var yes = false

    @Flag(help: "Also a backup that lacks changes that this device has seen of the vault.")
    var acceptOlder = false

    func run() throws {
        let (target, source) = (try vault.file.path(), FilePath(source))
        let backup: LockedVault
        do throws(VaultError) { backup = try LockedVault(at: source) } catch {
            guard error == .storage(.noVault) else { throw CommandError(error, at: source) }
            throw CommandError(
                .notFound, "there is no backup at '\(source.string.printable)'", hint: "'vault backup FILE' makes one")
        }
        let exists = OutputFile(target.string).exists
        if exists, !yes { try Confirmation.replace("the vault", target.string) }
        let unlocking = UnlockTarget(backup)
        try vault.unlocking.checkAvailable(for: unlocking)
        do {
            let acceptance = OlderStateAcceptance(isGiven: acceptOlder, what: "The backup")
            let count = try acceptance.asking { accepts in
                try vault.unlocking.opening(
                    unlocking, machine: { () throws(VaultError) in try backup.machineSecret(with: .ofProcess) }
                ) {
                    secret in
                    try Progress.during("restoring") { report in
                        try backup.restore(
                            with: secret, to: target, replacing: exists, accepts: accepts, report: report)
                    }
                }
            }
            Output.note("\(count) items; the vault opens with what opened the backup")
        } catch let error as VaultError {
            if case .storage(.damaged) = error { throw CommandError(error, at: source) }
            throw CommandError(error, at: target)
        }
    }
}
