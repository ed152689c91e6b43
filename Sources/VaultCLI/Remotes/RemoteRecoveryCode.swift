// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultCrypto
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
        if try renewByAgent() { return }
        try vault.withFleet { fleet, _ in
            var isShown = false
            let outcomes: [SyncOutcome]
            do {
                outcomes = try FleetCode.showing { code in
                    try tell(code)
                    isShown = true
                } during: { show in
                    try Progress.during(Self.progress) { _ in try fleet.renewRecoveryCode(showing: show) }
                }
            } catch {
                if isShown { warnOfDoubt() }
                throw error
            }
            tell(outcomes, DeviceNames(fleet))
        }
    }

    /// Renews the code through the agent if it has the vault unlocked. This process makes the code, and shows it before
    /// it passes the code to the agent.
    ///
    /// - Returns: `false` if the command has to do it itself.
    private func renewByAgent() throws -> Bool {
        guard try vault.byAgent(RenewCodeRequest(nil)) != nil, let agent = try vault.openAgent() else { return false }
        let code = try RecoveryCode(SystemRandom())
        try tell(code)
        do {
            let change = try Progress.during(Self.progress) { _ in try agent.changed(RenewCodeRequest(code.secret)) }
            tell(change.outcomes, DeviceNames(change.deviceNames))
        } catch {
            warnOfDoubt()
            throw error
        }
        return true
    }

    private static let progress = "making another recovery code"

    private func tell(_ code: RecoveryCode) throws {
        if output.json {
            try FleetCode.write(["state": "renewed"], with: code)
        } else {
            try FleetCode.write(code)
        }
        Output.note("the new recovery code of the fleet; " + FleetCode.isShownOnce)
    }

    private func tell(_ outcomes: [SyncOutcome], _ names: DeviceNames) {
        outcomes.warn("a later sync announces the new code", names)
        Output.note("the previous recovery code is no longer valid")
    }

    /// After a failure that came when the new code was shown.
    private func warnOfDoubt() {
        Output.warn("the old or the new code is valid, which is unknown: make another one")
    }
}
