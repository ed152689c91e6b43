// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFleet
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
        try vault.withFleet { fleet in
            if !isConfirmed { try confirm(fleet.joinedStatus()) }
            isConfirmed = true
            _ = try Progress.during("resolving") { _ in try fleet.change(ResolveRosterRequest()) }
        }
    }

    private func confirm(_ status: FleetStatus) throws {
        let names = status.devices.map { "'\($0.name.printable)'" }
        try Confirmation.ask("Keep the list with \(names.joined(separator: ", ")), for all devices?")
    }
}
