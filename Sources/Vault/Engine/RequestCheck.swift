// SPDX-License-Identifier: Apache-2.0

// Checks of a request that need no vault: its flaws in the engine's order, including those that a front end found. A
// request with such a flaw never reaches a vault.

extension Item {
    /// - Throws: the error that adding the item would throw whatever the vault's contents.
    package func check(addedAsOneOf groups: AccessGroups, flaw: VaultError?) throws(VaultError) {
        _ = try ParsedItem(self, addedAsOneOf: groups, flaw: flaw)
    }
}

extension Query {
    /// - Throws: the error that ``ItemStore/copyMatching(_:)`` would throw whatever the vault's contents.
    package func check(findingAsOneOf groups: AccessGroups, flaw: VaultError?) throws(VaultError) {
        if findsIdentities {
            _ = try IdentityQuery(self, groups: groups, flaw: flaw)
        } else {
            _ = try ParsedQuery(self, groups: groups, flaw: flaw)
        }
    }

    package func check(
        changing changes: ItemChanges, asOneOf groups: AccessGroups, flaw: VaultError?, changesFlaw: VaultError?
    ) throws(VaultError) {
        for query in findsIdentities ? halves : [self] {
            _ = try ParsedQuery(query, changing: changes, asOneOf: groups, flaw: flaw, changesFlaw: changesFlaw)
        }
    }

    package func check(deletingAsOneOf groups: AccessGroups, flaw: VaultError?) throws(VaultError) {
        for query in findsIdentities ? halves : [self] {
            _ = try ParsedQuery(query, deletingAsOneOf: groups, flaw: flaw)
        }
    }
}
