// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultSync

struct RemoteRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Sync with a remote no more.",
        discussion: "Of this device alone. What is there stays, for the other devices.")

    @Argument(help: "The remote, as 'vault remote list' has it.")
    var url: String

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let remote = try RemoteURL(url)
        if try vault.byAgent(RemoveRemoteRequest(remote.text)) != nil { return }
        try vault.withFleet { fleet, _ in try fleet.removeRemote(remote) }
    }
}
