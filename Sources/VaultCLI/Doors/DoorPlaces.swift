// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The locations of doors' files, for one user or for all users of the machine.
struct DoorPlaces {
    /// The data directory: `~/.local/share`, or that of the machine.
    var data: FilePath
    /// The directory `~/.config`; `nil` for all users, since the configuration of other programs is up to each user.
    var configuration: FilePath?
    /// The home directory, in which Firefox has its own; `nil` like `configuration`.
    var home: FilePath?
    /// The directory of the record of changes.
    var record: FilePath
    /// The directories in which the user's systemd manager looks for units.
    var units: [FilePath]
    /// The absolute path of this command.
    var command: String
    /// Portal files that would be hidden by a portals.conf of the user; the portal reads the first that exists.
    var hiddenPortals: [FilePath] = []
    /// Whether the agent's unit is told to keep the vault open.
    var keepsVaultOpen = false

    private static let machineUnits: [FilePath] = [
        "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/local/share/systemd/user", "/usr/lib/systemd/user",
        "/usr/share/systemd/user",
    ]

    /// - Throws: code 30 without a home, or in another user's.
    static func ofUser() throws -> DoorPlaces {
        guard let data = BaseDirectories.path("XDG_DATA_HOME", ".local/share"),
            let state = BaseDirectories.path("XDG_STATE_HOME", ".local/state"),
            let configuration = BaseDirectories.path("XDG_CONFIG_HOME", ".config")
        else {
            throw CommandError(
                .inputOutput, "there is no home whose files could be changed", hint: "set HOME to an absolute path")
        }
        if let home = ProcessEnvironment.variable("HOME"), let status = try? FileStatus(at: home, followsLink: true),
            status.owner != geteuid()
        {
            // The home's owner could not remove files written by root.
            throw CommandError(.inputOutput, "the home directory is another user's", hint: "run it as that user")
        }
        return DoorPlaces(
            data: data, configuration: configuration, home: BaseDirectories.path("HOME", ""),
            record: state.appending("vault/doors"),
            units: [configuration.appending("systemd/user"), data.appending("systemd/user")] + machineUnits,
            command: try ownCommand(), hiddenPortals: hidden(in: data))
    }

    /// - Throws: code 30 for users other than root.
    static func ofMachine() throws -> DoorPlaces {
        guard geteuid() == 0 else {
            throw CommandError(.inputOutput, "only root sets up doors for all users", hint: "sudo, or without --system")
        }
        return DoorPlaces(
            data: "/usr/local/share", configuration: nil, record: "/var/lib/vault-doors", units: machineUnits,
            command: try ownCommand())
    }

    /// The user's own units.
    var userUnits: FilePath? { configuration?.appending("systemd/user") }

    /// Whether systemd would find the unit that starts the doors.
    var hasUnit: Bool { hasUnit(named: DoorPlaces.unit) }

    static let unit = "vault-doors.service"
    static let agentUnit = "vault-agent.service"

    func hasUnit(named name: String) -> Bool {
        units.contains { directory in
            // A masked unit is a link to a device.
            (try? FileStatus(at: directory.appending(name).string, followsLink: true))?.kind == .regular
        }
    }

    /// The directories in which the bus looks for programs to start, in order of precedence.
    static var activation: [FilePath] {
        let machine = directories("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
        let own = [RuntimeDirectory.ofProcess, BaseDirectories.path("XDG_DATA_HOME", ".local/share")].compactMap { $0 }
        return (own + machine).map { $0.appending("dbus-1/services") }
    }

    private static func directories(_ name: String, _ fallback: String) -> [FilePath] {
        (ProcessEnvironment.variable(name) ?? fallback).split(separator: ":").filter { $0.hasPrefix("/") }
            .map { FilePath(String($0)) }
    }

    /// Lists the files of portals.conf(5) for the running desktop, without the user's own.
    private static func hidden(in data: FilePath) -> [FilePath] {
        let desktops = (ProcessEnvironment.variable("XDG_CURRENT_DESKTOP") ?? "").split(separator: ":").filter {
            $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
        }
        let names = desktops.map { "\($0.lowercased())-portals.conf" } + ["portals.conf"]
        let places =
            directories("XDG_CONFIG_DIRS", "/etc/xdg") + ["/etc", data]
            + directories("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
        return places.flatMap { place in names.map { place.appending("xdg-desktop-portal/\($0)") } }
    }

    private static func ownCommand() throws -> String {
        let command = Helper.ownExecutable
        guard !command.hasPrefix("/proc/") else {
            throw CommandError(.inputOutput, "this command was replaced while it runs", hint: "run it again")
        }
        return command
    }
}
