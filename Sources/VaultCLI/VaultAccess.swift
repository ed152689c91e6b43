// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

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
    private let typed = TypedPassphrase()

    /// Finds the vault, and a way to open it, before a person is asked for anything.
    ///
    /// - Parameters:
    ///   - givesWay: whether a rule for this command may have other groups than these.
    ///   - onlyReads: the command's first act in the vault is a query, and nothing is lost when it comes a second time.
    init(
        _ options: VaultOptions, groups: AccessGroups, givesWay: Bool = false, purpose: AgentClient.Purpose,
        onlyReads: Bool
    ) throws {
        locked = try options.locked()
        self.options = options
        unlocking = options.unlocking
        self.groups = groups
        self.onlyReads = onlyReads
        let target = UnlockTarget(locked, isAgentOfUse: true)
        let finder = try VaultFinder(
            locked, isNamed: unlocking.isNamed, groups: groups, givesWay: givesWay, purpose: purpose,
            doWithout: VaultAccess.warn)
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
            if case .agent(let client) = way { ask(with: client) }
            if case .lockedAgent(let client) = way { ask(with: client) }
            switch way {
            case .agent(let client):
                do { return try body(client) } catch VaultError.locked where client.greeting.state == .unlocked {
                    // It was locked since, or the vault has got a new key: nothing was done yet.
                    if unlocking.hasSource { return try withOwnKey(body) }
                    guard Terminal() != nil else { throw VaultError.locked }
                    try VaultAccess.unlock(client, unlocking, locked, noting: typed)
                    return try body(client)
                }
            case .lockedAgent(let client):
                if onlyReads {
                    do { return try body(client) } catch VaultError.locked {
                        // Now a person has to be asked.
                    }
                }
                try VaultAccess.unlock(client, unlocking, locked, noting: typed)
                return try body(client)
            case .ownKey: return try withOwnKey(body)
            }
        }
    }

    private func withOwnKey<R>(_ body: (any OpenVault) throws -> R) throws -> R {
        try options.withOpened(groups) { vault, secret in
            // The passphrase that the command was given is what an item that demands a person wants.
            try body(secret.kind.takesPassphrase ? vault.attended() : vault)
        }
    }

    /// Has the agent's client ask at this command's terminal, once, when an item demands a person. Where there is none,
    /// a door is to ask.
    private func ask(with client: AgentClient) {
        guard unlocking.passphrase.hasSource || Terminal() != nil else { return }
        let (locked, unlocking, typed) = (locked, unlocking, typed)
        client.asking = .byProgram { client throws(VaultError) in
            do {
                try VaultAccess.authenticate(client, unlocking, locked, typed)
            } catch let error as VaultError { throw error } catch {
                throw VaultAccess.error(error)
            }
        }
    }

    private static func authenticate(
        _ client: AgentClient, _ unlocking: UnlockOptions, _ locked: LockedVault, _ typed: TypedPassphrase
    ) throws {
        let target = UnlockTarget(locked, isAgentOfUse: true)
        let given = try typed.value ?? unlocking.passphrase.given()
        for tries in 1...3 {
            do { return try client.authenticate(with: given ?? target.ask()) } catch VaultError.storage(
                .wrongPassphrase)
                where given == nil && tries < 3
            { target.noteWrong() }
        }
    }

    /// What the command's own error is for the client that had it ask.
    private static func error(_ error: any Error) -> VaultError {
        switch CommandLineTool.failure(error)?.status {
        case .wrongPassphrase: .storage(.wrongPassphrase)
        case .cancelled, .interrupted: .cancelled
        default: .presenceRequired
        }
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
    /// - Parameters:
    ///   - dialog: who asks where there is no terminal.
    ///   - typed: gets the passphrase, so that the command need not ask for it once more.
    static func unlock(
        _ client: AgentClient, _ unlocking: UnlockOptions, _ locked: LockedVault, dialog: PassphraseDialog? = nil,
        noting typed: TypedPassphrase? = nil
    ) throws {
        guard try Progress.during("waiting for another prompt", { _ in try client.awaitTurn() }).state != .unlocked
        else { return }
        // A person is there: what the machine would say by itself was locked on purpose.
        var target = UnlockTarget(locked, isAgentOfUse: true)
        target.dialog = dialog
        try unlocking.opening(target) { secret in
            try Progress.during("unlocking") { _ in try client.unlock(with: secret) }
            if case .passphrase(let passphrase) = secret { typed?.value = passphrase }
        }
    }
}

/// The passphrase that a person has typed for this command, for as long as it runs.
final class TypedPassphrase: Sendable {
    private let held = Mutex<Passphrase?>(nil)

    var value: Passphrase? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}
