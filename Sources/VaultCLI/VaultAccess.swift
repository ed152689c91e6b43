// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// A command's access to its vault: through the agent, or with a key that the command derives itself.
struct VaultAccess {
    private enum Way {
        case agent(AgentClient)
        /// Through a locked agent, which must be unlocked first; commands that only read first try without.
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

    /// Finds the vault, and a way to open it, before any prompt.
    ///
    /// - Parameters:
    ///   - givesWay: whether a rule for this command may replace these groups.
    ///   - onlyReads: whether to try a locked agent first, and to prompt only for what it does not serve.
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

    /// Whether the vault opens without a question to a person.
    var asksNobody: Bool { client == nil && unlocking.hasSource }

    private var client: AgentClient? {
        switch way {
        case .agent(let client), .lockedAgent(let client): client
        case .ownKey: nil
        }
    }

    /// Returns the agent of the vault; `nil` if there is none.
    static func agent(of vault: FilePath?) throws -> AgentClient? {
        try VaultFinder.agent(of: vault, .ofCommand, doWithout: warn)
    }

    /// Returns the running agent, of whatever version and vault; `nil` if there is none.
    static func control() throws -> AgentControl? {
        do throws(VaultError) { return try AgentControl.open() } catch {
            try warn(of: error)
            return nil
        }
    }

    private static func warn(of error: VaultError) throws(VaultError) {
        switch error {
        case .agent(.refused): Output.warn("the agent's socket belongs to another user's process, which is not used")
        case .agent(.busy): Output.warn("the agent does not answer, and is not used")
        default: throw error
        }
    }

    /// Runs the command on the vault. If the agent turns out to be locked in the meantime, the user is asked, the
    /// agent's request is repeated, and the body continues.
    ///
    /// - Parameters:
    ///   - asksWhenLocked: whether the user may be asked while the body runs.
    ///   - dialog: makes the dialog for asking without a terminal.
    ///   - body: runs once.
    func withVault<R>(
        asksWhenLocked: Bool = true, dialog: (@Sendable () -> PassphraseDialog?)? = nil,
        _ body: (any CommandVault) throws -> R
    ) throws -> R {
        try options.naming(locked) {
            let failure = UnlockFailure()
            switch way {
            case .agent(let client):
                // A way to unlock without a prompt is preferred.
                if unlocking.hasSource, client.greeting.state == .unlocked, try !VaultAccess.hasKeys(client) {
                    return try withOwnKey(body)
                }
                let isAskedByTerminal = client.greeting.state == .unlocked && Terminal() != nil
                if asksWhenLocked, !unlocking.hasSource, isAskedByTerminal || dialog != nil {
                    unlock(client, noting: failure, dialog: isAskedByTerminal ? nil : dialog)
                }
                return try with(client, failure, body)
            case .lockedAgent(let client):
                if asksWhenLocked, onlyReads {
                    unlock(client, noting: failure)
                } else {
                    try VaultAccess.unlock(client, unlocking, locked, noting: typed)
                }
                return try with(client, failure, body)
            case .ownKey: return try withOwnKey(body)
            }
        }
    }

    /// Returns whether the agent still serves the vault: it may have been locked since it was found, or the vault may
    /// have a new key, which the agent notices on access.
    private static func hasKeys(_ client: AgentClient) throws(VaultError) -> Bool {
        do throws(VaultError) { _ = try client.sequence } catch {
            guard error == .locked else { throw error }
            return false
        }
        return try !client.isLocked
    }

    private func with<R>(
        _ client: AgentClient, _ failure: UnlockFailure, _ body: (any CommandVault) throws -> R
    ) throws -> R {
        ask(with: client)
        defer { client.whenLocked = nil }
        do { return try body(client) } catch let error as VaultError where error == failure.value?.said {
            throw failure.value?.reason ?? error
        }
    }

    /// Makes the agent's client ask for the passphrase, once, when the vault is found locked.
    private func unlock(
        _ client: AgentClient, noting failure: UnlockFailure, dialog: (@Sendable () -> PassphraseDialog?)? = nil
    ) {
        let (locked, unlocking, typed) = (locked, unlocking, typed)
        client.whenLocked = { client throws(VaultError) in
            do {
                try VaultAccess.unlock(client, unlocking, locked, dialog: dialog?(), noting: typed)
            } catch {
                let said = error as? VaultError ?? VaultAccess.error(error, else: .locked)
                failure.value = (said, error)
                throw said
            }
        }
    }

    private func withOwnKey<R>(_ body: (any CommandVault) throws -> R) throws -> R {
        try options.withOpened(groups) { vault, secret in
            // The given passphrase also counts as the user's consent for items that require it.
            try body(secret.kind.takesPassphrase ? vault.attended() : vault)
        }
    }

    /// Makes the agent's client ask at this command's terminal, once, when an item requires the user's consent. Without
    /// a terminal, a door asks.
    private func ask(with client: AgentClient) {
        guard unlocking.passphrase.hasSource || Terminal() != nil else { return }
        let (locked, unlocking, typed) = (locked, unlocking, typed)
        client.asking = .byProgram { client throws(VaultError) in
            do {
                try VaultAccess.authenticate(client, unlocking, locked, typed)
            } catch let error as VaultError { throw error } catch {
                throw VaultAccess.error(error, else: .presenceRequired)
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

    /// Converts the command's error for the agent's client.
    private static func error(_ error: any Error, else other: VaultError) -> VaultError {
        switch CommandLineTool.failure(error)?.status {
        case .wrongPassphrase: .storage(.wrongPassphrase)
        case .cancelled, .interrupted: .cancelled
        default: other
        }
    }

    /// Whether the agent was locked when it was found.
    var isLocked: Bool { client?.greeting.state == .locked }

    /// Whether the agent lets this process use secrets, but not print them.
    var isInjectOnly: Bool { client?.greeting.access == .injectOnly }

    /// Asks for the passphrase, one prompt at a time even if several commands wait for it.
    ///
    /// - Parameters:
    ///   - dialog: asks without a terminal.
    ///   - typed: receives the passphrase, so that the command need not ask again.
    static func unlock(
        _ client: AgentClient, _ unlocking: UnlockOptions, _ locked: LockedVault, dialog: PassphraseDialog? = nil,
        noting typed: TypedPassphrase? = nil
    ) throws {
        guard try Progress.during("waiting for another prompt", { _ in try client.awaitTurn() }).state != .unlocked
        else { return }
        // A user is present; the machine's own secret is not used, since the agent was locked on purpose.
        var target = UnlockTarget(locked, isAgentOfUse: true)
        target.dialog = dialog
        try unlocking.opening(target) { secret in
            try Progress.during("unlocking") { _ in try client.unlock(with: secret) }
            if case .passphrase(let passphrase) = secret { typed?.value = passphrase }
        }
    }
}

/// The reason why a prompt during a command did not unlock the agent: the error returned to the body, and the one with
/// which the command ends.
private typealias UnlockFailure = Noted<(said: VaultError, reason: any Error)>

/// The passphrase that the user typed for this command, kept while it runs.
typealias TypedPassphrase = Noted<Passphrase>

/// A value that a prompt notes for the command.
final class Noted<Value: Sendable>: Sendable {
    private let held = Mutex<Value?>(nil)

    var value: Value? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}
