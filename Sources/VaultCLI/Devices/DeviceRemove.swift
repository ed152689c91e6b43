// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultSync

struct DeviceRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Shut a device out of the fleet.",
        discussion: """
            A lost one, one that nobody uses any more, or one that was copied. It can read nothing that is told from \
            then on, and nothing that it writes counts. What it has read it keeps: first the items are listed whose \
            secrets are to be changed where they are used; 'vault device secrets' lists them again. One remote that \
            can be reached is enough, the others hear of it with later syncs. Where none can be reached, the command \
            ends with 30, and each 'vault sync' removes the device before it tells anything. Asks on a terminal; \
            without one, --yes is needed.
            """)

    @Argument(help: "The name of the device: see 'vault device list'.")
    var name: String

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if !yes { try Confirmation.checkPossible() }
        try vault.withFleet { fleet, opened in
            let devices = try fleet.status().devices
            let matching = devices.filter { $0.name == name }
            guard let device = matching.first else { throw SyncError.noSuchDevice }
            guard !device.isThis || matching.count > 1 else {
                throw CommandError.usage(
                    "this is the device itself", hint: "remove it on another one that is an owner's")
            }
            guard devices.contains(where: { $0.isThis && $0.role == .owner }) else { throw SyncError.notAnOwner }
            if !yes {
                try Confirmation.ask(
                    "Remove '\(name.printable)' (\(device.role.label)) from the fleet? What it has read it keeps.")
            }
            // Printed first: a failure from here on must not lose the list.
            let items = try ReadableItems(try fleet.secrets(ofDeviceNamed: name), in: opened)
            try items.write(asJSON: json)
            let removal = try Progress.during("removing the device") { _ in try fleet.remove(deviceNamed: name) }
            let names = DeviceNames(fleet)
            if let failure = removal.failure { throw DeviceRemove.waits(name, CommandError(failure, of: names)) }
            removal.outcomes.warn("it hears of the removal with a later sync", names)
            let late = try ReadableItems(try fleet.secrets(ofDeviceNamed: name), in: opened).count - items.count
            if late > 0 {
                Output.warn("\(late.grouped) more were heard of just now: 'vault device secrets' lists all")
            }
            Output.note(
                "'\(name.printable)' is removed; it could read the secrets of \(items.count.grouped) items that are "
                    + "there: rotate those; 'vault device secrets' lists what is left")
        }
    }

    private static func waits(_ name: String, _ failure: CommandError) -> CommandError {
        CommandError(
            failure.status, "'\(name.printable)' is not removed yet: \(failure.message)",
            hint: "each 'vault sync' removes it first, and tells nothing before; rotate the secrets of the items above")
    }
}
