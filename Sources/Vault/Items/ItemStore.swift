// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto
public import VaultStorage

/// What a record keeps of where it was found: it opens the item's secret when a caller wants it.
public protocol SecretSource: AnyObject, Sendable {
    /// Opens the secret of an item that was found.
    ///
    /// - Throws: `.itemChanged` when it got another since it was found, `.itemNotFound` when it is gone, `.locked`,
    ///   `.storage(.damaged)`.
    func secret(of record: ItemRecord) throws(VaultError) -> Secret?
}

/// The four verbs. A ``Vault`` in this process is one, and so is the client of an agent; code that takes an `ItemStore`
/// cannot tell which it has.
public protocol ItemStore: SecretSource {
    /// Adds an item.
    ///
    /// - Returns: the item as it was stored, with its defaults.
    /// - Throws: `.duplicateItem` when one with the same primary key exists; nothing changes.
    @discardableResult
    func add(_ item: Item) throws(VaultError) -> Item

    /// Adds an item, or gives the one with the same primary key these attributes and this secret.
    @discardableResult
    func set(_ item: Item) throws(VaultError) -> Item

    /// Finds items, in the order of their creation.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func copyMatching(_ query: Query) throws(VaultError) -> [Item]

    /// Changes every item that matches, or none.
    ///
    /// - Returns: how many, 1 or more.
    @discardableResult
    func update(matching query: Query, with changes: ItemChanges) throws(VaultError) -> Int

    /// Deletes every item that matches.
    ///
    /// - Returns: how many, 1 or more.
    @discardableResult
    func delete(matching query: Query) throws(VaultError) -> Int

    /// Adds or sets all of the items in one transaction, or none.
    func store(_ items: [Item], replacing: Bool) throws(VaultError)
}

/// A vault that is open, here or in an agent: the verbs, older versions of items, and what concerns the file as a
/// whole.
public protocol OpenVault: ItemStore {
    /// How many of the items that match cannot be read now, since the vault is locked.
    func lockedCount(matching query: Query) throws(VaultError) -> Int

    /// The versions of each item that matches, the newest first.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func versions(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// The last version of each deleted item that matches.
    ///
    /// - Throws: `.itemNotFound` rather than returning none.
    func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion]

    /// Makes an older version of an item the current one. What was current is kept in its turn, so that a second call
    /// takes the first one back.
    ///
    /// - Parameter version: nil: the one before.
    /// - Throws: `.itemNotFound` when there is no such item or version; `.duplicateItem` when another item has the key
    ///   that this one had.
    @discardableResult
    func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item

    /// Adds a deleted item again as it was, under its old identifier.
    ///
    /// - Throws: `.itemNotFound`; `.duplicateItem` when another item has its key by now.
    @discardableResult
    func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item

    /// The device's identifier under this name, made now if there is none: a random version-4 UUID (RFC 9562).
    ///
    /// It is a generic password of the service `device-identifier`, whose account is the name, readable after the first
    /// unlock, in the access group `device-identifiers`: one for all programs, whichever groups they have, however many
    /// threads and processes ask for it first.
    ///
    /// - Parameters:
    ///   - name: the application's, such as its bundle identifier; empty for the device's own.
    ///   - thisDeviceOnly: another identifier of the same name, bound to this machine: in a copy of the vault on
    ///     another one it is absent, and a new one is made.
    /// - Throws: `.notADeviceIdentifier` when something else is stored in its place.
    func deviceIdentifier(for name: String, thisDeviceOnly: Bool) throws(VaultError) -> UUID

    /// Makes a new identifier under this name.
    @discardableResult
    func resetDeviceIdentifier(for name: String, thisDeviceOnly: Bool) throws(VaultError) -> UUID

    /// Takes everything out of the file that is in an access group, or was when it was deleted: what an application
    /// leaves behind. The device identifiers of the group's name go with it.
    ///
    /// - Returns: how many items went; those that had been deleted before do not count.
    /// - Throws: `.accessGroupDenied` for a group that is not the caller's.
    func forget(accessGroup group: String) throws(VaultError) -> Int

    /// Writes the file anew without what was deleted or replaced.
    func compact() throws(VaultError)

    /// Checks every byte of the file, and when `deep` opens every value.
    func verify(deep: Bool) throws(VaultError) -> VaultStore.Verification
}

extension OpenVault {
    /// As ``undo(_:to:)``, to the version before.
    @discardableResult
    public func undo(_ record: ItemRecord) throws(VaultError) -> Item { try undo(record, to: nil) }
}
