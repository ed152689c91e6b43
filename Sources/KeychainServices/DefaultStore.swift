// SPDX-License-Identifier: Apache-2.0
internal import Logging
@_implementationOnly import Vault

/// The store that the calls use, and the status that they end with.
enum DefaultStore {
    private static let log = Logger(label: "KeychainServices")

    /// Runs a call and turns what it throws into Apple's status.
    static func perform(_ request: Request, _ call: (any ItemStore) throws(VaultError) -> Void) -> OSStatus {
        let vault: Vault
        do throws(VaultError) { vault = try DefaultVault.get(opening: open) } catch {
            // What is wrong with the request itself is the better answer.
            return request.flaw?.status ?? status(of: error, adding: request.isAdding)
        }
        do throws(VaultError) {
            do throws(VaultError) { try call(vault) } catch {
                // The file was replaced, or this is a forked child: nothing was done, and a new handle may do it.
                guard error.asksForReopening, DefaultVault.forget(vault) else { throw error }
                try call(try DefaultVault.get(opening: open))
            }
            return errSecSuccess
        } catch {
            if error == .storage(.noVault) { return status(of: error, adding: request.isAdding) }
            if case .storage = error { log.error("\(error)") }
            return error.status
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
