// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

struct DeviceResolve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Keep this device's version of the list of devices, if there are two.",
        discussion: """
            If two owners change the list concurrently, without seeing each other's change, 'vault sync' ends with 23. \
            This command makes this device's version the list of all devices; approvals and removals in the other \
            version have to be repeated. Asks for confirmation at a terminal; without one, --yes is required.
            """)

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try confirmation.checkPossible()
        var isConfirmed = confirmation.yes
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
