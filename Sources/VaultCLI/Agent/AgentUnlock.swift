// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent

struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the vault for all commands.",
        discussion: """
            Starts the agent if it is not running. However many commands wait for the passphrase, one of them asks. Every wrong passphrase makes
            the next attempt wait longer.
            """)

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let locked = try vault.locked()
        let unlocking = vault.unlocking
        try unlocking.checkAvailable(for: locked.slots)
        let client = try AgentLauncher.agent(of: locked.path)
        if unlocking.hasSource || Terminal() == nil {
            try client.unlock(with: unlocking.secret(for: locked))
        } else {
            try VaultAccess.unlock(client, unlocking, locked)
        }
    }
}

struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the vault: the agent wipes its keys.",
        discussion: """
            What is readable after the first unlock stays so until the agent ends. Without an agent nothing is unlocked, and there is nothing to do.
            """)

    func run() throws {
        guard let client = try VaultAccess.agent(of: nil, nil, .reveal) else { return Output.note("no agent is running") }
        try client.lock()
    }
}
