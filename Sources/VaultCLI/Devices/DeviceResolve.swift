// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
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
        var isConfirmed = yes
        if try vault.openAgent() != nil {
            if !isConfirmed { try confirm(vault.fleetStatus()) }
            isConfirmed = true
            let change = try Progress.during("resolving") { _ in try vault.byAgent(ResolveRosterRequest()) }
            if change != nil { return }
        }
        try vault.withFleet { fleet, _ in
            if !isConfirmed { try confirm(fleet.status()) }
            try Progress.during("resolving") { _ in try fleet.resolveRoster() }
        }
    }

    private func confirm(_ status: FleetStatus) throws {
        let names = status.devices.map { "'\($0.name.printable)'" }
        try Confirmation.ask("Keep the list with \(names.joined(separator: ", ")), for all devices?")
    }
}
