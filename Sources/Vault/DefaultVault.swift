// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

extension Vault {
    /// Makes every `SecItem…` call of this process use the vault.
    ///
    /// Without a call to this, the first `SecItem…` call opens the vault at ``defaultPath`` with ``UnlockingSecret/ofProcess()``.
    ///
    /// - Parameters:
    ///   - vault: nil goes back to what the environment says, and to the next call that opens it.
    ///   - accessGroups: those of the calls; the first is where they add. Nil: those that the vault was opened with.
    public static func setDefault(_ vault: Vault?, accessGroups: AccessGroups? = nil) {
        DefaultVault.bind(accessGroups.flatMap { vault?.withAccessGroups($0) } ?? vault)
    }
}

/// The vault of a process for those who were handed none: bound in code, or opened when it is first needed.
package enum DefaultVault {
    private struct State {
        var bound: Vault?
        var opened: Vault?
        var closesAtExit = false
    }

    private static let state = Mutex(State())

    static func bind(_ vault: Vault?) {
        state.withLock { state in
            state.bound = vault
            state.opened = nil
        }
    }

    /// - Parameter open: derives the key, while whoever comes meanwhile waits for the same vault.
    package static func get(opening open: () throws(VaultError) -> Vault) throws(VaultError) -> Vault {
        let result: Result<Vault, VaultError> = state.withLock { state in
            if let vault = state.bound ?? state.opened { return .success(vault) }
            do throws(VaultError) {
                let vault = try open()
                state.opened = vault
                if !state.closesAtExit {
                    state.closesAtExit = true
                    atexit { DefaultVault.close() }
                }
                return .success(vault)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Lets the next call open the vault again. Returns false for one that was bound: only who opened it can open it again.
    package static func forget(_ vault: Vault) -> Bool {
        state.withLock { state in
            if state.opened === vault { state.opened = nil }
            return state.bound == nil
        }
    }

    /// Brings the file in order as the last act of a process, unless another thread is in the middle of something.
    private static func close() {
        _ = state.withLockIfAvailable { $0.opened?.close() }
    }
}
