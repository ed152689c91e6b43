// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Logging
internal import Synchronization
public import Vault

extension Vault {
    /// Makes every `SecItem…` call of this process use the vault.
    ///
    /// Without a call to this, the first `SecItem…` call opens the default vault with what the environment gives: see ``UnlockingSecret``.
    ///
    /// - Parameters:
    ///   - vault: nil goes back to the default vault.
    ///   - accessGroups: those of the calls; the first is where they add. Nil: those that the vault was opened with.
    public static func setDefault(_ vault: Vault?, accessGroups: AccessGroups? = nil) {
        DefaultStore.bind(accessGroups.flatMap { vault?.withAccessGroups($0) } ?? vault)
    }
}

/// The store that the calls use: bound in code, or opened at the first call.
enum DefaultStore {
    private struct State {
        var bound: Vault?
        var opened: Vault?
        var closesAtExit = false
    }

    private static let state = Mutex(State())
    private static let log = Logger(label: "KeychainServices")

    static func bind(_ vault: Vault?) {
        state.withLock { state in
            state.bound = vault
            state.opened = nil
        }
    }

    /// Runs a call and turns what it throws into Apple's status.
    static func perform(_ request: Request, _ call: (any ItemStore) throws(VaultError) -> Void) -> OSStatus {
        let store: Vault
        switch current() {
        case .success(let vault): store = vault
        // What is wrong with the request itself is the better answer.
        case .failure(let error): return request.flaw?.status ?? status(of: error, adding: request.isAdding)
        }
        do throws(VaultError) {
            do throws(VaultError) { try call(store) } catch {
                // The file was replaced, or this is a forked child: nothing was done, and a new handle may do it.
                guard error.asksForReopening, forget(store), case .success(let fresh) = current() else { throw error }
                try call(fresh)
            }
            return errSecSuccess
        } catch {
            if error == .storage(.noVault) { return status(of: error, adding: request.isAdding) }
            if case .storage = error { log.error("\(error)") }
            return error.status
        }
    }

    private static func current() -> Result<Vault, VaultError> {
        state.withLock { state in
            if let vault = state.bound ?? state.opened { return .success(vault) }
            do throws(VaultError) {
                let vault = try open()
                state.opened = vault
                if !state.closesAtExit {
                    state.closesAtExit = true
                    atexit { DefaultStore.close() }
                }
                return .success(vault)
            } catch {
                return .failure(error)
            }
        }
    }

    private static func open() throws(VaultError) -> Vault {
        guard let path = Vault.defaultPath else { throw .storage(.noVault) }
        let locked = try LockedVault(at: path)
        let secret: UnlockingSecret?
        do throws(VaultError) { secret = try .ofProcess() } catch {
            log.error("what should unlock the vault cannot be read: \(error)")
            throw .locked
        }
        guard let secret else { throw .locked }
        return try locked.unlock(with: secret, accessGroups: .ofProcess)
    }

    /// Returns false for a vault that was bound in code: only who opened it can open it again.
    private static func forget(_ vault: Vault) -> Bool {
        state.withLock { state in
            if state.opened === vault { state.opened = nil }
            return state.bound == nil
        }
    }

    /// Brings the file in order as the last act of a process, unless another thread is in the middle of something.
    private static func close() {
        _ = state.withLockIfAvailable { $0.opened?.close() }
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
        case .storage(.poisoned), .storage(.forked), .storage(.rekeyed), .storage(.noVault): true
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
        case .versionMismatch, .itemChanged: errSecInternal
        case .storage(let error): error.status
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
