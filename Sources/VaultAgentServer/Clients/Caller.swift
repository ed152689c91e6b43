// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// The author of a request, with its rights.
struct Caller: Sendable {
    var process: ClientProcess
    /// The client that speaks for the process; `nil` if the process is the client.
    var door: ClientProcess?
    var access: AgentStatus.Access
    var groups: AccessGroups
    /// The groups that the caller may name, if a rule or its sandbox confines it; `nil` for all.
    var confinement: AccessGroups?
    var purpose: AgentClient.Purpose
    /// Whether the caller has presented a ticket for this request.
    var isAttended = false

    /// The agent itself.
    static var agent: Caller { Caller(process: .own, access: .full, groups: [], purpose: .use) }

    var isConfined: Bool { confinement != nil }

    /// Whether the caller may act on the vault as a whole, beyond its visible items.
    var isWhole: Bool { access == .full && !isConfined }

    /// Whether the caller may ask people for the passphrase on behalf of all clients.
    var isDoor: Bool { isWhole && door == nil }

    /// Returns the caller's view of the vault.
    func view(of vault: Vault) -> Vault { isAttended ? vault.attended() : vault }
}
