// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization
internal import VaultStorage

extension Vault {
    /// Makes every `SecItem…` call of this process use the vault.
    ///
    /// Without a call to this, the first `SecItem…` call opens the vault at ``defaultPath`` with ``UnlockingSecret/ofProcess()``.
    ///
    /// - Parameters:
    ///   - vault: nil goes back to what the environment says, and the next call opens it.
    ///   - accessGroups: those of the calls; the first is where they add. Nil: those that the vault was opened with, or `$VAULT_ACCESS_GROUPS`.
    public static func setDefault(_ vault: Vault?, accessGroups: AccessGroups? = nil) {
        DefaultVault.bind(accessGroups.flatMap { vault?.withAccessGroups($0) } ?? vault, accessGroups)
    }
}

/// The vault of a process for those who were handed none: bound in code, or opened when it is first needed.
package enum DefaultVault {
    private struct State {
        var bound: (any ItemStore)?
        var opened: (any ItemStore)?
        var groups: AccessGroups?
        /// A key derivation that came to nothing, so that not every caller waits for one of their own.
        var failure: (error: VaultError, uptime: Duration)?
        var closesAtExit = false
    }

    private static let state = Mutex(State())
    private static let failureLifetime = Duration.seconds(2)

    static func bind(_ vault: Vault?, _ groups: AccessGroups?) {
        // The old one goes when the lock has been given back: closing it may take a while.
        withExtendedLifetime(
            state.withLock { state in
                defer { state = State(bound: vault, groups: vault == nil ? groups : nil, closesAtExit: closeAtExit(state)) }
                return (state.bound, state.opened)
            }
        ) {}
    }

    private static func closeAtExit(_ state: State) -> Bool {
        if !state.closesAtExit { atexit { DefaultVault.close() } }
        return true
    }

    /// The access groups of the calls when no vault was bound.
    package static var accessGroups: AccessGroups { state.withLock { $0.groups } ?? .ofProcess }

    /// - Parameter open: finds an agent or derives the key, while whoever comes meanwhile waits for the same vault. It is given the access
    ///   groups that somebody named.
    package static func get(
        opening open: (AccessGroups?) throws(VaultError) -> any ItemStore
    ) throws(VaultError) -> any ItemStore {
        let result: Result<any ItemStore, VaultError> = state.withLock { state in
            if let vault = state.bound ?? state.opened { return .success(vault) }
            let uptime = SystemClock().uptime
            if let failure = state.failure, uptime - failure.uptime < failureLifetime { return .failure(failure.error) }
            do throws(VaultError) {
                let vault = try open(state.groups ?? .ofEnvironment)
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

    /// Lets the next call open the vault again. Returns false for one that was bound: only who opened it can open it again.
    package static func forget(_ vault: any ItemStore) -> Bool {
        let (old, isBound) = state.withLock { state in
            let old = state.opened === vault ? state.opened : nil
            if old != nil { state.opened = nil }
            return (old, state.bound != nil)
        }
        withExtendedLifetime(old) {}
        return !isBound
    }

    /// Brings the file in order as the last act of a process, unless somebody is in the middle of something.
    private static func close() {
        (state.withLockIfAvailable { $0.bound ?? $0.opened } as? Vault)?.closeAtOnce()
    }
}
