// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault

/// The choice of the server of a vault, an agent or this process, and of the unlocking secret. The command, `SecItem…`
/// and every other door share it.
package struct VaultFinder {
    /// The means of a process to unlock a vault.
    package struct Means: Sendable {
        /// Whether the environment has a secret.
        package var hasSource: Bool
        /// Whether the machine may keep a secret for the vault.
        package var canAskMachine = false
        /// Whether a person can be asked.
        package var canAskPerson = false

        package init(hasSource: Bool, canAskMachine: Bool = false, canAskPerson: Bool = false) {
            (self.hasSource, self.canAskMachine, self.canAskPerson) = (hasSource, canAskMachine, canAskPerson)
        }
    }

    package enum Way: Equatable, Sendable {
        /// The agent serves; if it is locked, only what a locked vault offers.
        case agent
        /// The agent serves after a person has unlocked it.
        case agentOncePersonUnlocks
        /// This process unlocks the vault by its own means.
        case ownKey
        /// Nothing unlocks the vault.
        case nothing
    }

    package let vault: LockedVault
    /// `nil` if no agent has the vault, or it refuses this process.
    package let client: AgentClient?
    private let isNamed: Bool

    /// Looks for the agent of a vault.
    ///
    /// - Parameters:
    ///   - isNamed: whether the unlocking secret was named for this call. Then it is used, without a look for an
    ///     agent.
    ///   - groups: the caller's groups; `nil` uses those of the process, which a policy of the agent may replace.
    ///   - givesWay: whether a policy may replace the given groups as well.
    ///   - doWithout: receives the reason why an agent cannot be used; throws if nothing else will do.
    package init(
        _ vault: LockedVault, isNamed: Bool = false, groups: AccessGroups?, givesWay: Bool = false,
        purpose: AgentClient.Purpose = .reveal, doWithout: (VaultError) throws(VaultError) -> Void
    ) throws(VaultError) {
        (self.vault, self.isNamed) = (vault, isNamed)
        client =
            isNamed
            ? nil
            : try VaultFinder.agent(of: vault.path, groups, givesWay: givesWay, purpose, doWithout: doWithout)
    }

    /// - Parameter vault: `nil` accepts the agent's vault.
    /// - Returns: `nil` if no agent has the vault, or it refuses this process.
    package static func agent(
        of vault: FilePath?, _ groups: AccessGroups?, givesWay: Bool = false, _ purpose: AgentClient.Purpose = .reveal,
        doWithout: (VaultError) throws(VaultError) -> Void
    ) throws(VaultError) -> AgentClient? {
        do throws(VaultError) {
            return try AgentClient(vault: vault, accessGroups: groups, givesWay: givesWay, purpose: purpose)
        } catch {
            guard case .agent(let flaw) = error else { throw error }
            if flaw != .otherVault { try doWithout(error) }
            return nil
        }
    }

    /// - Parameter means: evaluated only if the agent does not serve in its present state.
    package func way<E: Error>(_ means: () throws(E) -> Means) throws(E) -> Way {
        if isNamed { return .ownKey }
        if let client, client.greeting.state == .unlocked { return .agent }
        return VaultFinder.way(beside: client?.greeting.state, try means())
    }

    /// - Parameter agent: the state of the vault's agent; `nil` if there is none.
    package static func way(beside agent: AgentStatus.State?, _ means: Means) -> Way {
        guard let agent else {
            return means.hasSource || means.canAskMachine || means.canAskPerson ? .ownKey : .nothing
        }
        switch agent {
        case .unlocked: return .agent
        case .new, .locked:
            if means.hasSource { return .ownKey }
            // The vault was locked on purpose, so a secret that the machine gives by itself must not unlock it.
            if means.canAskPerson { return .agentOncePersonUnlocks }
            return agent == .locked ? .agent : .nothing
        }
    }
}
