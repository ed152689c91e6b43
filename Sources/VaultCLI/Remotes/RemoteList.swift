// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultSync

struct Remote: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Add, list and remove the places that the devices of a fleet share.",
        discussion: """
            A fleet is several devices that have one vault in common, each in a file of its own with a passphrase of \
            its own. They tell each other what changed through a folder that all of them reach, file:///absolute/path: \
            of a file server, of Syncthing, on a stick; through a folder of a server by ssh and 'vault remote serve', \
            ssh://[user@]host[:port]/absolute/path; through a PostgreSQL database, postgres://user@host/database, \
            which 'vault remote sql' prepares; or through etcd, etcd://[user@]host[:port]. Who runs it reads nothing \
            there and changes nothing unnoticed. \
            An unlocked agent does it by itself, and 'vault sync' when it is called.
            recovery-code makes another recovery code for the fleet, in the place of the one that founding it printed.
            """,
        subcommands: [
            RemoteAdd.self, RemoteList.self, RemoteRecoveryCode.self, RemoteRemove.self, RemoteServe.self,
            RemoteSQL.self,
        ])
}

struct RemoteList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the remotes of this device.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let remotes = try vault.fleetStatus().remotes.map { RemoteSummary($0) }
        guard json else {
            return try Output.write(
                remotes.map { "\($0.url.printable)\t\($0.lastSync ?? "never")\n" }.joined())
        }
        try Output.json(remotes)
    }
}

struct RemoteSummary: Encodable {
    var url: String
    var lastSync: String?

    init(_ remote: FleetStatus.Remote) {
        url = remote.url.text
        lastSync = remote.lastSync.map(Date.formattedTime)
    }
}

extension Date {
    /// - Parameter seconds: the seconds since 2001-01-01T00:00:00Z.
    static func formattedTime(_ seconds: Double) -> String {
        Date(timeIntervalSinceReferenceDate: seconds).formattedTime
    }
}
