// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFleet
internal import VaultSync

struct RemoteRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Stop syncing with a remote.",
        discussion: "Affects this device only. The records on the remote stay, for the other devices.")

    @Argument(help: "The remote, as in 'vault remote list'.")
    var url: String

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let remote = try RemoteURL(argument: url)
        _ = try vault.withFleet { fleet in try fleet.change(RemoveRemoteRequest(remote.text)) }
    }
}
