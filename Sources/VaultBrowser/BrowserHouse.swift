// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultAgent
internal import VaultCrypto
internal import Synchronization
package import VaultDoorKit

/// The services that the browser's door uses from its process.
package protocol BrowserHouse: Sendable {
    /// The name of the browser, for display.
    var browser: String { get }

    /// The identifier of the vault, 16 bytes; `nil` if there is no vault.
    var vaultID: [UInt8]? { get }

    /// Whether other places have, or get with the next sync, what the door stores.
    var isReplicated: Bool { get }

    /// Returns the vault if it is unlocked.
    func openStore() -> (any ItemStore)?

    /// Asks the user for the passphrase and unlocks the vault. Blocks until the user answers.
    func unlock() -> PromptOutcome

    func lock()

    /// Asks the user for a confirmation. Blocks until the user answers.
    func confirm(_ question: PromptQuestion) -> PromptOutcome

    /// Asks the user for the passphrase, and has the agent check it. Blocks until the user answers.
    func verify(_ question: PromptQuestion) -> PromptOutcome

    /// Asks the user for one of several lines. Blocks until the user answers.
    ///
    /// - Parameter chosen: receives a number from 0.
    func choose(_ choice: PromptChoice, _ chosen: inout Int?) -> PromptOutcome
}

/// The agent's vault, for the browser that started this process: the rights are the intersection of both.
package final class AgentBrowserHouse: BrowserHouse {
    private let house: any DoorHouse
    private let client: DoorClient
    private let identifier: @Sendable () -> [UInt8]?
    private let replication: @Sendable (AgentClient) -> Bool
    private let stop: PromptStop
    private let held = Mutex<AgentClient?>(nil)

    /// - Parameters:
    ///   - client: the browser.
    ///   - stop: cancels a pending question.
    ///   - vaultID: returns the vault's identifier.
    ///   - isReplicated: asks the agent whether other places get what the door stores.
    package init(
        _ house: any DoorHouse, client: DoorClient, until stop: PromptStop,
        vaultID: @escaping @Sendable () -> [UInt8]?,
        isReplicated: @escaping @Sendable (AgentClient) -> Bool
    ) {
        (self.house, self.client, self.stop) = (house, client, stop)
        (identifier, replication) = (vaultID, isReplicated)
    }

    package var browser: String { client.program }

    package var vaultID: [UInt8]? { identifier() }

    package var isReplicated: Bool {
        guard let (agent, status) = agent(), status.state == .unlocked else { return false }
        return replication(agent)
    }

    package func openStore() -> (any ItemStore)? {
        guard let (agent, status) = agent(), status.state == .unlocked else { return nil }
        return agent
    }

    /// Returns the agent and its current status; `nil` if no agent runs, or the browser has no rights.
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

    package func verify(_ question: PromptQuestion) -> PromptOutcome {
        // The permission that the passphrase gives ends with this connection.
        guard house.canAsk, let agent = try? house.agent(for: client) else { return .unavailable }
        var shown = question
        for _ in 0..<PromptChoice.mostTries {
            do throws(PromptError) {
                let typed = try house.ask(shown, until: stop)
                do throws(VaultError) {
                    guard let passphrase = try? Passphrase(typed) else { throw .storage(.wrongPassphrase) }
                    try agent.authenticate(with: passphrase)
                    return .done
                } catch {
                    guard error == .storage(.wrongPassphrase) else { return .failed }
                    shown.error = "Wrong passphrase, once more."
                }
            } catch { return PromptOutcome(error) }
        }
        return .dismissed
    }

    package func choose(_ choice: PromptChoice, _ chosen: inout Int?) -> PromptOutcome {
        guard house.canAsk else { return .unavailable }
        var outcome = PromptOutcome.dismissed
        chosen = choice.answer { question in
            do throws(PromptError) { return try house.ask(question, until: stop) } catch {
                outcome = PromptOutcome(error)
                return nil
            }
        }
        return chosen == nil ? outcome : .done
    }
}
