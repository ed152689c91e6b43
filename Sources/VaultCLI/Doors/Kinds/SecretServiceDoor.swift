// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage

extension Door {
    static let secretService: Door = Door(
        name: "secret-service", purpose: "org.freedesktop.secrets, which gnome-keyring and KWallet also serve",
        effect: """
            the bus starts 'vault doors' for org.freedesktop.secrets, and gnome-keyring and KWallet are kept from \
            taking that name: gnome-keyring's units are masked, its start with the session is hidden, and \
            apiEnabled=false is set for KWallet. 'vault import secret-service' moves their secrets beforehand.
            """,
        reach: .bus(name: "org.freedesktop.secrets"), hasRivals: true, allowsUnit: true,
        changes: { places, enabled in
            places.otherKeyrings + places.activation(of: .secretService, enabled: enabled) + places.openAgent
        },
        recognizes: { DoorPlaces.isActivation($0, of: .secretService) || $0.hasPrefix(DoorPlaces.openMark) })
}

extension DoorPlaces {
    fileprivate static let openMark =
        "# 'vault doors enable' has written this, and 'vault doors disable secret-service' removes it.\n"

    /// The agent's drop-in with which the vault stays open for the session, as gnome-keyring's does. The drop-in has no
    /// path, since the agent must start wherever an upgrade puts its command.
    fileprivate var openAgent: [DoorChange] {
        guard keepsVaultOpen, let path = agentDropIn else { return [] }
        let service = "[Service]\nEnvironment=\"VAULT_AGENT_OPTIONS=--idle 0 --max 0\"\n"
        return [DoorChange(path: path, kind: .file(DoorPlaces.openMark + service))]
    }

    /// The drop-in's path; `nil` if there is no unit of the agent.
    var agentDropIn: FilePath? {
        guard hasUnit(named: DoorPlaces.agentUnit) else { return nil }
        return userUnits?.appending(DoorPlaces.agentUnit + ".d").appending("50-stay-open.conf")
    }

    /// gnome-keyring is also started by systemd and by the session; KWallet takes the name while it runs.
    fileprivate var otherKeyrings: [DoorChange] {
        guard let configuration, let userUnits else { return [] }
        let units = ["gnome-keyring-daemon.socket", "gnome-keyring-daemon.service"].map { unit in
            DoorChange(path: userUnits.appending(unit), kind: .mask)
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
}
