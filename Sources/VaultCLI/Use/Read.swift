// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Read: PlainCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Print the secret that a reference names.",
        discussion: """
            vault://SERVICE/ACCOUNT names a secret, vault://SERVICE/ACCOUNT/ATTRIBUTE an attribute of its item. \
            Slashes and other special characters in a part are percent-encoded. The exact bytes are written; a newline \
            follows only on a terminal.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "vault://SERVICE/ACCOUNT", completion: ItemCompletion.references)
    var reference: String

    @Option(help: "The access group.")
    var group: String?

    @Flag(help: "Write a secret that is not text to a terminal.")
    var force = false

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain), let reference = plain.word() else { return nil }
        (self.vault, self.reference) = (vault, reference)
        (group, force) = (plain.value("--group"), plain.flag("--force"))
    }

    func run() throws {
        guard let reference = SecretReference(reference) else {
            throw CommandError.usage("not a reference", hint: "vault://SERVICE/ACCOUNT")
        }
        try vault.access(.named(group), onlyReads: true).withVault { vault in
            try reference.secret(in: vault, of: .named(group)).show(force: force)
        }
    }
}
