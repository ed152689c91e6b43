// SPDX-License-Identifier: Apache-2.0

// What can be said of a request without a vault: what is wrong with it, in the engine's order, in which what a door
// found has its turn. A request with such a flaw never reaches a vault.

extension Item {
    /// - Throws: what adding the item would, whatever is in the vault.
    package func check(addedAsOneOf groups: AccessGroups, flaw: VaultError?) throws(VaultError) {
        _ = try ParsedItem(self, addedAsOneOf: groups, flaw: flaw)
    }
}

extension Query {
    /// - Throws: what ``ItemStore/copyMatching(_:)`` would, whatever is in the vault.
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
