// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault
internal import VaultFormat

struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a copy of the vault, even while it is in use.",
        discussion: """
            The copy is a vault with mode 0600, checked and read back, which appears completely or not at all. It \
            contains what the vault keeps of replaced and deleted items, with their secrets: for a copy that goes to \
            another person, --without-history leaves all of that out. The copy opens with the secrets that open the \
            vault, or with a passphrase of its own. It does not contain the secret of this device: items of this \
            device only open again on this device alone.
            """)

    @Argument(help: "The file to create.", completion: .file())
    var target: String

    @OptionGroup var vault: VaultOptions

    @Option(file: "Let only the passphrase in this file open the copy.")
    var backupPassphraseFile: String?

    @Flag(help: "Ask for a passphrase that opens the copy, instead of the vault's secrets.")
    var ownPassphrase = false

    @Flag(help: "Leave out older versions, deleted items and their names; unresolved conflicts stay.")
    var withoutHistory = false

    @Flag(help: "Replace an existing file.")
    var yes = false

    func validate() throws {
        guard !target.isEmpty, !target.hasSuffix("/") else { throw ValidationError("backup takes a file") }
        guard backupPassphraseFile == nil || !ownPassphrase else {
            throw ValidationError("--backup-passphrase-file and --own-passphrase exclude each other")
        }
    }

    func run() throws {
        let exists = OutputFile(target).exists
        if exists, !yes { try Confirmation.replace("the file", target) }
        try vault.withOpened { opened, _ in
            let passphrase =
                try backupPassphraseFile.map { try PassphraseOptions.read(file: $0) }
                ?? (ownPassphrase
                    ? try PassphraseOptions.askNew("Passphrase of the copy: ", orElse: "--backup-passphrase-file FILE")
                    : nil)
            let entries = passphrase.map { [SlotEntry(.passphrase($0), name: "passphrase")] }
            let count = try Progress.during("backing up") { _ in
                do throws(VaultError) {
                    return try opened.backUp(
                        to: FilePath(target), entries: entries, replacing: exists, withHistory: !withoutHistory)
                } catch { throw CommandError(error, at: FilePath(target)) }
            }
            Output.note("\(count) items")
        }
    }
}

extension Confirmation {
    /// Asks the user whether a file may be replaced.
    ///
    /// - Throws: code 11 without a terminal.
    static func replace(_ what: String, _ path: String) throws {
        guard Terminal() != nil else {
            throw CommandError(.alreadyExists, "\(what) exists, and was left as it is", hint: "to replace it: --yes")
        }
        try ask("Replace '\(path.printable)'?")
    }
}
