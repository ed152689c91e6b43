// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// What the agent's service needs for a remote that is no folder: its unit has no network.
enum AgentNetwork {
    /// Says what a person has to add to the unit, where there is one. Nothing widens a sandbox unasked.
    static func tell(of remote: RemoteURL) {
        guard remote.scheme != .file, !remote.hosts.allSatisfy(\.isSocket) else { return }
        guard let places = try? DoorPlaces.ofUser(), places.hasUnit(named: "vault-agent.service") else { return }
        Output.note(
            """
            the agent's service reaches no network until you let it: 'systemctl --user edit vault-agent', and in \
            [Service] PrivateNetwork=no, IPAddressDeny= and RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK
            """)
    }
}
