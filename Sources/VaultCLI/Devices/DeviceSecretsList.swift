// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
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
        if let agent = try vault.openAgent(), let secrets = try vault.byAgent(DeviceSecretsRequest(name))?.secrets {
            return try ReadableItems(secrets, in: agent).write(asJSON: output.json)
        }
        try vault.withFleet { fleet, opened in
            try ReadableItems(try fleet.secrets(ofDeviceNamed: name), in: opened).write(asJSON: output.json)
        }
    }
}
