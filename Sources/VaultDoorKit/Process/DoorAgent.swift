// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
package import VaultAgent

extension AgentClient {
    /// Connects to the agent of a vault, for a door.
    ///
    /// Doors do not serve items that require the user's consent for each use: none of their protocols can report the
    /// wait.
    ///
    /// - Parameters:
    ///   - client: the client for which the door acts; `nil` for the door itself.
    ///   - groups: the access groups, as in ``DoorHouse/agent(for:in:)``.
    /// - Returns: `nil` if no agent has the vault, or the client is not a process.
    /// - Throws: `.agent(.refused)` for a client in a sandbox without an identity, and the errors of
    ///   ``init(at:vault:accessGroups:purpose:behalf:)``.
    package static func forDoor(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath, _ client: DoorClient?, in groups: AccessGroups?
    ) throws(VaultError) -> AgentClient? {
        let agent: AgentClient?
        do throws(VaultError) {
            if let client {
                // An agent without access rules would not check the sandbox.
                guard client.sandbox != "" else { throw .agent(.refused) }
                let behalf = Behalf(process: client.process, startTime: client.startTime, sandbox: client.sandbox)
                guard let behalf else { return nil }
                agent = try AgentClient(at: address, vault: vault, accessGroups: groups, behalf: behalf)
            } else {
                agent = try AgentClient(at: address, vault: vault, accessGroups: groups ?? ["default", "*"])
            }
        } catch {
            guard error == .agent(.otherVault) else { throw error }
            return nil
        }
        agent?.asking = .never
        return agent
    }
}
