// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault

/// The options that describe an item, beyond its key.
struct ItemDescription: ParsableArguments {
    @Option(help: "A label for people.")
    var label: String?

    @Option(help: "A comment.")
    var comment: String?

    @Option(help: "The kind of the item.")
    var description: String?

    @Option(
        name: .customLong("attr"),
        help: ArgumentHelp("A user-defined attribute; may be repeated.", valueName: "name=value"))
    var userAttributes: [UserAttribute] = []

    @Option(
        help: ArgumentHelp(
            "when-unlocked or after-first-unlock; with ',this-device', bound to this machine.", valueName: "when"))
    var accessible: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether the item is marked as synchronizable, which applications see; syncs take every item.")
    var synchronizable: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether each read of the item asks a person for the vault's passphrase.")
    var presence: Bool?

    func validate() throws {
        let stays = try accessibility()?.isThisDeviceOnly == true
        guard synchronizable != true || !stays else {
            throw ValidationError("--synchronizable is for other devices, and ',this-device' for none of them")
        }
        guard user.count == userAttributes.count else { throw ValidationError("an attribute is given twice") }
    }

    func accessibility() throws -> Accessibility? {
        switch accessible {
        case nil: nil
        case "when-unlocked": .whenUnlocked
        case "after-first-unlock": .afterFirstUnlock
        case "when-unlocked,this-device": .whenUnlockedThisDeviceOnly
        case "after-first-unlock,this-device": .afterFirstUnlockThisDeviceOnly
        default:
            throw ValidationError(
                "--accessible takes when-unlocked or after-first-unlock, each with ',this-device' or without")
        }
    }

    var namesProtection: Bool { accessible != nil || presence != nil }

    /// - Parameter existing: the item to change, which keeps the half of its protection that is not named.
    func attributes(changing existing: Item? = nil) throws -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [:]
        attributes[.label] = label.map(AttributeValue.string)
        attributes[.comment] = comment.map(AttributeValue.string)
        attributes[.itemDescription] = description.map(AttributeValue.string)
        if namesProtection {
            let accessible = try accessibility() ?? existing?.accessibility ?? .whenUnlocked
            if presence ?? existing?.asksForPresence ?? false {
                attributes[.accessControl] = .data(AccessControl(requiringPresence: accessible).encoded)
            } else {
                attributes[.accessible] = .string(accessible.rawValue)
            }
        }
        attributes[.synchronizable] = synchronizable.map(AttributeValue.bool)
        return attributes
    }

    /// Asks before an item that other devices have is bound to this one. Their copies are deleted, for which nobody
    /// asks there.
    ///
    /// - Parameters:
    ///   - item: the item before the change.
    ///   - isConfirmed: whether `--yes` has answered.
    func checkBinding(_ item: Item?, in vault: LockedVault, isConfirmed: Bool) throws {
        guard vault.isReplicated, let item, item.accessibility?.isThisDeviceOnly == false,
            try accessibility()?.isThisDeviceOnly == true, !isConfirmed
        else { return }
        try Confirmation.ask(
            "Bind \(item.phrase(namingGroup: false)) to this device, and delete it on all other devices of the fleet?")
    }

    var user: [String: String] { Dictionary(userAttributes.map { ($0.name, $0.value) }) { $1 } }
}

/// A user attribute, as NAME=VALUE.
struct UserAttribute: ExpressibleByArgument {
    var name: String
    var value: String

    init?(argument: String) {
        guard let split = argument.firstIndex(of: "=") else { return nil }
        name = String(argument[..<split])
        value = String(argument[argument.index(after: split)...])
        guard (1...255).contains(name.utf8.count) else { return nil }
    }
}
