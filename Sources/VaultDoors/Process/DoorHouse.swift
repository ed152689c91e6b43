// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultAgent
package import VaultCrypto

/// A process that comes to a door, as the bus and the kernel know it.
package struct DoorClient: Hashable, Sendable {
    package let process: Int32
    /// In clock ticks since the machine started: another process may get the same number, but not at the same time.
    package let startTime: UInt64
    /// What it runs, for a person; empty: that cannot be told.
    package let program: String
    /// The application that its sandbox was made for; empty: one of which that cannot be told; nil: it is in none.
    package let sandbox: String?
}

extension DoorClient {
    /// Nil: it has ended.
    package init?(_ process: Int32) {
        guard let startTime = ProcessTable.startTime(of: process) else { return nil }
        let (program, sandbox) = (DoorClient.program(of: process), ProcessTable.flatpak(of: process))
        // What was read may be of a later process with that number.
        guard ProcessTable.startTime(of: process) == startTime else { return nil }
        let isNamed = sandbox.map(ProcessTable.isApplication) ?? true
        self.init(process: process, startTime: startTime, program: program, sandbox: isNamed ? sandbox : "")
    }

    /// The last part of its path, or, where that may not be seen, the name that it has given itself.
    static func program(of process: Int32) -> String {
        let path = ProcessTable.executable(of: process)?.split(separator: "/").last
        return path.map(String.init) ?? ProcessTable.name(of: process) ?? ""
    }
}

/// How a question to a person ended.
package enum PromptOutcome: Equatable, Sendable {
    /// The vault is unlocked, or made.
    case done
    case dismissed
    /// Nobody can be asked.
    case unavailable
    case failed
}

/// What a door has of the program that it is a part of: the vault's place, its agent, and how people are asked.
package protocol DoorHouse: Sendable {
    /// The agent, as one client or on behalf of one. Nil: none runs.
    func agent(for client: DoorClient?) throws(VaultError) -> AgentClient?

    /// Whether there is a vault, locked or not.
    var hasVault: Bool { get }

    /// Whether a person can be asked.
    var canAsk: Bool { get }

    /// Asks for the passphrase and unlocks the agent, which is started if there is none. Waits for its turn, and for a
    /// person.
    func unlock(for client: DoorClient, until stop: PromptStop) -> PromptOutcome

    /// Asks for a new passphrase and makes the vault.
    func makeVault(for client: DoorClient, until stop: PromptStop) -> PromptOutcome

    /// Asks whether something may be done, and waits for a person.
    ///
    /// - Returns: `.done`: it may; `.dismissed`: it may not.
    func confirm(_ question: PromptQuestion, until stop: PromptStop) -> PromptOutcome

    /// Asks for the passphrase, of which nothing is made here, and waits for a person.
    func ask(_ question: PromptQuestion, until stop: PromptStop) throws(PromptError) -> SecretBytes
}
