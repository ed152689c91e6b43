// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
public import VaultFormat

// Locking and unlocking a vault that stays open.

extension VaultStore {
    /// Wipes the vault key and the key of the items that are readable while unlocked only.
    public func lockKeys() { keys.lock() }

    public var isLocked: Bool { keys.isLocked }

    /// The file as it is now, to derive its keys from.
    public func lockedStore() throws(StorageError) -> LockedStore {
        try check()
        return try LockedStore(location.path, environment: environment)
    }

    /// Takes keys in the place of those that were wiped.
    ///
    /// - Throws: `.rekeyed` when they are not this vault's, or no longer.
    public func unlockKeys(_ unlocked: consuming UnlockedKeys) throws(StorageError) {
        try checkKeys(unlocked)
        keys = unlocked.keys
    }

    /// - Throws: `.rekeyed` when the keys are not this vault's, or no longer: another file may be in its place.
    public func checkKeys(_ unlocked: borrowing UnlockedKeys) throws(StorageError) {
        try check()
        let isSame = keys.belongTogether(with: unlocked.keys)
        guard isSame else { throw .rekeyed }
    }

    /// What seals the lines of a log outside the vault.
    public func auditSeal() throws(StorageError) -> AuditSeal {
        try check()
        do throws(CryptoError) { return AuditSeal(try keys.audit.copy().keptApart()) } catch {
            throw StorageError(error)
        }
    }

    public func canUse(_ protection: Accessibility) -> Bool { keys.canUse(protection) }
}
