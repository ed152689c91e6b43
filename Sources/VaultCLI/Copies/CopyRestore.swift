// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the vault by a backup.",
        discussion: """
            The command opens the backup with the backup's own passphrase, and every secret in it, before it replaces \
            anything; the old file stays until the new one has been read back. If there is no vault, the command makes \
            its directory.
            """)

    @Argument(help: "The backup.", completion: .file())
    var source: String

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Replace an existing vault.")
    var yes = false

    @Flag(help: "Accept a backup that lacks changes which this device has seen.")
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
                try vault.unlocking.opening(unlocking, asksMachine: true) { secret in
                    try Progress.during("restoring") { report in
                        try backup.restore(
                            with: secret, to: target, replacing: exists, accepts: accepts, report: report)
                    }
                }
            }
            Output.note("\(count) items; the key slots are the backup's")
        } catch let error as VaultError {
            if case .storage(.damaged) = error { throw CommandError(error, at: source) }
            throw CommandError(error, at: target)
        }
    }
}
