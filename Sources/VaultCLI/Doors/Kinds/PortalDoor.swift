// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage

extension Door {
    fileprivate static let portalName = "org.freedesktop.impl.portal.desktop.vault"

    static let portal: Door = Door(
        name: "portal", purpose: "Flatpak applications, which encrypt their secrets with one that they get here",
        effect: "Flatpak applications get the secret with which theirs are encrypted from the vault.",
        reach: .bus(name: portalName),
        changes: { places, enabled in
            let portal = DoorChange(
                path: places.data.appending("xdg-desktop-portal/portals/vault.portal"), kind: .file(DoorPlaces.portal))
            return [portal] + places.activation(of: .portal, enabled: enabled) + places.preferences
        },
        recognizes: { DoorPlaces.isActivation($0, of: .portal) })
}

extension DoorPlaces {
    /// The portal back end. Version 1.16 of the portal, Debian 12's, knows only `UseIn`.
    static let portal = """
        [portal]
        DBusName=\(Door.portalName)
        Interfaces=org.freedesktop.impl.portal.Secret;
        UseIn=gnome;ubuntu;unity;budgie;cinnamon;x-cinnamon;mate;xfce;lxde;lxqt;kde;\
        pantheon;sway;hyprland;wlroots;cosmic;i3;

        """

    /// The preferences of the portal. Older versions read only the file with the highest precedence: every existing
    /// file of the user is changed, and a new one repeats the content of the file that it hides.
    fileprivate var preferences: [DoorChange] {
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
