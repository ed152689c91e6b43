// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Where a person can be asked: what a desktop's session, or a terminal, gives to its programs.
package struct PromptPlace: Equatable, Sendable {
    /// The variables that say where, as one process hands them to another.
    package static let names = ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "GPG_TTY", "TERM"]

    /// Without those the program that asks finds no session, and no language.
    private static let companions = [
        "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    private let values: [String: String]

    /// - Parameter environment: a process's variables.
    package init(_ environment: (String) -> String?) {
        var values: [String: String] = [:]
        for name in PromptPlace.names + PromptPlace.companions {
            if let value = environment(name), !value.isEmpty { values[name] = value }
        }
        self.values = values
    }

    /// `NAME=value`, for the program that asks, and nothing else that this process has.
    var environment: [String] { values.map { "\($0)=\($1)" }.sorted() }

    /// The same for a program that is to start no other one: GNOME's would have the bus start a prompter.
    var environmentWithoutBus: [String] {
        let names = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
        return values.filter { !names.contains($0.key) }.map { "\($0)=\($1)" }.sorted()
    }

    package var hasDisplay: Bool { values["DISPLAY"] != nil || values["WAYLAND_DISPLAY"] != nil }

    /// The terminal that `$GPG_TTY` names: only one of this user's, since another user's could read what is typed.
    var terminal: (path: String, type: String)? {
        guard let path = values["GPG_TTY"] else { return nil }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFCHR, status.st_uid == geteuid() else {
            return nil
        }
        return (path, values["TERM"] ?? "dumb")
    }

    /// How the terminal's text is encoded.
    var characterType: String? { values["LC_ALL"] ?? values["LC_CTYPE"] ?? values["LANG"] }

    /// Whether a person may be there.
    package var isSomewhere: Bool { hasDisplay || terminal != nil }
}
