// SPDX-License-Identifier: Apache-2.0
internal import Logging
@_implementationOnly import Vault
@_implementationOnly import VaultAgent
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// The store that the calls use, and the status that they return.
enum DefaultStore {
    private static let log = Logger(label: "KeychainServices")

    /// Runs a call and converts its error into Apple's status.
    ///
    /// - Parameters:
    ///   - hasFlaw: whether the request is invalid, so that no vault is opened for it.
    ///   - people: the user's consent, if given already.
    ///   - check: reports a flaw of the request, which takes precedence over a missing vault.
    static func perform(
        adding: Bool = false, hasFlaw: Bool, for people: Request.People? = nil,
        check: (AccessGroups) throws(VaultError) -> Void,
        _ call: (any ItemStore) throws(VaultError) -> Void
    ) -> OSStatus {
        if hasFlaw {
            do throws(VaultError) { try check(DefaultVault.accessGroups) } catch { return error.status }
        }
        let vault: any ItemStore
        do throws(VaultError) { vault = try get(for: people) } catch {
            let unavailable = error
            do throws(VaultError) { try check(DefaultVault.accessGroups) } catch { return error.status }
            return status(of: unavailable, adding: adding)
        }
        do throws(VaultError) {
            do throws(VaultError) { try call(vault) } catch {
                switch error {
                // The item was changed while it was read.
                case .itemChanged: try call(vault)
                // The consent has ended with the agent's connection.
                case .presenceRequired where people?.store != nil: try call(try get())
                // The file was replaced, or this is a forked child: nothing was done, and a new handle may succeed.
                case _ where error.asksForReopening && DefaultVault.forget(vault): try call(try get())
                // The agent was locked since; this process may be able to open the vault itself.
                case .locked where DefaultVault.forget(vault): try call(try get())
                default: throw error
                }
            }
            return errSecSuccess
        } catch {
            if error == .storage(.noVault) { return status(of: error, adding: adding) }
            if case .storage = error { log.error("\(error)") }
            return error.status
        }
    }

    /// Opens the secret of an item that was found, with the user's consent if it is required.
    ///
    /// - Throws: `.presenceRequired` if no prompt is possible or permitted; `.cancelled`, `.agent(.unanswered)` and
    ///   `.storage(.wrongPassphrase)` after a prompt; and the errors of ``ItemRecord/secret(field:)``.
    static func secret(of record: ItemRecord, for people: Request.People) throws(VaultError) -> Secret? {
        let store = try get(for: people)
        do throws(VaultError) { return try store.secret(of: record, field: nil, presence: people.presence) } catch {
            // The consent has ended with the agent's connection: ask again, if that is permitted.
            guard error == .presenceRequired, people.store != nil else { throw error }
            return try get().secret(of: record, field: nil, presence: people.presence)
        }
    }

    /// Returns the agent of the default vault; `nil` if none runs, or the program has bound a vault of its own.
    static func agent() throws(VaultError) -> AgentClient? {
        guard DefaultVault.bound == nil, let path = Vault.defaultPath else { return nil }
        let groups = DefaultVault.accessGroups
        return try VaultFinder.agent(
            of: LockedVault(at: path).path, groups == .ofProcess ? nil : groups, doWithout: { _ in })
    }

    /// Returns whether the default vault has a passphrase slot.
    static func hasPassphrase() throws(VaultError) -> Bool {
        if let vault = DefaultVault.bound { return try vault.slots().contains { $0.kind == .passphrase } }
        guard let path = Vault.defaultPath else { return false }
        return try LockedVault(at: path).slots.contains { $0.kind == .passphrase }
    }

    private static func get(for people: Request.People?) throws(VaultError) -> any ItemStore {
        // The consent does not apply to a vault that the program has bound since.
        if let allowed = people?.store, DefaultVault.bound == nil { return allowed }
        return try get()
    }

    /// Returns the bound vault, else the process that serves the vault of the environment, or the vault itself.
    private static func get() throws(VaultError) -> any ItemStore {
        // Logged after the lock is released: a log handler may itself look up a secret.
        var (unreadable, unusable): (VaultError?, VaultError?)
        defer { if let unreadable { log.error("what should unlock the vault cannot be read: \(unreadable)") } }
        return try DefaultVault.get { groups throws(VaultError) in
            guard let path = Vault.defaultPath else { throw .storage(.noVault) }
            // The program's own group is not named: a policy of the agent may assign another one.
            let finder = try VaultFinder(
                LockedVault(at: path), groups: groups == .ofProcess ? nil : groups, doWithout: { unusable = $0 })
            var secret: UnlockingSecret?
            let way = try finder.way { () throws(VaultError) in
                do throws(VaultError) {
                    secret = finder.client == nil ? try .ofProcess(for: finder.vault) : try .ofProcess()
                } catch {
                    unreadable = error
                    throw .locked
                }
                return VaultFinder.Means(hasSource: secret != nil)
            }
            switch way {
            case .ownKey: if let secret { return try finder.vault.unlock(with: secret, accessGroups: groups) }
            case .agent: if let client = finder.client { return client }
            case .agentOncePersonUnlocks, .nothing: break
            }
            // Behind an agent of another version the vault may well be open.
            throw unusable ?? .locked
        }
    }

    private static func status(of error: VaultError, adding: Bool) -> OSStatus {
        guard error == .storage(.noVault) else {
            if error != .locked { log.error("the vault cannot be opened: \(error)") }
            return error.status
        }
        guard adding else { return errSecItemNotFound }
        log.error("there is no vault at \(Vault.defaultPath?.string ?? "$VAULT_FILE"): make one with 'vault init'")
        return errSecNotAvailable
    }
}

extension VaultError {
    fileprivate var asksForReopening: Bool {
        switch self {
        case .storage(.poisoned), .storage(.forked), .storage(.rekeyed), .storage(.rolledBack), .storage(.noVault),
            .agent(.notRunning):
            true
        default: false
        }
    }
}
