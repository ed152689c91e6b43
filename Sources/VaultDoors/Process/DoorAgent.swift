// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
package import VaultAgent

extension AgentClient {
    /// The agent of a vault, for a door.
    ///
    /// What a person has to allow each time is not served by doors: no protocol of theirs could say that it waits.
    ///
    /// - Parameters:
    ///   - client: whom the door speaks for; nil: itself.
    ///   - groups: as ``DoorHouse/agent(for:in:)`` has them.
    /// - Returns: nil when no agent has the vault, or the client is no process.
    /// - Throws: `.agent(.refused)` for a client in a sandbox that does not say whose it is, and as
    ///   ``init(at:vault:accessGroups:purpose:behalf:)``.
    package static func forDoor(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath, _ client: DoorClient?, in groups: AccessGroups?
    ) throws(VaultError) -> AgentClient? {
        let agent: AgentClient?
        do throws(VaultError) {
            if let client {
                // An agent may have no rules to ask who that is by.
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
