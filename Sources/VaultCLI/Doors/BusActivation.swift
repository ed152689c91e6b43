// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultFormat

extension Door {
    /// The doors served on the session bus.
    static let onBus = all.filter { $0.busName != nil }

    /// The name of the file by which the bus starts the owner of a name.
    static func activationFile(of name: String) -> String { "\(name).service" }

    /// The option of 'vault doors' for a door on the bus.
    var option: String { "--" + name }
}

/// The files by which the bus starts 'vault doors'.
extension DoorPlaces {
    func activation(of door: Door, enabled: Set<Door>) -> [DoorChange] {
        guard let name = door.busName else { return [] }
        let text = activationText(of: door, name, enabled: enabled)
        return door.starters(in: self).map { DoorChange(path: $0, kind: .file(text)) }
    }

    /// Returns the file that tells the bus how to start the program of a name.
    private func activationText(of door: Door, _ name: String, enabled: Set<Door>) -> String {
        let options = Door.onBus.filter { $0 == door || enabled.contains($0) }.map(\.option)
        let starter = DoorPlaces.starter(of: name, asUnit: hasUnit && enabled.contains(where: \.allowsUnit))
        return """
            [D-BUS Service]
            Name=\(name)
            Exec=/bin/sh -c '\(starter)' \(DoorPlaces.quoted(command)) doors \(options.joined(separator: " "))

            """
    }

    /// Returns the script by which the bus starts the command, which is its `$0`, with the arguments. If the command
    /// was removed, the script starts what the machine's packages have for the name: this file hides theirs, and a
    /// session without any keyring loses more than the vault.
    ///
    /// A `SystemdService` would fail with the unit, which the package takes along. The unit belongs to the session's
    /// own bus, and not to one that a program has for itself.
    ///
    /// - Parameter asUnit: whether to start the installed unit, which has further restrictions.
    private static func starter(of name: String, asUnit: Bool) -> String {
        let unit = """
            case "${DBUS_STARTER_ADDRESS:-$DBUS_SESSION_BUS_ADDRESS}" in unix:path="$XDG_RUNTIME_DIR"/bus*) \
            systemctl --user start \(DoorPlaces.unit) && exit;; esac;
            """
        return """
            if [ -x "$0" ]; then \(asUnit ? unit + " " : "")exec "$0" "$@"; fi; \
            for f in $(grep -lx Name=\(name) /usr/share/dbus-1/services/*.service); do \
            exec $(sed -n s/^Exec=//p "$f"); done; exit 1
            """
    }

    /// Returns the command line in a file for the bus: in the vault's own files without the script.
    static func command(in exec: String) -> String {
        guard exec.hasPrefix("/bin/sh -c '"), let end = exec.ranges(of: "; exit 1' ").last else { return exec }
        return String(exec[end.upperBound...])
    }

    /// Returns whether a vault has written a text for a door, wherever its command was.
    static func isActivation(_ text: String, of door: Door) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let name = door.busName,
            // Version 0.2 named the unit.
            lines.count == 4 || lines.count == 5 && lines[3] == "SystemdService=\(DoorPlaces.unit)",
            lines[0] == "[D-BUS Service]", lines[1] == "Name=\(name)", lines[lines.count - 1].isEmpty,
            lines[2].hasPrefix("Exec="), let end = lines[2].ranges(of: " doors --").last
        else { return false }
        return lines[2][end.lowerBound...].dropFirst(7).split(separator: " ").allSatisfy { option in
            Door.onBus.contains { $0.option == option }
        }
    }

    /// Quotes a path for the bus: a word of a shell, in the value of a key file.
    static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/._-+".utf8.contains($0) }
        guard !isPlain else { return path }
        var word = ""
        for character in path.unicodeScalars {
            switch character {
            case "'": word += #"'\\''"#
            case "\\": word += #"\\"#
            case "\n": word += #"\n"#
            case "\r": word += #"\r"#
            case "\t": word += #"\t"#
            default: word.unicodeScalars.append(character)
            }
        }
        return "'\(word)'"
    }
}
