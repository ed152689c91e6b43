// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultSync

struct RemoteRecoveryCode: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-code",
        abstract: "Make another recovery code for the fleet.",
        discussion: """
            Prints the new code once, before it counts. From then on the old one lets no device in, and opens nothing \
            that is told later: for a code that was lost, or that somebody else may have seen. An owner's device does \
            that, with a remote that it reaches. A code that was printed is stored nowhere, and cannot be shown again.
            """)

    @Flag(help: "Make another code, in the place of the one that there is.")
    var new = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard new else {
            throw CommandError.usage(
                "the recovery code is stored nowhere, and cannot be shown again",
                hint: "--new makes another one; the old one lets no device in from then on")
        }
        try vault.withFleet { fleet, _ in
            var isShown = false
            let outcomes: [SyncOutcome]
            do {
                outcomes = try FleetCode.showing { code in
                    if json {
                        try FleetCode.write(["state": "renewed"], with: code)
                    } else {
                        try FleetCode.write(code)
                    }
                    isShown = true
                    Output.note("the new recovery code of the fleet; " + FleetCode.isShownOnce)
                } during: { show in
                    try Progress.during("making another recovery code") { _ in
                        try fleet.renewRecoveryCode(showing: show)
                    }
                }
            } catch {
                if isShown {
                    Output.warn("whether the old code counts or the new one is not certain: make another one")
                }
                throw error
            }
            outcomes.warn("it hears of the new code with a later sync", DeviceNames(fleet))
            Output.note("the recovery code before this one lets no device in any more")
        }
    }
}
