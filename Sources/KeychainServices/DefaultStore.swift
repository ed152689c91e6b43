// SPDX-License-Identifier: Apache-2.0
internal import Logging
@_implementationOnly import Vault
@_implementationOnly import VaultAgent
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// The store that the calls use, and the status that they end with.
enum DefaultStore {
    private static let log = Logger(label: "KeychainServices")

    /// Runs a call and turns what it throws into Apple's status.
    ///
    /// - Parameters:
    ///   - hasFlaw: whether the request is one that no vault is asked.
    ///   - people: whether a person has allowed the call already.
    ///   - check: what is wrong with the request itself is a better answer than that there is no vault.
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
                // It was changed while it was read.
                case .itemChanged: try call(vault)
                // What a person has allowed has ended with the agent's connection.
                case .presenceRequired where people?.store != nil: try call(try get())
                // The file was replaced, or this is a forked child: nothing was done, and a new handle may do it.
                case _ where error.asksForReopening && DefaultVault.forget(vault): try call(try get())
                // The agent was locked since; perhaps this process can do without it.
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

    /// Opens the secret of an item that was found, whether or not a person has to allow it.
    ///
    /// - Throws: `.presenceRequired` when nobody can be asked, or may be; `.cancelled`, `.agent(.unanswered)` and
    ///   `.storage(.wrongPassphrase)` when they were; and as ``ItemRecord/secret(field:)``.
    static func secret(of record: ItemRecord, for people: Request.People) throws(VaultError) -> Secret? {
        let store = try get(for: people)
        do throws(VaultError) { return try store.secret(of: record, field: nil, presence: people.presence) } catch {
            // What a person has allowed has ended with the agent's connection: they are asked anew, or nobody is.
            guard error == .presenceRequired, people.store != nil else { throw error }
            return try get().secret(of: record, field: nil, presence: people.presence)
        }
    }

    /// The agent of the vault that the calls open. Nil: none runs, or the program has bound a vault of its own.
    static func agent() throws(VaultError) -> AgentClient? {
        guard DefaultVault.bound == nil, let path = Vault.defaultPath else { return nil }
        let groups = DefaultVault.accessGroups
        return try VaultFinder.agent(
            of: LockedVault(at: path).path, groups == .ofProcess ? nil : groups, doWithout: { _ in })
    }

    /// Whether the vault that the calls open has a slot for a passphrase.
    static func hasPassphrase() throws(VaultError) -> Bool {
        if let vault = DefaultVault.bound { return try vault.slots().contains { $0.kind == .passphrase } }
        guard let path = Vault.defaultPath else { return false }
        return try LockedVault(at: path).slots.contains { $0.kind == .passphrase }
    }

    private static func get(for people: Request.People?) throws(VaultError) -> any ItemStore {
        // A vault that the program has bound since is another one than that which a person has allowed to be read.
        if let allowed = people?.store, DefaultVault.bound == nil { return allowed }
        return try get()
    }

    /// The vault that was bound, else who serves the one of the environment.
    private static func get() throws(VaultError) -> any ItemStore {
        // Said when the lock has been given back: a log may itself look for a secret.
        var unreadable: VaultError?
        defer { if let unreadable { log.error("what should unlock the vault cannot be read: \(unreadable)") } }
        return try DefaultVault.get { groups throws(VaultError) in
            guard let path = Vault.defaultPath else { throw .storage(.noVault) }
            // A program's own group is not named: a policy of the agent's may have another one for it.
            let finder = try VaultFinder(
                LockedVault(at: path), groups: groups == .ofProcess ? nil : groups, doWithout: { _ in })
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
            throw .locked
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

    var status: OSStatus {
        switch self {
        case .parameter: errSecParam
        case .noSuchAttribute: errSecNoSuchAttr
        case .noSuchClass: errSecNoSuchClass
        case .duplicateItem: errSecDuplicateItem
        case .itemNotFound: errSecItemNotFound
        case .accessGroupDenied: errSecMissingEntitlement
        case .locked: errSecInteractionNotAllowed
        case .unimplemented: errSecUnimplemented
        case .presenceRequired: errSecInteractionNotAllowed
        case .versionMismatch, .itemChanged, .notADeviceIdentifier, .insideTransaction: errSecInternal
        case .valueMismatch, .migrationFailed: errSecDecode
        case .cancelled: errSecUserCanceled
        case .closed: errSecNotAvailable
        case .storage(let error): error.status
        case .agent(.refused): errSecMissingEntitlement
        // A dialog that goes by itself is one that was dismissed.
        case .agent(.unanswered): errSecUserCanceled
        case .agent: errSecNotAvailable
        }
    }
}

extension StorageError {
    fileprivate var status: OSStatus {
        switch self {
        case .wrongPassphrase, .unacceptablePassphrase, .unacceptableKeyFile: errSecAuthFailed
        case .valueTooLarge, .attributesTooLarge: errSecDataTooLarge
        case .resourceUnavailable: errSecAllocate
        case .locked: errSecInteractionNotAllowed
        case .inputOutput(.readOnlyFileSystem, _), .inputOutput(.permissionDenied, .write): errSecReadOnly
        case .inputOutput(.ioError, _), .indeterminate: errSecIO
        default: errSecNotAvailable
        }
    }
}
