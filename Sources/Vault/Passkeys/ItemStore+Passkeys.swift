// SPDX-License-Identifier: Apache-2.0

extension ItemStore {
    /// The passkeys of a site, in the order in which they were made, without their secrets.
    ///
    /// - Parameters:
    ///   - relyingParty: the rpId; `nil` for all sites.
    ///   - group: the access group; `nil` for any group of the store.
    package func passkeys(of relyingParty: String?, in group: String? = nil) throws(VaultError) -> [Passkey] {
        try allMatching(Passkey.query(of: relyingParty, in: group)).compactMap { Passkey($0) }
    }

    /// Stores a new passkey.
    ///
    /// - Returns: the passkey as it was stored.
    /// - Throws: `.duplicateItem` if the site has a passkey with the same identifier, whatever its key.
    @discardableResult
    package func add(_ passkey: Passkey) throws(VaultError) -> Passkey {
        let group = passkey.item[.accessGroup]?.text
        guard
            try !passkeys(of: passkey.relyingParty, in: group).contains(where: {
                $0.credentialID == passkey.credentialID
            })
        else { throw .duplicateItem }
        let item = try add(passkey.item)
        return Passkey(item) ?? passkey
    }

    /// Deletes a passkey that was found.
    ///
    /// - Throws: `.itemNotFound` if it was deleted already or never stored.
    package func delete(_ passkey: Passkey) throws(VaultError) { try delete(passkey.item) }

    /// Counts a signature of a passkey that counts, and stores the number before the site sees it. Imported passkeys
    /// go on counting: a site may take a number that does not grow for a copied key.
    ///
    /// - Returns: the number for the signature; 0 for a passkey that does not count.
    /// - Throws: `.versionMismatch` if the passkey was used elsewhere at the same time: find it again.
    package func countSignature(of passkey: Passkey) throws(VaultError) -> UInt32 {
        guard passkey.counter > 0 else { return 0 }
        guard let record = passkey.item.record else { throw .itemNotFound }
        // A number that wrapped around would be smaller than the last one.
        let next = passkey.counter == .max ? .max : passkey.counter + 1
        try update(record, with: Passkey.change(toCounter: next))
        return next
    }
}
