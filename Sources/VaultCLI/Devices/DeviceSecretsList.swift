// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFleet
internal import VaultSync

struct DeviceSecretsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "List the items whose secrets a device can read.",
        discussion: """
            For a removed device, the list has only the items whose secrets have not changed since the removal: these \
            remain to be changed where they are used. A new secret for an item ('vault set') takes the item off the \
            list. The list reflects what this device knows: sync first. A name that a removed device and another one \
            have had ends the command with 12, which names their identifiers.
            """)

    @Argument(help: "The name of the device, which may be a removed one, or its identifier.")
    var name: String

    @OptionGroup var output: JSONOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try vault.withFleet { fleet in
            let secrets = try fleet.value(\.secrets, of: DeviceSecretsRequest(name))
            try ReadableItems(secrets, in: fleet.store).write(asJSON: output.json)
        }
    }
}
