// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto

/// `vault update`.
///
/// Size: each property is an option.
struct Update: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change an item.",
        discussion: """
            With --secret or --field, the new secret comes from --file, --fd, --generate, standard input or a prompt.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var details: ItemDescription
    @OptionGroup var part: FieldOption
    @OptionGroup var input: SecretOptions

    @Option(help: ArgumentHelp("The new account.", valueName: "account"))
    var newAccount: String?

    @Option(help: ArgumentHelp("The new service or server.", valueName: "service"))
    var newService: String?

    @Option(help: ArgumentHelp("The new access group.", valueName: "group"))
    var newGroup: String?

    @Option(
        name: .customLong("remove-attr"),
        help: ArgumentHelp("Remove a user-defined attribute; may be repeated.", valueName: "name"))
    var removedAttributes: [String] = []

    @Option(
        name: .customLong("remove-field"),
        help: ArgumentHelp("Remove a field; may be repeated.", valueName: "name"), completion: ItemCompletion.fields)
    var removedFields: [String] = []

    @Flag(help: "Replace the secret.")
    var secret = false

    @Flag(help: "Do not ask before an item is bound to this device and deleted on all others.")
    var yes = false

    @Option(help: ArgumentHelp("Change the item only if it is at this version.", valueName: "version"))
    var ifVersion: UInt64?

    func validate() throws {
        guard replacesSecret || !(input.exact || input.allowEmpty) else {
            throw ValidationError("--exact and --allow-empty go with --secret")
        }
    }

    /// Whether the secret is replaced, which naming its source implies.
    private var replacesSecret: Bool {
        secret || part.field != nil || input.file != nil || input.fd != nil || input.generate != nil
    }

    func run() throws {
        if replacesSecret { try SetItem.checkStandardInput(vault, input) }
        var changes = ItemChanges(attributes: try details.attributes(), version: ifVersion)
        for (name, value) in details.user { changes.userAttributes[name] = .some(value) }
        for name in removedAttributes { changes.userAttributes.updateValue(nil, forKey: name) }
        for name in removedFields { changes.fields.updateValue(nil, forKey: name) }
        changes.attributes[.accessGroup] = newGroup.map(AttributeValue.string)
        changes.attributes[.account] = newAccount.map(AttributeValue.string)
        guard
            replacesSecret || newService != nil || !changes.attributes.isEmpty || !changes.userAttributes.isEmpty
                || !changes.fields.isEmpty
        else {
            throw CommandError.usage("there is nothing to change", hint: "see 'vault help update'")
        }
        // A caller that moves an item into another group needs access to both.
        let locked = try vault.locked()
        let access = try vault.access(newGroup.map { AccessGroups(selection.groups.list + [$0]) } ?? selection.groups)
        let early = replacesSecret && !input.prompts ? try input.secret() : nil
        try access.withVault { vault in
            let item = try selection.changed(in: vault)
            try details.checkBinding(item, in: locked, isConfirmed: yes)
            // The protection class may become part of an access control.
            changes.attributes[.accessible] = nil
            changes.attributes.merge(try details.attributes(changing: item)) { $1 }
            if let newService {
                changes.attributes[item.itemClass == .internetPassword ? .server : .service] = .string(newService)
            }
            for name in removedFields where !item.fieldNames.contains(name) {
                throw CommandError(
                    .notFound, "the item has no such field", hint: NearMiss.hint(field: name, of: item))
            }
            if replacesSecret {
                let (secret, fields) = part.parts(try early ?? input.secret())
                changes.secret = secret
                for (name, field) in fields { changes.fields[name] = .some(field) }
            }
            guard let record = item.record else { throw VaultError.itemNotFound }
            try vault.change(record, with: changes)
        }
    }
}
