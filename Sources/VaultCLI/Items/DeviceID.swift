// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault

struct DeviceID: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-id",
        abstract: "Print an identifier of this device: a UUID, made once, then always the same.",
        discussion: """
            It is random and lives in the vault, so it survives upgrading, uninstalling and installing an application \
            or the system, as long as the vault, or a backup of it, does. Without NAME the device has one of its own.
            """)

    @Argument(help: "Whose, such as the identifier of an application.")
    var name = ""

    @OptionGroup var vault: VaultOptions

    @Option(help: "The access group in which version 0.1 kept it, if that is not the caller's.")
    var group: String?

    @Flag(
        help:
            """
            An identifier that is bound to this machine: in a copy of the vault on another one, that has one of its own.
            """
    )
    var thisDeviceOnly = false

    @Flag(help: "Make a new one.")
    var reset = false

    @Flag(help: "With --reset: do not ask.")
    var yes = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard reset || !yes else { throw ValidationError("--yes goes with --reset") }
    }

    func run() throws {
        if reset, !yes { try Confirmation.checkPossible() }
        let identifier = try vault.access(.named(group)).withVault { vault in
            guard reset else { return try vault.deviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly) }
            if !yes {
                try Confirmation.ask(
                    "Make a new identifier\(name.isEmpty ? "" : " for '\(name.printable)'")? The old one is gone then.")
            }
            return try vault.resetDeviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
        }
        let text = identifier.uuidString.lowercased()
        guard json else { return try Output.line(text) }
        try Output.json(Report(id: text, name: name, thisDeviceOnly: thisDeviceOnly))
    }

    private struct Report: Encodable {
        var id: String
        var name: String
        var thisDeviceOnly: Bool
    }
}
