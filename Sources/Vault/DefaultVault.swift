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
    ///   - vault: nil goes back to what the environment says, and the next call opens it.
    ///   - accessGroups: those of the calls; the first is where they add. Nil: those that the vault was opened with;
    ///     without a vault `$VAULT_ACCESS_GROUPS`, else the one group ``processGroup``.
    public static func setDefault(_ vault: Vault?, accessGroups: AccessGroups? = nil) {
        DefaultVault.bind(accessGroups.flatMap { vault?.withAccessGroups($0) } ?? vault, accessGroups)
    }

    /// Makes the `SecItem…` calls of this task, and of the tasks that it starts, use the vault: tests that run at once
    /// have one each.
    ///
    /// Threads that are no task's, as those of Dispatch, go on with the vault of the process.
    public static func withDefault<R>(_ vault: Vault, _ body: () throws -> R) rethrows -> R {
        try DefaultVault.$ofTask.withValue(vault, operation: body)
    }

    /// As the other `withDefault`, for a body that waits.
    public nonisolated(nonsending) static func withDefault<R>(
        _ vault: Vault, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
        try await DefaultVault.$ofTask.withValue(vault, operation: body)
    }
}

/// The vault of a process for those who were handed none: bound in code, or opened when it is first needed.
package enum DefaultVault {
    private struct State {
        var bound: (any ItemStore)?
        var opened: (any ItemStore)?
        /// As a list: the optimizer (Swift 6.3.1) lays an optional of ``AccessGroups``, which has optionals in it, out
        /// as a value that is there.
        var groups: [String]?
        /// A key derivation that came to nothing, so that not every caller waits for one of their own.
        var failure: (error: VaultError, uptime: Duration)?
        var closesAtExit = false
    }

    private static let state = Mutex(State())
    /// The vault of a task and of those that it starts, before that of the process.
    @TaskLocal fileprivate static var ofTask: Vault?
    private static let failureLifetime = Duration.seconds(2)

    static func bind(_ vault: Vault?, _ groups: AccessGroups?) {
        // The old one goes when the lock has been given back: closing it may take a while.
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

    /// The vault that the program has bound, in this task or at all.
    package static var bound: Vault? { ofTask ?? state.withLock { $0.bound as? Vault } }

    /// - Parameter open: finds an agent or derives the key, while other threads that come wait for the same vault. It
    ///   is given the access groups of the calls.
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

    /// Lets the next call open the vault again. Returns false for one that was bound: only who opened it can open it
    /// again.
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

    /// Brings the file in order as the last act of a process, unless a thread is in the middle of something.
    private static func close() {
        (state.withLockIfAvailable { $0.bound ?? $0.opened } as? Vault)?.closeAtOnce()
    }
}
