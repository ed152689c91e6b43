// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFleet
internal import VaultSync

struct DeviceRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Shut a device out of the fleet.",
        discussion: """
            For a device that is lost, no longer used, or copied. The removed device can read nothing published from \
            then on, and the other devices ignore its writes. The device keeps what it has read: once it is removed, \
            the command lists the items whose secrets must be changed where they are used; 'vault device secrets' \
            lists them again. One reachable remote is enough; the other remotes receive the removal with later syncs. \
            If no remote is reachable, the command ends with 30, and each 'vault sync' removes the device before it \
            publishes anything. Asks for confirmation at a terminal; without one, --yes is required.
            """)

    @Argument(help: "The name of the device, or its identifier, as in 'vault device list --json'.")
    var name: String

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var output: JSONOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try confirmation.checkPossible()
        try vault.withFleet { fleet in
            let devices = try fleet.joinedStatus().devices
            // An agent that may not show the list afterwards is not asked to remove the device either.
            let listed = try fleet.value(\.secrets, of: DeviceSecretsRequest(other(devices).id.text))
            let device = try confirmed(devices)
            let change = try Progress.during("removing the device") { _ in
                try fleet.change(RemoveDeviceRequest(device.id.text), isFinal: true)
            }
            try tell(of: change.secrets ?? listed, in: fleet.store, change)
        }
    }

    private func other(_ devices: [FleetDevice]) throws -> FleetDevice {
        do throws(SyncError) { return try devices.filter { !$0.isThis }.device(named: name) } catch {
            guard error == .noSuchDevice, (try? devices.device(named: name)) != nil else { throw error }
            throw CommandError.usage("this is the current device", hint: "remove it on another device, an owner's")
        }
    }

    /// Checks that the device can be removed, and asks for confirmation.
    private func confirmed(_ devices: [FleetDevice]) throws -> FleetDevice {
        let device = try other(devices)
        guard devices.contains(where: { $0.isThis && $0.role == .owner }) else { throw SyncError.notAnOwner }
        try confirmation.ask(
            "Remove '\(device.name.printable)' (\(device.role.label)) from the fleet? What it has read it keeps.")
        return device
    }

    /// Reports the removal, which is signed and stored: the pager and the reader of the output can no longer stop it.
    ///
    /// - Throws: the reason, if the removal has to wait for a remote.
    private func tell(of secrets: DeviceSecrets, in store: any ItemStore, _ change: FleetChange) throws {
        let (delay, names) = (change.delay, DeviceNames(change.deviceNames))
        let (device, again) = ("'\(secrets.device.name.printable)'", "'vault device secrets \(secrets.device.id.text)'")
        if delay == nil { change.outcomes.warn("a later sync announces the removal", names) }
        let done = delay == nil ? "\(device) is removed" : "\(device) waits to be removed by the next sync"
        try Output.after(done, hint: "\(again) lists the items to change", onlyWarns: delay != nil) {
            let items = try ReadableItems(secrets, in: store)
            if delay == nil {
                Output.note(
                    "\(done); it could read the secrets of \(items.count.grouped) items: rotate them; \(again) lists "
                        + "those that remain")
            }
            try items.write(asJSON: output.json)
        }
        guard let failure = delay.map({ CommandError($0, of: names) }) else { return }
        throw CommandError(
            failure.status, "\(device) is not removed yet: \(failure.message)",
            hint: "each 'vault sync' removes it first, and sends nothing before; rotate the secrets that \(again) lists"
        )
    }
}
