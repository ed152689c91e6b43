// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage

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
        var text = """
            [D-BUS Service]
            Name=\(name)
            Exec=\(DoorPlaces.quoted(command)) doors \(options.joined(separator: " "))

            """
        if hasUnit, enabled.contains(where: \.allowsUnit) { text += "SystemdService=vault-doors.service\n" }
        return text
    }

    /// Returns whether a vault has written a text for a door, wherever its command was.
    static func isActivation(_ text: String, of door: Door) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let name = door.busName,
            lines.count == 4 || lines.count == 5 && lines[3] == "SystemdService=vault-doors.service",
            lines[0] == "[D-BUS Service]", lines[1] == "Name=\(name)", lines[lines.count - 1].isEmpty,
            lines[2].hasPrefix("Exec="), let end = lines[2].ranges(of: " doors --").last
        else { return false }
        return lines[2][end.lowerBound...].dropFirst(7).split(separator: " ").allSatisfy { option in
            Door.onBus.contains { $0.option == option }
        }
    }

    /// Quotes a path for the bus: a word of a shell, in the value of a key file.
    static func quoted(_ path: String) -> String {
        let isPlain = path.unicodeScalars.allSatisfy { scalar in
            "/._-+".unicodeScalars.contains(scalar) || scalar.properties.isAlphabetic && scalar.isASCII
                || ("0"..."9").contains(scalar)
        }
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
