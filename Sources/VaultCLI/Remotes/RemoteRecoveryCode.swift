// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultFleet
internal import VaultSync

struct RemoteRecoveryCode: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-code",
        abstract: "Make a new recovery code for the fleet.",
        discussion: """
            Prints the new code once, before the code takes effect. From then on the old code lets no device in, and \
            opens nothing that is published later: use the command if a code was lost, or another person may have seen \
            it. The command requires an owner's device, and a remote that it reaches. A printed code is stored \
            nowhere, and cannot be shown again.
            """)

    @Flag(help: "Make a new code, in place of the current one.")
    var new = false

    @OptionGroup var output: JSONOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard new else {
            throw CommandError.usage(
                "the recovery code is not stored, and cannot be shown again",
                hint: "--new makes another one; the old one lets no device in from then on")
        }
        try vault.withFleet { fleet in
            try fleet.change(RenewCodeRequest(nil))
            let code = try RecoveryCode(SystemRandom())
            try tell(code)
            do {
                let change = try Progress.during("making another recovery code") { _ in
                    try fleet.change(RenewCodeRequest(code.secret), isFinal: true)
                }
                change.outcomes.warn("a later sync announces the new code", DeviceNames(change.deviceNames))
                Output.note("the previous recovery code is no longer valid")
            } catch {
                Output.warn("the old or the new code is valid, which is unknown: make another one")
                throw error
            }
        }
    }

    private func tell(_ code: RecoveryCode) throws {
        if output.json {
            try FleetCode.write(["state": "renewed"], with: code)
        } else {
            try FleetCode.write(code)
        }
        Output.note("the new recovery code of the fleet; " + FleetCode.isShownOnce)
    }
}
