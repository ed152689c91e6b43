// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultSync

/// What the agent's service needs for a remote that is no folder: its unit has no network.
enum AgentNetwork {
    private static let unit = "vault-agent.service"

    static func isNeeded(for remote: RemoteURL) -> Bool {
        remote.scheme != .file && !remote.hosts.allSatisfy(\.isSocket)
    }

    /// Says what a person has to add to the unit, where there is one. Nothing widens a sandbox unasked.
    static func tell(of remote: RemoteURL) {
        guard isNeeded(for: remote) else { return }
        guard let places = try? DoorPlaces.ofUser(), places.hasUnit(named: unit) else { return }
        Output.note(
            """
            the agent's service reaches no network until you let it: 'systemctl --user edit vault-agent', and in \
            [Service] PrivateNetwork=no, IPAddressDeny= and RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK
            """)
    }

    /// Whether a person has let the service have the network.
    ///
    /// - Parameter directories: where systemd's manager of the user looks for units.
    static func isOpen(in directories: [FilePath] = (try? DoorPlaces.ofUser().units) ?? []) -> Bool {
        directories.map { $0.appending(unit + ".d").string }.contains { directory in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.filter { $0.hasSuffix(".conf") }.contains { name in
                let content = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
                let lines = String(decoding: content, as: UTF8.self).split(separator: "\n")
                return lines.contains { ["PrivateNetwork=no", "PrivateNetwork=false"].contains($0) }
            }
        }
    }
}
