// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import VaultFormat
internal import VaultSync

struct Device: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "List, approve and remove the devices of the fleet.",
        discussion: """
            approve lets a device in that runs 'vault remote add URL --join': the user types the device's code, or \
            names a file with --code-file. remove shuts a device out, and lists the items that the device could read; \
            secrets prints this list again. resolve chooses between two versions of the list of devices, which two \
            owners changed concurrently.
            An owner writes and changes this list, a writer writes, a reader reads.
            """,
        subcommands: [
            DeviceList.self, DeviceApprove.self, DeviceRemove.self, DeviceSecretsList.self, DeviceResolve.self,
        ],
        defaultSubcommand: DeviceList.self)
}

struct DeviceList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the devices of the fleet, and when each was last heard from.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        let devices = try vault.fleetStatus().devices.map { DeviceSummary($0) }
        try Output.list(devices, asJSON: output.json, named: "devices") { $0.line + "\n" }
    }
}

struct DeviceSummary: Encodable {
    var id: String
    var name: String
    var role: String
    var isThis: Bool
    var isSilent: Bool
    var lastHeard: Time?

    init(_ device: FleetDevice) {
        (id, name, role) = (device.id.text, device.name, device.role.label)
        (isThis, isSilent) = (device.isThis, device.isSilent)
        lastHeard = device.isThis ? nil : device.lastHeard.map(Time.init(seconds:))
    }

    var line: String {
        let heard = isThis ? "this device" : isSilent ? "silent" : lastHeard?.text ?? "never heard from"
        return "\(name.printable)\t\(role)\t\(heard)"
    }
}

extension DeviceRole {
    var label: String {
        switch self {
        case .owner: "owner"
        case .writer: "writer"
        case .reader: "reader"
        case .recovery: "recovery code"
        }
    }
}
