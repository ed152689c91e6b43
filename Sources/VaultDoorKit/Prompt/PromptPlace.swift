// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import VaultSystem

/// A place where the user can be asked: the environment that a desktop session, or a terminal, gives to its programs.
package struct PromptPlace: Equatable, Sendable {
    /// The variables that identify the place, as passed between processes.
    package static let names = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "GPG_TTY", "TERM"]

    /// The variables without which a prompter finds no session, and no language.
    private static let companions = [
        "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    private let values: [String: String]

    /// - Parameter environment: looks up a variable of a process.
    package init(_ environment: (String) -> String?) {
        var values: [String: String] = [:]
        for name in PromptPlace.names + PromptPlace.companions {
            if let value = environment(name), !value.isEmpty { values[name] = value }
        }
        self.values = values
    }

    /// The whole environment of the prompter, as `NAME=value`; no other variable of this process is passed on.
    var environment: [String] { values.map { "\($0)=\($1)" }.sorted() }

    /// The environment for a program that must not start another one: GNOME's would have the bus start a prompter.
    var environmentWithoutBus: [String] {
        let names = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
        return values.filter { !names.contains($0.key) }.map { "\($0)=\($1)" }.sorted()
    }

    package var hasDisplay: Bool { values["DISPLAY"] != nil || values["WAYLAND_DISPLAY"] != nil }

    /// The terminal named by `$GPG_TTY`. Must belong to this user, since another user could read what is typed.
    var terminal: (path: String, type: String)? {
        guard let path = values["GPG_TTY"], let status = try? FileStatus(at: path, followsLink: true),
            status.kind == .characterDevice, status.owner == geteuid()
        else {
            return nil
        }
        return (path, values["TERM"] ?? "dumb")
    }

    /// The character encoding of the terminal.
    var characterType: String? { values["LC_ALL"] ?? values["LC_CTYPE"] ?? values["LANG"] }

    /// Whether the user may be reachable.
    package var isSomewhere: Bool { hasDisplay || terminal != nil }
}
