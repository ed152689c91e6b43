// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultSync

struct DeviceResolve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Keep this device's list of devices, where there are two.",
        discussion: """
            After two owners changed the list at once, out of each other's sight, 'vault sync' ends with 23. This \
            keeps the list as this device has it, for all; who was approved or removed in the other one is approved or \
            removed again. Asks on a terminal; without one, --yes is needed.
            """)

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if !yes { try Confirmation.checkPossible() }
        try vault.withFleet { fleet, _ in
            if !yes {
                let names = try fleet.status().devices.map { "'\($0.name.printable)'" }
                try Confirmation.ask("Keep the list with \(names.joined(separator: ", ")), for all devices?")
            }
            try Progress.during("resolving") { _ in try fleet.resolveRoster() }
        }
    }
}
