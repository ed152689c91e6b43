// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultSync

struct Remote: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Add, list and remove the remotes through which the devices of a fleet sync.",
        discussion: """
            A fleet is several devices that have one vault in common, each with a vault file and a passphrase of its \
            own. The devices exchange changes through a folder that all of them reach, file:///absolute/path, such as \
            a folder of a file server, of Syncthing or on a USB stick; through a folder of a server by ssh and 'vault \
            remote serve', ssh://[user@]host[:port]/absolute/path; through a PostgreSQL database, \
            postgres://user@host/database, which 'vault remote sql' prepares; or through etcd, \
            etcd://[user@]host[:port]. The operator of a remote can read nothing there, and change nothing unnoticed. \
            An unlocked agent syncs in the background, and 'vault sync' syncs on demand.
            recovery-code makes a new recovery code for the fleet, in place of the code that was printed when the \
            fleet was founded.
            """,
        subcommands: [
            RemoteAdd.self, RemoteList.self, RemoteRecoveryCode.self, RemoteRemove.self, RemoteServe.self,
            RemoteSQL.self,
        ],
        defaultSubcommand: RemoteList.self)
}

struct RemoteList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the remotes of this device.")

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        let remotes = try vault.fleetStatus().remotes.map { RemoteSummary($0) }
        try Output.list(remotes, asJSON: output.json, named: "remotes") {
            "\($0.url.printable)\t\($0.lastSync?.text ?? "never")\n"
        }
    }
}

struct RemoteSummary: Encodable {
    var url: String
    var lastSync: Time?

    init(_ remote: FleetStatus.Remote) {
        url = remote.url.text
        lastSync = remote.lastSync.map(Time.init(seconds:))
    }
}
