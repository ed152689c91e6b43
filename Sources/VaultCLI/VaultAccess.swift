// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultAgent

/// How a command gets at its vault: through the agent, or with a key that it derives itself.
struct VaultAccess {
    private enum Way {
        case agent(AgentClient)
        /// Through the agent, which has to be unlocked first. Commands that only read find out whether it has to be.
        case lockedAgent(AgentClient)
        case ownKey
    }

    private let options: VaultOptions
    private let locked: LockedVault
    private let unlocking: UnlockOptions
    private let groups: AccessGroups
    private let onlyReads: Bool
    private let way: Way

    /// Finds the vault, and a way to open it, before a person is asked for anything.
    ///
    /// - Parameter onlyReads: the command's first act in the vault is a query, and nothing is lost when it comes a
    ///   second time.
    init(_ options: VaultOptions, groups: AccessGroups, purpose: AgentClient.Purpose, onlyReads: Bool) throws {
        locked = try options.locked()
        self.options = options
        unlocking = options.unlocking
        self.groups = groups
        self.onlyReads = onlyReads
        let target = UnlockTarget(locked, isAgentOfUse: true)
        let finder = try VaultFinder(
            locked, isNamed: unlocking.isNamed, groups: groups, purpose: purpose, doWithout: VaultAccess.warn)
        let chosen = finder.way {
            VaultFinder.Means(
                hasSource: options.unlocking.hasSource, canAskMachine: target.canAskMachine,
                canAskPerson: Terminal() != nil)
        }
        switch (chosen, finder.client) {
        case (.agent, let client?): way = .agent(client)
        case (.agentOncePersonUnlocks, let client?): way = .lockedAgent(client)
        case (.nothing, nil): throw target.noSource
        case (.nothing, _):
            throw CommandError(.locked, "the vault is locked", hint: "'vault unlock', or --passphrase-file FILE")
        case (.ownKey, _), (_, nil): way = .ownKey
        }
    }

    /// Nil: no agent has this vault.
    static func agent(of vault: FilePath?) throws -> AgentClient? {
        try VaultFinder.agent(of: vault, .ofCommand, doWithout: warn)
    }

    private static func warn(of error: VaultError) throws(VaultError) {
        switch error {
        case .agent(.refused): Output.warn("whoever listens at the agent's socket is another user, and is not asked")
        case .agent(.busy): Output.warn("the agent does not answer, and is not asked")
        default: throw error
        }
    }

    /// Runs the command on the vault.
    func withVault<R>(_ body: (any OpenVault) throws -> R) throws -> R {
        try options.naming(locked) {
            switch way {
            case .agent(let client):
                do { return try body(client) } catch VaultError.locked where client.greeting.state == .unlocked {
                    // It was locked since, or the vault has got a new key: nothing was done yet.
                    if unlocking.hasSource { return try withOwnKey(body) }
                    guard Terminal() != nil else { throw VaultError.locked }
                    try VaultAccess.unlock(client, unlocking, locked)
                    return try body(client)
                }
            case .lockedAgent(let client):
                if onlyReads {
                    do { return try body(client) } catch VaultError.locked {
                        // Now a person has to be asked.
                    }
                }
                try VaultAccess.unlock(client, unlocking, locked)
                return try body(client)
            case .ownKey: return try withOwnKey(body)
            }
        }
    }

    private func withOwnKey<R>(_ body: (any OpenVault) throws -> R) throws -> R {
        try options.withOpened(groups) { vault, _ in try body(vault) }
    }

    /// Whether the agent was locked when it was found.
    var isLocked: Bool {
        switch way {
        case .agent(let client), .lockedAgent(let client): client.greeting.state == .locked
        case .ownKey: false
        }
    }

    /// Whether the agent lets this process use secrets, and not see them.
    var isInjectOnly: Bool {
        switch way {
        case .agent(let client), .lockedAgent(let client): client.greeting.access == .injectOnly
        case .ownKey: false
        }
    }

    /// Asks for the passphrase, one at a time however many commands wait for it.
    ///
    /// - Parameter dialog: who asks where there is no terminal.
    static func unlock(
        _ client: AgentClient, _ unlocking: UnlockOptions, _ locked: LockedVault, dialog: PassphraseDialog? = nil
    ) throws {
        guard try Progress.during("waiting for another prompt", { _ in try client.awaitTurn() }).state != .unlocked
        else { return }
        // A person is there: what the machine would say by itself was locked on purpose.
        var target = UnlockTarget(locked, isAgentOfUse: true)
        target.dialog = dialog
        try unlocking.opening(target) { secret in
            try Progress.during("unlocking") { _ in try client.unlock(with: secret) }
        }
    }
}
