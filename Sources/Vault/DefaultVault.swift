// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization
internal import VaultStorage

extension Vault {
    /// Makes every `SecItem…` call of this process use the vault.
    ///
    /// Without a call to this, the first `SecItem…` call opens the vault at ``defaultPath`` with
    /// `UnlockingSecret.ofProcess()`.
    ///
    /// - Parameters:
    ///   - vault: `nil` reverts to the environment's vault, which the next call opens.
    ///   - accessGroups: the groups of the calls; items are added to the first. `nil` for those with which the vault
    ///     was opened; without a vault `$VAULT_ACCESS_GROUPS`, else the one group ``processGroup``.
    public static func setDefault(_ vault: Vault?, accessGroups: AccessGroups? = nil) {
        DefaultVault.bind(accessGroups.flatMap { vault?.withAccessGroups($0) } ?? vault, accessGroups)
    }

    /// Makes the `SecItem…` calls of this task, and of the tasks that it starts, use the vault, so that concurrent
    /// tests have one each.
    ///
    /// Threads that belong to no task, such as those of Dispatch, continue with the vault of the process.
    public static func withDefault<R>(_ vault: Vault, _ body: () throws -> R) rethrows -> R {
        try DefaultVault.$ofTask.withValue(vault, operation: body)
    }

    /// As the other `withDefault`, for an asynchronous body.
    public nonisolated(nonsending) static func withDefault<R>(
        _ vault: Vault, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        try await DefaultVault.$ofTask.withValue(vault, operation: body)
    }
}

/// The default vault of a process, for callers that were given none: bound in code, or opened when first needed.
package enum DefaultVault {
    private struct State {
        var bound: (any ItemStore)?
        var opened: (any ItemStore)?
        /// A list, since the optimizer (Swift 6.3.1) lays out an optional of ``AccessGroups``, which contains
        /// optionals, as a value that is present.
        var groups: [String]?
        /// A failed key derivation, so that not every caller waits for a derivation of its own.
        var failure: (error: VaultError, uptime: Duration)?
        var closesAtExit = false
    }

    private static let state = Mutex(State())
    /// The vault of a task and of the tasks that it starts; takes precedence over that of the process.
    @TaskLocal fileprivate static var ofTask: Vault?
    private static let failureLifetime = Duration.seconds(2)

    static func bind(_ vault: Vault?, _ groups: AccessGroups?) {
        // The old vault is released after the lock, since closing it may take a while.
        let list = vault == nil ? groups?.list : nil
        withExtendedLifetime(
            state.withLock { state in
                defer { state = State(bound: vault, groups: list, closesAtExit: closeAtExit(state)) }
                return (state.bound, state.opened)
            }
        ) {}
    }

    private static func closeAtExit(_ state: State) -> Bool {
        if !state.closesAtExit { atexit { DefaultVault.close() } }
        return true
    }

    /// The access groups of the calls.
    package static var accessGroups: AccessGroups {
        if let vault = ofTask { return vault.accessGroups }
        let list = state.withLock { ($0.bound as? Vault)?.accessGroups.list ?? $0.groups }
        return list.map { AccessGroups($0) } ?? .ofProcess
    }

    /// The vault that the program has bound, for this task or for the process.
    package static var bound: Vault? { ofTask ?? state.withLock { $0.bound as? Vault } }

    /// - Parameter open: finds an agent or derives the key, while other calling threads wait for the same vault. Gets
    ///   the access groups of the calls.
    package static func get(
        opening open: (AccessGroups) throws(VaultError) -> any ItemStore
    ) throws(VaultError) -> any ItemStore {
        if let vault = ofTask { return vault }
        let result: Result<any ItemStore, VaultError> = state.withLock { state in
            if let vault = state.bound ?? state.opened { return .success(vault) }
            let uptime = SystemClock().uptime
            if let failure = state.failure, uptime - failure.uptime < failureLifetime { return .failure(failure.error) }
            do throws(VaultError) {
                let vault = try open(state.groups.map { AccessGroups($0) } ?? .ofProcess)
                state.opened = vault
                state.failure = nil
                state.closesAtExit = closeAtExit(state)
                return .success(vault)
            } catch {
                let wasDerived = error == .storage(.wrongPassphrase) || error == .storage(.resourceUnavailable)
                state.failure = wasDerived ? (error, SystemClock().uptime) : nil
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Lets the next call open the vault again. Returns `false` for a bound vault, which only the program that opened
    /// it can open again.
    package static func forget(_ vault: any ItemStore) -> Bool {
        guard ofTask == nil else { return false }
        let (old, isBound) = state.withLock { state in
            let old = state.opened === vault ? state.opened : nil
            if old != nil { state.opened = nil }
            return (old, state.bound != nil)
        }
        withExtendedLifetime(old) {}
        return !isBound
    }

    /// Brings the file into order as the last act of a process, unless a thread is in the middle of a call.
    private static func close() { (state.withLockIfAvailable { $0.bound ?? $0.opened } as? Vault)?.closeAtOnce() }
}
