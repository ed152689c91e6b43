// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage

/// A change that a door makes to the files around it.
struct DoorChange {
    enum Kind {
        /// A file of the door's own.
        case file(String)
        /// A masked unit, which systemd does not start, as by 'systemctl --user mask'.
        case mask
        /// A file in a directory shared with other programs: an existing one is restored later.
        case manifest(String)
        /// A link of the door's own: to this command, or as made by 'systemctl --user enable'.
        case link(to: String)
        /// A key in another program's file; a new file begins with `start`.
        case setting(DoorSetting, start: String, mode: UInt32)
    }

    let path: FilePath
    let kind: Kind

    static let masked = PathContent.link(to: "/dev/null")

    /// The wanted content, if the whole file is the door's.
    var wanted: PathContent? {
        switch kind {
        case .file(let text), .manifest(let text): .text(text)
        case .link(let target): .link(to: target)
        case .mask, .setting: nil
        }
    }
}

/// A key in a file of groups and keys.
struct DoorSetting: Codable, CustomStringConvertible {
    let group: String
    let key: String
    let value: String

    var description: String { "[\(group)] \(key)=\(value)" }
}

extension DoorPlaces {
    /// Returns the changes of a door in the order in which they are made: the current owner of the name is kept from
    /// restarting before the vault takes the name.
    ///
    /// - Parameter enabled: the doors of this process, which serves all of them.
    func changes(for door: Door, enabled: Set<Door>) -> [DoorChange] {
        let activation = activations(of: door, enabled: enabled)
        switch door {
        case .browser: return browserChanges
        case .ssh: return sshUnits
        case .secretService: return otherKeyrings + activation
        case .portal:
            let portal = DoorChange(
                path: data.appending("xdg-desktop-portal/portals/vault.portal"), kind: .file(DoorPlaces.portal))
            return [portal] + activation + preferences
        }
    }

    /// The portal back end. Version 1.16 of the portal, Debian 12's, knows only `UseIn`.
    static let portal = """
        [portal]
        DBusName=\(Door.portalName)
        Interfaces=org.freedesktop.impl.portal.Secret;
        UseIn=gnome;ubuntu;unity;budgie;cinnamon;x-cinnamon;mate;xfce;lxde;lxqt;kde;\
        pantheon;sway;hyprland;wlroots;cosmic;i3;

        """

    private func activations(of door: Door, enabled: Set<Door>) -> [DoorChange] {
        guard let name = door.busName, let file = door.activationFile else { return [] }
        let text = activationText(of: door, name, enabled: enabled)
        return [DoorChange(path: data.appending(FilePath(file).components), kind: .file(text))]
    }

    /// Returns the file that tells the bus how to start the program of a name.
    private func activationText(of door: Door, _ name: String, enabled: Set<Door>) -> String {
        let options = Door.onBus.filter { $0 == door || enabled.contains($0) }.map(\.option)
        var text = """
            [D-BUS Service]
            Name=\(name)
            Exec=\(DoorPlaces.quoted(command)) doors \(options.joined(separator: " "))

            """
        // The unit serves every door, so it would also take a name that its user has not enabled.
        if enabled.contains(.secretService), hasUnit { text += "SystemdService=vault-doors.service\n" }
        return text
    }

    /// Returns whether a text was written by a vault for a door, wherever its command was.
    static func isActivation(_ text: String, of door: Door) -> Bool {
        guard door != .ssh else { return text.hasPrefix(sshMark) }
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

    // MARK: Files of other programs

    /// gnome-keyring is also started by systemd and by the session; KWallet takes the name while it runs.
    private var otherKeyrings: [DoorChange] {
        guard let configuration else { return [] }
        let units = ["gnome-keyring-daemon.socket", "gnome-keyring-daemon.service"].map { unit in
            DoorChange(path: configuration.appending("systemd/user").appending(unit), kind: .mask)
        }
        let autostart = DoorSetting(group: "Desktop Entry", key: "Hidden", value: "true")
        let wallet = DoorSetting(group: "org.freedesktop.secrets", key: "apiEnabled", value: "false")
        return units + [
            DoorChange(
                path: configuration.appending("autostart/gnome-keyring-secrets.desktop"),
                kind: .setting(
                    autostart, start: "[Desktop Entry]\nType=Application\nName=Secret Storage Service\n", mode: 0o644)),
            DoorChange(path: configuration.appending("kwalletrc"), kind: .setting(wallet, start: "", mode: 0o600)),
        ]
    }

    /// The preferences of the portal. Older versions read only the file with the highest precedence: every existing
    /// file of the user is changed, and a new one repeats the content of the file that it hides.
    private var preferences: [DoorChange] {
        guard let configuration else { return [] }
        let directory = configuration.appending("xdg-desktop-portal")
        let setting = DoorSetting(group: "preferred", key: "org.freedesktop.impl.portal.Secret", value: "vault")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
        let others = names.filter { $0.hasSuffix("-portals.conf") && !$0.hasPrefix(".") }.sorted()
        return (["portals.conf"] + others).map { name in
            DoorChange(
                path: directory.appending(name),
                kind: .setting(setting, start: others.isEmpty ? hiddenPreferences(but: setting.key) : "", mode: 0o644))
        }
    }

    private func hiddenPreferences(but key: String) -> String {
        for path in hiddenPortals {
            guard let lines = PathContent.behind(path)?.lines(of: "preferred"), !lines.isEmpty else { continue }
            let kept = lines.filter { $0.prefix { $0 != "=" && $0 != " " } != key }
            return (["# From \(path.string.printable), which this file hides.", "[preferred]"] + kept).joined(
                separator: "\n") + "\n"
        }
        return ""
    }
}
