// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage

/// One thing that a door wants of the files around it.
struct DoorChange {
    enum Kind {
        /// A file of the door's own.
        case file(String)
        /// A unit that systemd does not start: what 'systemctl --user mask' does.
        case mask
        /// A file in a place that another program has files in as well: what is there is put back later.
        case manifest(String)
        /// A link of the door's own: to this command, or what 'systemctl --user enable' makes.
        case link(to: String)
        /// A key in a file of another program, of which a new one begins with `start`.
        case setting(DoorSetting, start: String, mode: UInt32)
    }

    let path: FilePath
    let kind: Kind

    static let masked = PathContent.link(to: "/dev/null")

    /// What is to be there, where the whole of it is the door's.
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
    /// What a door wants, in the order in which it is done: the program that has the name now is kept from coming back
    /// before the vault takes it.
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

    /// Of the portal's back end. Its version 1.16, Debian 12's, knows `UseIn` alone.
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

    /// Which file says how a name gets its program.
    private func activationText(of door: Door, _ name: String, enabled: Set<Door>) -> String {
        let options = Door.onBus.filter { $0 == door || enabled.contains($0) }.map(\.option)
        var text = """
            [D-BUS Service]
            Name=\(name)
            Exec=\(DoorPlaces.quoted(command)) doors \(options.joined(separator: " "))

            """
        // The unit serves every door, so it would take a name that its user has given to no vault.
        if enabled.contains(.secretService), hasUnit { text += "SystemdService=vault-doors.service\n" }
        return text
    }

    /// Whether a text is one that some vault has written for a door, wherever the command was.
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

    /// A path as the bus takes it: a word of a shell, in the value of a key file.
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

    /// gnome-keyring is started by systemd and by the session as well; KWallet, where it runs, takes the name.
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

    /// Of the portal's files the most important one is the only one that older versions read: every one that the user
    /// has is told, and a new one says what the file said that it hides.
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
