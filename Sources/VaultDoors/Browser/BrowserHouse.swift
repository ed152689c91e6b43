// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultAgent
internal import VaultCrypto
internal import Synchronization

/// What the browser's door has of the process that it is in.
package protocol BrowserHouse: Sendable {
    /// What the browser calls itself, for a person.
    var browser: String { get }

    /// The identifier of the vault, 16 bytes; nil: there is none.
    var vaultID: [UInt8]? { get }

    /// The vault, if it is unlocked.
    func openStore() -> (any ItemStore)?

    /// Asks for the passphrase and unlocks. Waits for a person.
    func unlock() -> PromptOutcome

    func lock()

    /// Asks whether something may be done. Waits for a person.
    func confirm(_ question: PromptQuestion) -> PromptOutcome
}

/// The agent's vault, for a browser that has started this process: rights are those of both.
package final class AgentBrowserHouse: BrowserHouse {
    private let house: any DoorHouse
    private let client: DoorClient
    private let identifier: @Sendable () -> [UInt8]?
    private let stop: PromptStop
    private let held = Mutex<AgentClient?>(nil)

    /// - Parameters:
    ///   - client: the browser.
    ///   - vaultID: looks for the vault's identifier.
    ///   - stop: ends what is being asked.
    package init(
        _ house: any DoorHouse, client: DoorClient, until stop: PromptStop,
        vaultID: @escaping @Sendable () -> [UInt8]?
    ) {
        (self.house, self.client, self.stop, identifier) = (house, client, stop, vaultID)
    }

    package var browser: String { client.program }

    package var vaultID: [UInt8]? { identifier() }

    package func openStore() -> (any ItemStore)? {
        guard let (agent, status) = agent(), status.state == .unlocked else { return nil }
        return agent
    }

    /// The agent, and what it says of itself now. Nil: none runs, or it lets the browser do nothing.
    package func agent() -> (agent: AgentClient, status: AgentStatus)? {
        if let agent = held.withLock({ $0 }), let status = try? agent.status() { return (agent, status) }
        let agent = try? house.agent(for: client)
        held.withLock { $0 = agent }
        guard let agent, let status = try? agent.status() else { return nil }
        return (agent, status)
    }

    package func unlock() -> PromptOutcome {
        guard house.hasVault, house.canAsk else { return .unavailable }
        return house.unlock(for: client, until: stop)
    }

    package func lock() { try? agent()?.agent.lock() }

    package func confirm(_ question: PromptQuestion) -> PromptOutcome {
        house.canAsk ? house.confirm(question, until: stop) : .unavailable
    }
}
