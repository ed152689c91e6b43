// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// Who asks, and what that process may do.
struct Caller: Sendable {
    var process: ClientProcess
    /// The client that speaks for the process; nil: the process is the client.
    var door: ClientProcess?
    var access: AgentStatus.Access
    var groups: AccessGroups
    /// The groups that it may name, since a rule or its sandbox confines it to them; nil: all.
    var confinement: AccessGroups?
    var purpose: AgentClient.Purpose
    /// Whether it has shown a ticket for this request.
    var isAttended = false

    var isConfined: Bool { confinement != nil }

    /// Whether it may do what is about the vault as a whole, and not about items that it sees.
    var isWhole: Bool { access == .full && !isConfined }

    /// Whether it may ask people for the passphrase, on everyone's behalf.
    var isDoor: Bool { isWhole && door == nil }

    /// The vault as the caller sees it.
    func view(of vault: Vault) -> Vault { isAttended ? vault.attended() : vault }
}
