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
            Of a device that was removed: those whose secrets have not been changed since, which is what is left to be \
            changed where they are used. A new secret for an item ('vault set') takes it off the list. The list is of \
            what this device knows: sync first.
            """)

    @Argument(help: "The name of the device, also of one that was removed.")
    var name: String

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if let agent = try vault.openAgent(), let secrets = try vault.byAgent(DeviceSecretsRequest(name))?.secrets {
            return try ReadableItems(secrets, in: agent).write(asJSON: json)
        }
        try vault.withFleet { fleet, opened in
            try ReadableItems(try fleet.secrets(ofDeviceNamed: name), in: opened).write(asJSON: json)
        }
    }
}
