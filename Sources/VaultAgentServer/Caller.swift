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

    /// - Throws: `.agent(.refused)` for what the policy does not let this client do.
    func check(_ request: AgentRequest) throws(VaultError) {
        switch (access, request) {
        // How long the vault is open is not for one group's programs to say.
        case (.full, .setIdleLimit): guard !isConfined else { throw .agent(.refused) }
        case (.full, _), (_, .hello), (_, .status): return
        case (.none, _): throw .agent(.refused)
        case (.injectOnly, .copyMatching(let query)):
            guard !query.returnsSecrets || purpose == .use else { throw .agent(.refused) }
        case (.injectOnly, .secret): guard purpose == .use else { throw .agent(.refused) }
        case (.injectOnly, .lockedCount), (.injectOnly, .awaitTurn), (.injectOnly, .unlock), (.injectOnly, .lock):
            return
        case (.injectOnly, _): throw .agent(.refused)
        }
    }
}
