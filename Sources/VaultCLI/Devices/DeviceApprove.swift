// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFleet
internal import VaultFormat
internal import VaultStorage
internal import VaultSync

struct DeviceApprove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Let a device into the fleet.",
        discussion: """
            Takes the code that 'vault remote add URL --join' prints on the new device, shows the name that the device \
            gives itself, and asks for confirmation. Without a terminal, the command requires --code-file, --yes, and \
            an unlocked agent or a source of the passphrase.
            """)

    @Option(file: "Read the code from this file; - for standard input.")
    var codeFile: String?

    @Flag(help: "Let the device read; the others refuse its writes.")
    var reader = false

    @Flag(help: "Let the device read and write, which is the default.")
    var writer = false

    @Flag(help: "Let the device also approve and remove devices.")
    var owner = false

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var output: JSONOption
    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard [reader, writer, owner].count(where: { $0 }) <= 1 else {
            throw ValidationError("--reader, --writer and --owner exclude each other")
        }
        guard codeFile != "-" || vault.passphrase.passphraseFd != 0 else {
            throw ValidationError("standard input cannot give both the passphrase and the code")
        }
    }

    private var role: DeviceRole { reader ? .reader : owner ? .owner : .writer }

    func run() throws {
        try checkSources()
        // A code from standard input can be read only once.
        var given: RecoveryCode?
        try vault.withFleet { fleet in
            let code = try given ?? code()
            given = code
            let name = try Progress.during("looking for the device") { _ in
                try fleet.value(\.name, of: AskingDeviceRequest(code.secret))
            }
            try confirmation.ask("Let '\(name.printable)' into the fleet, as \(role.phrase)?")
            try tell(
                try Progress.during("approving") { _ in
                    try fleet.value(\.device, of: ApproveRequest(code: code.secret, role: role.rawValue))
                })
        }
    }

    private func tell(_ device: FleetDevice) throws {
        let done = "'\(device.name.printable)' belongs to the fleet now, as \(device.role.phrase)"
        guard output.json else { return Output.note(done) }
        try Output.after(done) { try Output.json(DeviceSummary(device)) }
    }

    /// Without a terminal, reports all missing inputs at once, rather than one per attempt.
    private func checkSources() throws {
        guard Terminal() == nil else { return }
        var missing: [String] = []
        if codeFile == nil { missing.append("--code-file FILE (- for standard input)") }
        if !confirmation.yes { missing.append("--yes") }
        guard !missing.isEmpty else { return }
        let hasSource =
            try vault.unlocking.hasSource || vault.openAgent() != nil
            || UnlockTarget(vault.locked()).canAskMachine
        if !hasSource { missing.append("--passphrase-file FILE") }
        throw CommandError.usage(
            "there is no terminal to ask at", hint: "missing: " + missing.joined(separator: ", "))
    }

    private func code() throws -> RecoveryCode {
        guard let codeFile else {
            guard let terminal = Terminal() else {
                throw CommandError.usage("there is no terminal to type the code at", hint: "--code-file FILE")
            }
            return try RecoveryCode(terminal.readSecret("Code of the new device: "))
        }
        let tooLong = CommandError(StorageError.unacceptableRecoveryCode(.length))
        return try RecoveryCode(
            codeFile == "-"
                ? SecretReader.read(STDIN_FILENO, limit: 256, tooLong: tooLong)
                : SecretReader.read(file: codeFile, limit: 256, tooLong: tooLong))
    }
}

extension DeviceRole {
    fileprivate var phrase: String { (self == .owner ? "an " : "a ") + label }
}
