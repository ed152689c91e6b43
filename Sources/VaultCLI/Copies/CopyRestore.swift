// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault

struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup into the vault's place.",
        discussion: """
            The backup is opened with its own passphrase, and every secret in it, before anything is replaced; the old file stays until the new one
            has been read back. Where there is no vault its directory is made.
            """)

    @Argument(help: "The backup.", completion: .file())
    var source: String

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Replace a vault that is there.")
    var yes = false

    func run() throws {
        let target = try vault.file.path()
        let backup = try LockedVault(at: FilePath(source))
        let exists = OutputFile(target.string).exists
        if exists, !yes { try Confirmation.replace("the vault", target.string) }
        try vault.unlocking.checkAvailable(for: backup.slots)
        let secret = try vault.unlocking.secret(for: backup)
        let count = try Progress.during("restoring") { report in
            try backup.restore(with: secret, to: target, replacing: exists, report: report)
        }
        Output.note("\(count) items")
    }
}
