// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultSync

/// The network access of the agent's service, which its unit denies and every remote except a folder needs.
enum AgentNetwork {
    static func isNeeded(for remote: RemoteURL) -> Bool {
        remote.scheme != .file && !remote.hosts.allSatisfy(\.isSocket)
    }

    /// Tells the user what to add to the unit, if it is installed. The command never widens a sandbox itself.
    static func tell(of remote: RemoteURL) {
        guard isNeeded(for: remote) else { return }
        guard let places = try? DoorPlaces.ofUser(), places.hasUnit(named: DoorPlaces.agentUnit) else { return }
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
        let files = directories.map { $0.appending(DoorPlaces.agentUnit + ".d").string }.flatMap { directory in
            ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
                .filter { $0.hasSuffix(".conf") }.map { (name: $0, path: directory + "/" + $0) }
        }
        // systemd reads them by name, and the last assignment counts.
        let settings = files.sorted { $0.name < $1.name }.flatMap { file in
            String(decoding: FileManager.default.contents(atPath: file.path) ?? Data(), as: UTF8.self)
                .split(whereSeparator: \.isNewline).compactMap { value(of: "PrivateNetwork", in: $0) }
        }
        return settings.last.map { ["no", "n", "false", "f", "off", "0"].contains($0.lowercased()) } ?? false
    }

    private static func value(of name: String, in line: Substring) -> String? {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.split(separator: " ").joined(separator: " ") }
        return parts.count == 2 && parts[0] == name ? parts[1] : nil
    }
}
