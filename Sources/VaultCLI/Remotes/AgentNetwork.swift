// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultSync

/// The network access of the agent's service, which its unit denies and every remote except a folder needs.
enum AgentNetwork {
    private static let unit = "vault-agent.service"

    static func isNeeded(for remote: RemoteURL) -> Bool {
        remote.scheme != .file && !remote.hosts.allSatisfy(\.isSocket)
    }

    /// Tells the user what to add to the unit, if it is installed. The command never widens a sandbox itself.
    static func tell(of remote: RemoteURL) {
        guard isNeeded(for: remote) else { return }
        guard let places = try? DoorPlaces.ofUser(), places.hasUnit(named: unit) else { return }
        Output.note(
            """
            the agent's service reaches no network until you let it: 'systemctl --user edit vault-agent', and in \
            [Service] PrivateNetwork=no, IPAddressDeny= and RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK
            """)
    }

    /// Whether the user has allowed the service to use the network.
    ///
    /// - Parameter directories: the directories in which the user's systemd manager looks for units.
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
