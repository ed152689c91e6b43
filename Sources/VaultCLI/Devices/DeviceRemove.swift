// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

struct DeviceRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Shut a device out of the fleet.",
        discussion: """
            For a device that is lost, no longer used, or copied. The removed device can read nothing published from \
            then on, and the other devices ignore its writes. The device keeps what it has read: the command first \
            lists the items whose secrets must be changed where they are used; 'vault device secrets' lists them \
            again. One reachable remote is enough; the other remotes receive the removal with later syncs. If no \
            remote is reachable, the command ends with 30, and each 'vault sync' removes the device before it \
            publishes anything. Asks for confirmation at a terminal; without one, --yes is required.
            """)

    @Argument(help: "The name of the device, as in 'vault device list'.")
    var name: String

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if !yes { try Confirmation.checkPossible() }
        if let agent = try vault.openAgent(), try remove(through: agent) { return }
        try vault.withFleet { fleet, opened in
            try confirm(fleet.status().devices)
            // Printed first: a failure from here on must not lose the list.
            let items = try ReadableItems(try fleet.secrets(ofDeviceNamed: name), in: opened)
            try items.write(asJSON: json)
            let removal = try Progress.during("removing the device") { _ in try fleet.remove(deviceNamed: name) }
            let names = DeviceNames(fleet)
            try tell(of: removal.outcomes, removal.failure, names)
            try tell(of: try fleet.secrets(ofDeviceNamed: name), after: items, in: opened)
        }
    }

    /// - Returns: `false` if the command has to do it itself.
    private func remove(through agent: AgentClient) throws -> Bool {
        guard let secrets = try vault.byAgent(DeviceSecretsRequest(name))?.secrets else { return false }
        try confirm(vault.fleetStatus().devices)
        let items = try ReadableItems(secrets, in: agent)
        try items.write(asJSON: json)
        let change = try Progress.during("removing the device") { _ in try agent.changed(RemoveDeviceRequest(name)) }
        try tell(of: change.outcomes, change.delay, DeviceNames(change.deviceNames))
        if let secrets = change.secrets { try tell(of: secrets, after: items, in: agent) }
        return true
    }

    /// Checks that the device can be removed, and asks for confirmation.
    private func confirm(_ devices: [FleetDevice]) throws {
        let matching = devices.filter { $0.name == name }
        guard let device = matching.first else { throw SyncError.noSuchDevice }
        guard !device.isThis || matching.count > 1 else {
            throw CommandError.usage("this is the current device", hint: "remove it on another device, an owner's")
        }
        guard devices.contains(where: { $0.isThis && $0.role == .owner }) else { throw SyncError.notAnOwner }
        guard !yes else { return }
        try Confirmation.ask(
            "Remove '\(name.printable)' (\(device.role.label)) from the fleet? What it has read it keeps.")
    }

    /// - Throws: the reason, if the removal has to wait for a remote.
    private func tell(
        of outcomes: [SyncOutcome], _ delay: SyncError?, _ names: DeviceNames
    ) throws {
        if let delay { throw DeviceRemove.waits(name, CommandError(delay, of: names)) }
        outcomes.warn("a later sync announces the removal", names)
    }

    private func tell(of secrets: DeviceSecrets, after items: ReadableItems, in store: some ItemStore) throws {
        let late = try ReadableItems(secrets, in: store).count - items.count
        if late > 0 {
            Output.warn("\(late.grouped) more arrived with this sync: 'vault device secrets' lists all")
        }
        Output.note(
            "'\(name.printable)' is removed; it could read the secrets of \(items.count.grouped) items: rotate "
                + "them; 'vault device secrets' lists those that remain")
    }

    private static func waits(_ name: String, _ failure: CommandError) -> CommandError {
        CommandError(
            failure.status, "'\(name.printable)' is not removed yet: \(failure.message)",
            hint: "each 'vault sync' removes it first, and sends nothing before; rotate the secrets of the items above")
    }
}
