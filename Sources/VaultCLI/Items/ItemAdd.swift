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
            before: { vault in
                // Checked before the user types a secret in vain; under the other mark the key would be free.
                guard try vault.allMatching(selection.twin).isEmpty else { throw VaultError.duplicateItem }
            }
        ) { vault, item in
            try vault.add(item)
        }
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
        try SetItem.store(
            vault, selection, details, part, input, replaces: true,
            checking: { try details.checkBinding($0, in: locked, isConfirmed: yes) }
        ) { vault, item in
            // The mark is part of the key, but an item that is marked differently is still the same item.
            let twins = details.synchronizable == nil ? [] : try vault.allMatching(selection.twin)
            guard let record = twins.first?.record, twins.count == 1 else {
                try vault.set(item)
                return
            }
            var changes = ItemChanges(attributes: item.attributes, secret: item.secret)
            for (name, value) in item.userAttributes { changes.userAttributes[name] = .some(value) }
            for (name, field) in item.fields { changes.fields[name] = .some(field) }
            try vault.update(record, with: changes)
        }
    }

    /// Makes the item from the options and passes it to the verb.
    static func store(
        _ vault: VaultOptions, _ selection: ItemSelection, _ details: ItemDescription, _ part: FieldOption,
        _ input: SecretOptions, replaces: Bool = false,
        before: (any OpenVault) throws -> Void = { _ in }, checking check: (Item?) throws -> Void = { _ in },
        _ verb: (any OpenVault, Item) throws -> Void
    ) throws {
        try checkStandardInput(vault, input)
        let access = try vault.access(selection.groups)
        // Input that needs no prompt is checked before the key is derived; otherwise the passphrase is asked for first.
        let early = input.prompts ? nil : try input.secret()
        try access.withVault { vault in
            if early == nil || details.synchronizable != nil { try before(vault) }
            let (secret, fields) = part.parts(try early ?? input.secret())
            let existing = replaces && details.namesProtection ? try vault.first(selection.replaced) : nil
            try check(existing)
            try verb(
                vault,
                Item(
                    selection.key, attributes: details.attributes(changing: existing), userAttributes: details.user,
                    secret: secret, fields: fields))
        }
    }

    /// Standard input cannot provide both the passphrase and the secret.
    static func checkStandardInput(_ vault: VaultOptions, _ input: SecretOptions) throws {
        guard vault.passphrase.passphraseFd != 0 || !input.usesStandardInput else {
            throw CommandError.usage("standard input cannot give both the passphrase and the secret")
        }
    }
}
