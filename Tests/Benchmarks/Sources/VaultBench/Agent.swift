// SPDX-License-Identifier: Apache-2.0
import Vault
import VaultAgent

/// Prints the mean duration of a request, in nanoseconds.
func measureAgent(service: String, account: String, count: Int) throws {
    guard let client = try AgentClient(vault: nil, accessGroups: ["default"]) else {
        throw VaultError.agent(.notRunning)
    }
    var query = Query(.genericPassword, service: service, account: account)
    query.returnsSecrets = true
    let start = ContinuousClock.now
    for _ in 0..<count { _ = try client.copyMatching(query) }
    print(Int((ContinuousClock.now - start) / .nanoseconds(1)) / count)
}
