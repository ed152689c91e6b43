// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Read: PlainCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Print the secret that a reference names.",
        discussion: """
            vault://SERVICE/ACCOUNT names a secret, vault://SERVICE/ACCOUNT/NAME a field or an attribute of its item. \
            Slashes and other special characters in a part are percent-encoded. Writes the exact bytes; a newline \
            follows only on a terminal.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "vault://SERVICE/ACCOUNT", completion: ItemCompletion.references)
    var reference: String

    @Option(help: "The access group.")
    var group: String?

    @Flag(help: "Write the secret to a terminal even if it is not text.")
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
            try reference.secret(in: vault).show(force: force)
        }
    }
}
