// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// Who asks, and what that process may do.
struct Caller: Sendable {
    var process: ClientProcess
    var access: AgentStatus.Access
    var groups: AccessGroups
    /// Whether its rule names the groups.
    var isConfined = false
    var purpose: AgentClient.Purpose
}
