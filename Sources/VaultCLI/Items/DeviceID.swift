// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault

struct DeviceID: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-id",
        abstract: "Print an identifier of this device: a UUID, made once, then always the same.",
        discussion: """
            The identifier is random and stored in the vault. It survives the upgrade, removal and new installation of \
            an application or of the system, as long as the vault, or a backup of it, does. Without NAME, the command \
            prints the device's own identifier.
            """)

    @Argument(help: "The name, such as the identifier of an application.")
    var name = ""

    @OptionGroup var vault: VaultOptions

    @Option(help: "The access group in which version 0.1 stored the identifier, if not the caller's.")
    var group: String?

    @Flag(
        help:
            """
            Print an identifier that is bound to this machine: a copy of the vault on another machine has a different \
            one.
            """
    )
    var thisDeviceOnly = false

    @Flag(help: "Make a new identifier.")
    var reset = false

    @Flag(help: "With --reset: do not ask for confirmation.")
    var yes = false

    @OptionGroup var output: JSONOption

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
        let write = {
            guard output.json else { return try Output.line(text) }
            try Output.json(Report(id: text, name: name, thisDeviceOnly: thisDeviceOnly))
        }
        guard reset else { return try write() }
        try Output.after("the device has a new identifier", hint: "the same without --reset prints it", write)
    }

    private struct Report: Encodable {
        var id: String
        var name: String
        var thisDeviceOnly: Bool
    }
}
