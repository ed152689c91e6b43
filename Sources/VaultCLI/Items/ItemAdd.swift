// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an item.",
        discussion:
            """
            The secret comes from --file, --fd, --generate, standard input or a prompt. An existing item is left \
            unchanged (11).
            """
    )

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var details: ItemDescription
    @OptionGroup var part: FieldOption
    @OptionGroup var input: SecretOptions

    func run() throws {
        try SetItem.store(
            vault, selection, details, part, input,
            existing: { vault in
                // Checked before the user types a secret in vain.
                guard try !selection.isTaken(in: vault) else { throw VaultError.duplicateItem }
                return nil
            }
        ) { vault, item in try vault.add(item) }
    }
}

struct SetItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Add an item, or replace the secret of an existing one.",
        discussion: "The secret comes from --file, --fd, --generate, standard input or a prompt.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var details: ItemDescription
    @OptionGroup var part: FieldOption
    @OptionGroup var input: SecretOptions

    @Flag(help: "Do not ask before an item is bound to this device and deleted on all others.")
    var yes = false

    func run() throws {
        let locked = try vault.locked()
        try SetItem.store(vault, selection, details, part, input) { vault in
            let existing = try selection.replaced(in: vault)
            try details.checkBinding(existing, in: locked, isConfirmed: yes)
            return existing
        } adding: { vault, item in
            try vault.set(item)
        }
    }

    /// Changes the existing item by the options, or makes a new one of them.
    ///
    /// - Parameter existing: called once the vault is open, and before the user is asked for the secret.
    static func store(
        _ vault: VaultOptions, _ selection: ItemSelection, _ details: ItemDescription, _ part: FieldOption,
        _ input: SecretOptions, existing: (any OpenVault) throws -> Item?,
        adding add: (any OpenVault, Item) throws -> Void
    ) throws {
        try checkStandardInput(vault, input)
        let access = try vault.access(selection.groups)
        // Input that needs no prompt is checked before the key is derived; otherwise the passphrase is asked for first.
        let early = input.prompts ? nil : try input.secret()
        try access.withVault { vault in
            let existing = try existing(vault)
            let (secret, fields) = part.parts(try early ?? input.secret())
            guard let record = existing?.record else {
                let made = [ItemNames.made: Maker.command.rawValue]
                return try add(
                    vault,
                    Item(
                        selection.key, attributes: details.attributes(),
                        userAttributes: made.merging(details.user) { $1 }, secret: secret, fields: fields))
            }
            var changes = ItemChanges(attributes: try details.attributes(changing: existing), secret: secret)
            for (name, value) in details.user { changes.userAttributes[name] = .some(value) }
            for (name, field) in fields { changes.fields[name] = .some(field) }
            try vault.change(record, with: changes)
        }
    }

    /// Standard input cannot provide both the passphrase and the secret.
    static func checkStandardInput(_ vault: VaultOptions, _ input: SecretOptions) throws {
        guard vault.passphrase.passphraseFd != 0 || !input.usesStandardInput else {
            throw CommandError.usage("standard input cannot give both the passphrase and the secret")
        }
    }
}

extension ItemStore {
    /// Changes an item, whatever its version, and says so if it was so already.
    func change(_ record: ItemRecord, with changes: ItemChanges) throws(VaultError) {
        let query = Query(persistentReference: record.persistentReference)
        if try update(matching: query, with: changes) == 0 { Output.note("unchanged") }
    }
}
