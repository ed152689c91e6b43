// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

// Locking and unlocking of an open vault.

extension VaultStore {
    /// Wipes the vault key and the key of the items that are readable only while unlocked.
    package func lockKeys() { keys.lock() }

    package var isLocked: Bool { keys.isLocked }

    /// The present file, for deriving its keys.
    package func lockedStore() throws(StorageError) -> LockedStore {
        try check()
        return try LockedStore(location.path, environment: environment)
    }

    /// Replaces the wiped keys.
    ///
    /// - Throws: `.rekeyed` if the keys do not belong to this vault, or no longer do.
    package func unlockKeys(_ unlocked: consuming UnlockedKeys) throws(StorageError) {
        try checkKeys(unlocked)
        keys = unlocked.keys
    }

    /// - Throws: `.rekeyed` if the keys do not belong to this vault, or no longer do: another file may be in its place.
    package func checkKeys(_ unlocked: borrowing UnlockedKeys) throws(StorageError) {
        try check()
        let isSame = keys.belongTogether(with: unlocked.keys)
        guard isSame else { throw .rekeyed }
    }

    /// The key that seals the lines of a log outside the vault.
    package func auditSeal() throws(StorageError) -> AuditSeal {
        try check()
        do throws(CryptoError) { return AuditSeal(try keys.audit.copy().keptApart()) } catch {
            throw StorageError(error)
        }
    }

    package func canUse(_ protection: Accessibility) -> Bool { keys.canUse(protection) }
}
